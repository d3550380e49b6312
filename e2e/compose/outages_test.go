//go:build compose

package compose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Plans are accepted and end, whatever container is killed, restarted, replaced or
// added, and no step that was finished is done again.
func TestPlansOutliveTheirContainers(t *testing.T) {
	l := start(t)
	for _, incident := range []struct {
		name string
		do   func(*testing.T, *load)
	}{
		{"planner and research are scaled to three", scale},
		{"a planner is killed", kill("planner", 1)},
		{"a research is killed", kill("research", 1)},
		{"a NATS server is killed", kill("nats-2", 1)},
		{"PostgreSQL is restarted", restart("postgres")},
		{"the planners are replaced one by one", roll("planner")},
		{"a gateway is killed", kill("gateway", 2)},
	} {
		t.Run(incident.name, func(t *testing.T) {
			begun, before, retried := time.Now(), l.ended.Load(), l.retried.Load()
			incident.do(t, l)
			l.goesOn(20)
			fmt.Printf("%-42s %3.0f s, %d plans ended, %d calls sent again\n", incident.name, time.Since(begun).Seconds(), l.ended.Load()-before, l.retried.Load()-retried)
		})
	}
	l.end()
	account(t, l)
}

// kill ends a container as a crash would and starts it again when plans have gone
// on without it.
func kill(service string, replica int) func(*testing.T, *load) {
	return func(t *testing.T, l *load) {
		id := container(t, service, replica)
		do(t, "kill", id)
		l.goesOn(20)
		do(t, "start", id)
		healthy(t, id)
	}
}

func restart(service string) func(*testing.T, *load) {
	return func(t *testing.T, _ *load) {
		do(t, "compose", "restart", service)
		healthy(t, container(t, service, 1))
	}
}

func roll(service string) func(*testing.T, *load) {
	return func(t *testing.T, _ *load) {
		before := ids(t, service)
		if out, err := output("./roll", service); err != nil {
			t.Fatalf("roll: %v\n%s", err, out)
		}
		after := ids(t, service)
		if len(after) != len(before) {
			t.Errorf("%s has %d containers, it had %d", service, len(after), len(before))
		}
		for _, id := range after {
			if strings.Contains(strings.Join(before, " "), id) {
				t.Errorf("%s is one of before", id)
			}
		}
	}
}

func ids(t *testing.T, service string) []string {
	t.Helper()
	return strings.Fields(do(t, "compose", "ps", "--quiet", service))
}

func scale(t *testing.T, _ *load) {
	do(t, "compose", "up", "--detach", "--wait", "--no-build", "--scale", "planner=3", "--scale", "research=3")
	for _, service := range []string{"planner", "research"} {
		if n := len(ids(t, service)); n != 3 {
			t.Errorf("%s has %d containers, want 3", service, n)
		}
	}
}

var endedTasks = regexp.MustCompile(`(?m)^sabha_tasks_ended_total\{.*\} (\d+)$`)

// account checks and prints what became of every plan.
func account(t *testing.T, l *load) {
	t.Helper()
	var completed, lost, repeated int
	client := a2apb.NewA2AServiceClient(gateways[1])
	for message, id := range l.accepted {
		var task *a2apb.Task
		var err error
		await(t, "a gateway knows of task "+id, func() bool {
			ctx, cancel := caller(t.Context(), within)
			defer cancel()
			task, err = client.GetTask(ctx, &a2apb.GetTaskRequest{Id: id})
			return !passing(err)
		})
		if err != nil || state(task) != l.terminal[id] {
			lost++
			t.Errorf("%s became task %s, which ended as %q and is now %s (%v)", message, id, l.terminal[id], state(task), err)
			continue
		}
		if text, _ := answer(task); state(task) != "TASK_STATE_COMPLETED" || !strings.Contains(text, quoted) {
			t.Errorf("task %s is %s: %q", id, state(task), text)
			continue
		}
		completed++
		done := map[string]int{}
		for _, h := range hops(t, id) {
			// Direct answers may be asked for again; tasks are found by their message.
			if h.GetTaskId() != "" && h.GetOutcome() == "TASK_STATE_COMPLETED" {
				done[h.GetAgent()+"/"+h.GetSkill()]++
			}
		}
		for _, skill := range []string{"planner/plan-and-run", "research/investigate", "validator/validate"} {
			if done[skill] != 1 {
				repeated++
				t.Errorf("task %s has %d finished tasks of %s, want 1", id, done[skill], skill)
			}
		}
	}
	fmt.Printf("accepted %d, terminal %d, completed %d, lost %d, steps repeated %d; %d calls were sent again\n",
		len(l.accepted), len(l.terminal), completed, lost, repeated, l.retried.Load())
	if len(l.accepted) != len(l.terminal) {
		t.Errorf("%d plans were accepted, %d ended", len(l.accepted), len(l.terminal))
	}
	// Those that were added have done their part.
	for _, service := range []string{"planner", "research"} {
		for _, id := range ids(t, service) {
			name := strings.TrimPrefix(do(t, "inspect", "--format", "{{.Name}}", id), "/")
			port := map[string]string{"planner": "9202", "research": "9205"}[service]
			metrics := do(t, "compose", "exec", "--no-TTY", "nats-1", "wget", "-q", "-O", "-", "http://"+name+":"+port+"/metrics")
			ended := 0
			for _, m := range endedTasks.FindAllStringSubmatch(metrics, -1) {
				n, _ := strconv.Atoi(m[1])
				ended += n
			}
			fmt.Printf("%s ended %d tasks\n", name, ended)
			if ended == 0 {
				t.Errorf("%s ended no task", name)
			}
		}
	}
}
