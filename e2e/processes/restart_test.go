//go:build slow

package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/ext"
)

// document that the platform answers from.
const document = `# Backups

## Schedule

Backups of the customer database are taken every six hours. Each one is kept for thirty days.
`

const question = "How often are backups taken?"

func TestPlatformOfProcesses(t *testing.T) {
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "backups.md"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	p := up(t, data, docs, offset(t))
	c := client{platform: p, key: p.key(t)}

	answered := c.send(t, message("rest-1", question, false))
	if s := state(answered); s != "TASK_STATE_COMPLETED" || !strings.Contains(answer(answered), "every six hours") {
		t.Errorf("over REST: %s %q", s, answer(answered))
	}
	overGRPC := c.sendGRPC(t, message("grpc-1", question, false))
	if s := state(overGRPC); s != "TASK_STATE_COMPLETED" || answer(overGRPC) != answer(answered) {
		t.Errorf("over gRPC: %s %q", s, answer(overGRPC))
	}
	if id := c.send(t, message("grpc-1", question, false)).GetId(); id != overGRPC.GetId() {
		t.Errorf("the same message again gave the task %s, want %s", id, overGRPC.GetId())
	}

	t.Run("a plan outlives the kill of research", func(t *testing.T) { c.killResearch(t) })
	t.Run("what is taken is named", func(t *testing.T) { namesWhatIsTaken(t, p, docs) })

	pids := p.pids(t)
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("interrupted, the script ends with %d", code)
	}
	gone(t, p, pids)

	// The next start has the tasks and knows the key; it makes no second one.
	p = up(t, data, docs, p.offset)
	if strings.Contains(p.saying(), "export SABHA_KEY=sk-") {
		t.Error("a second first key was made")
	}
	c.platform = p
	if kept := c.get(t, answered.GetId()); answer(kept) != answer(answered) {
		t.Errorf("after a restart the answer is %q, want %q", answer(kept), answer(answered))
	}
	// Even a script that is killed leaves no process behind.
	pids = p.pids(t)
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, p, pids)
}

// killResearch kills research while a plan waits for it.
func (c client) killResearch(t *testing.T) {
	research := c.platform.pid(t, "research")
	// Stopped, it takes the call and does nothing: the step cannot end before the kill.
	if err := syscall.Kill(research, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	task := c.send(t, message("kill-1", question, true))
	await(t, "the plan waits for research", func() bool { return step(c.get(t, task.GetId()), "investigate") == "RUNNING" })
	if err := syscall.Kill(research, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the plan has ended", func() bool {
		task = c.get(t, task.GetId())
		return task.GetStatus().GetState() >= a2apb.TaskState_TASK_STATE_COMPLETED && task.GetStatus().GetState() <= a2apb.TaskState_TASK_STATE_CANCELED
	})
	if s := state(task); s != "TASK_STATE_COMPLETED" || !strings.Contains(answer(task), "every six hours") {
		t.Errorf("after the kill: %s %q", s, answer(task))
	}
	if again := c.platform.pid(t, "research"); again == research {
		t.Errorf("research still has the pid %d", again)
	}
	if !strings.Contains(c.platform.saying(), "research ended (exit code 137); starting it again") {
		t.Errorf("the script does not say that research ended:\n%s", c.platform.saying())
	}
}

func namesWhatIsTaken(t *testing.T, p *platform, docs string) {
	script := filepath.Join(root, "deploy", "up-processes")
	offset := strings.TrimPrefix(p.address(0), "127.0.0.1:")
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"a port", []string{"--data", t.TempDir(), "--docs", docs, "--offset", offset}, 1, []string{"is taken, which ", "--offset N"}},
		{"the data folder", []string{"--data", p.data, "--docs", docs}, 1, []string{"is in use by process", "--data"}},
		{"no documents", []string{"--data", t.TempDir(), "--docs", "nowhere"}, 1, []string{"the documents folder nowhere does not exist", "--docs"}},
		{"no option", []string{"--colour", "blue"}, 2, []string{"usage: "}},
	} {
		code, said := run(t, ".", script, append(c.args, "--bin", bin)...)
		for _, want := range c.want {
			if code != c.code || !strings.Contains(said, want) {
				t.Errorf("%s: exit code %d, want %d: %s\nwant …%s…", c.name, code, c.code, said, want)
			}
		}
	}
	// The services themselves say it too, when they are started by other means.
	for _, s := range []string{"research", "gateway", "console"} {
		code, said := run(t, p.data, program(s), "serve", "-config", "config/"+s+".yaml")
		if code != 1 || !strings.Contains(said, "cannot listen on ") || !strings.Contains(said, "address already in use; choose another address or stop what uses it") {
			t.Errorf("%s: exit code %d: %s", s, code, said)
		}
	}
}

// client calls the platform with a key.
type client struct {
	platform *platform
	key      string
}

func message(id, text string, immediately bool) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{
		Message: &a2apb.Message{
			MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}},
		},
		Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: immediately},
	}
}

func (c client) send(t *testing.T, m *a2apb.SendMessageRequest) *a2apb.Task {
	t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var res a2apb.SendMessageResponse
	if err := protojson.Unmarshal(c.http(t, http.MethodPost, "/message:send", body), &res); err != nil {
		t.Fatal(err)
	}
	return res.GetTask()
}

func (c client) get(t *testing.T, id string) *a2apb.Task {
	t.Helper()
	var task a2apb.Task
	if err := protojson.Unmarshal(c.http(t, http.MethodGet, "/tasks/"+id, nil), &task); err != nil {
		t.Fatal(err)
	}
	return &task
}

func (c client) http(t *testing.T, method, path string, body []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.platform.address(8080)+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/a2a+json")
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("X-API-Key", c.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, path, res.Status, answer, err)
	}
	return answer
}

func (c client) sendGRPC(t *testing.T, m *a2apb.SendMessageRequest) *a2apb.Task {
	t.Helper()
	conn, err := grpc.NewClient(c.platform.address(9090), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	res, err := a2apb.NewA2AServiceClient(conn).SendMessage(metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0", "x-api-key", c.key), m)
	if err != nil {
		t.Fatal(err)
	}
	return res.GetTask()
}

func state(task *a2apb.Task) string { return task.GetStatus().GetState().String() }

// answer is the text of the artifact "answer".
func answer(task *a2apb.Task) string {
	for _, a := range task.GetArtifacts() {
		if a.GetName() == "answer" {
			return a.GetParts()[0].GetText()
		}
	}
	return ""
}

// step is the state of a step as the plan in the task's metadata shows it.
func step(task *a2apb.Task, id string) string {
	raw, err := protojson.Marshal(task.GetMetadata().GetFields()[ext.Plan])
	var plan struct {
		Steps []struct{ Step, State string }
	}
	if err != nil || json.Unmarshal(raw, &plan) != nil {
		return ""
	}
	for _, s := range plan.Steps {
		if s.Step == id {
			return s.State
		}
	}
	return ""
}
