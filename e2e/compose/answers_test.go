//go:build compose

package compose

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/testrig/consoletest"
)

const (
	question = "How often are backups taken?"
	quoted   = "every six hours"
	document = "backups.md"
)

func TestEveryBindingOfEveryGatewayAnswersWithSources(t *testing.T) {
	for _, c := range []struct {
		name    string
		gateway int
		send    func(*testing.T, int, *a2apb.SendMessageRequest) *a2apb.Task
	}{
		{"grpc-1", 0, overGRPC},
		{"rest-1", 0, overREST},
		{"jsonrpc-1", 0, overJSONRPC},
		{"grpc-2", 1, overGRPC},
		{"rest-2", 1, overREST},
		{"jsonrpc-2", 1, overJSONRPC},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := c.send(t, c.gateway, message(c.name, question))
			text, sources := answer(task)
			if state(task) != "TASK_STATE_COMPLETED" || !strings.Contains(text, quoted) || !slices.Contains(sources, document) {
				t.Errorf("%s %q from %v", state(task), text, sources)
			}
			// The other gateway knows the same task by its message.
			if again := overREST(t, 1-c.gateway, message(c.name, question)); again.GetId() != task.GetId() {
				t.Errorf("the same message at the other gateway is task %s, want %s", again.GetId(), task.GetId())
			}
		})
	}
}

func TestTheAuditCrossesServices(t *testing.T) {
	task := overGRPC(t, 0, message("audited", question))
	want := []string{"gateway planner/plan-and-run", "planner memory/recall", "planner research/investigate", "planner security/screen", "planner validator/validate"}
	var got []string
	await(t, "every call is recorded", func() bool {
		got = nil
		for _, h := range hops(t, task.GetId()) {
			got = append(got, h.GetCaller()+" "+h.GetAgent()+"/"+h.GetSkill())
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

// hops are the recorded calls of a request. A gateway that cannot ask every service
// in its time says so rather than leave some out, and is asked again.
func hops(t *testing.T, task string) (list []*adminv1.Hop) {
	t.Helper()
	var at int
	await(t, "every service has told what it recorded of "+task, func() bool {
		at++
		ctx, cancel := caller(t.Context(), within)
		defer cancel()
		res, err := adminv1.NewAdminServiceClient(gateways[at%2]).ListHops(ctx, &adminv1.ListHopsRequest{TaskId: task})
		list = res.GetHops()
		return err == nil
	})
	return list
}

func TestTheConsoleShowsRequests(t *testing.T) {
	task := overGRPC(t, 0, message("shown", question))
	const password = "a password for the tests"
	out, err := fed(strings.NewReader(password+"\n"), "docker", "compose", "run", "--rm", "--no-deps", "--no-TTY", "--interactive",
		"console", "user", "add", "vera", "-role", "viewer", "-stdin", "-config", "/etc/sabha/config.yaml")
	if err != nil {
		t.Fatalf("user add: %v\n%s", err, out)
	}
	web := consoletest.SignIn(t, "http://127.0.0.1:"+consolePort, "vera", password)
	await(t, "the console shows the task", func() bool {
		res, err := web.Get("http://127.0.0.1:" + consolePort + "/tasks")
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		page, err := io.ReadAll(res.Body)
		return err == nil && strings.Contains(string(page), task.GetId())
	})
}
