package command_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/command"
	"sabha.dev/cmd/sabha/internal/rig"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/logtest"
)

// user is someone at the command line.
type user struct {
	out, err logtest.Buffer
	env      map[string]string
	terminal bool
	clock    *clocktest.Clock
}

var start = time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)

func newUser(server string) *user {
	return &user{env: map[string]string{"SABHA_SERVER": server}, clock: clocktest.New(start)}
}

func (u *user) run(ctx context.Context, args ...string) command.Code {
	a := &command.App{
		Out: &u.out, Err: &u.err, Clock: u.clock, Zone: time.UTC,
		Env:    func(name string) string { return u.env[name] },
		Screen: func() (int, int, bool) { return 80, 24, u.terminal },
	}
	return a.Run(ctx, args)
}

type yield = func(*a2apb.StreamResponse) error

// says is a script that yields events.
func says(t *testing.T, events ...string) func(*a2apb.Message, metadata.MD, yield) error {
	return func(_ *a2apb.Message, _ metadata.MD, yield yield) error {
		for _, raw := range events {
			if err := yield(rig.Event(t, raw)); err != nil {
				return err
			}
		}
		return nil
	}
}

const (
	working = `{"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-02T10:00:00Z"},
		"history": [{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "How long?"}]}]}}`
	artifact = `{"artifactUpdate": {"taskId": "t1", "artifact": {"artifactId": "answer", "name": "answer", "parts": [{"text": "30 seconds. [1]"},
		{"data": {"citations": [{"marker": 1, "document": "guide.md"}], "confidence": 0.9}}]}}}`
)

func ends(state, note string) string {
	return `{"statusUpdate": {"taskId": "t1", "status": {"state": "TASK_STATE_` + state + `", "timestamp": "2026-01-02T10:00:01Z",
		"message": {"messageId": "n", "role": "ROLE_AGENT", "parts": [{"text": "` + note + `"}]}}}}`
}

func TestAskTellsOutcomesApart(t *testing.T) {
	for _, c := range []struct {
		name     string
		events   []string
		code     command.Code
		out, err string
	}{
		{"completed", []string{working, artifact, ends("COMPLETED", "")}, 0, "30 seconds. [1]\n\nSources\n  [1] guide.md\nConfidence 0.90\n", "10:00:00 task t1 working\n10:00:01 task t1 completed\n"},
		{"failed", []string{working, ends("FAILED", "the confidence is too low")}, 3, "", "10:00:00 task t1 working\n10:00:01 task t1 failed\nthe confidence is too low\n"},
		{"rejected", []string{working, ends("REJECTED", "refused by screening")}, 4, "", "10:00:00 task t1 working\n10:00:01 task t1 rejected\nrefused by screening\n"},
		{"canceled", []string{working, ends("CANCELED", "Canceled.")}, 5, "", "10:00:00 task t1 working\n10:00:01 task t1 canceled\nCanceled.\n"},
		{"input required", []string{working, ends("INPUT_REQUIRED", "which year?")}, 6, "", "10:00:00 task t1 working\n10:00:01 task t1 input required\nwhich year?\n\nContinue with:\n  sabha ask --task t1 \"…\"\n"},
		{"direct answer", []string{`{"message": {"messageId": "a", "role": "ROLE_AGENT", "parts": [{"text": "Hello."}]}}`}, 0, "Hello.\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(rig.Start(t, rig.Script{Send: says(t, c.events...)}).URL)
			if code := u.run(t.Context(), "ask", "How", "long?"); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := u.out.String(); got != c.out {
				t.Errorf("output\n%s\nwant\n%s", got, c.out)
			}
			if got := u.err.String(); got != c.err {
				t.Errorf("standard error\n%s\nwant\n%s", got, c.err)
			}
		})
	}
}

func TestAskSendsWhatTheFlagsSay(t *testing.T) {
	var got *a2apb.Message
	var key []string
	p := rig.Start(t, rig.Script{Send: func(m *a2apb.Message, md metadata.MD, yield yield) error {
		got, key = m, md.Get("x-api-key")
		return says(t, working, ends("COMPLETED", ""))(m, md, yield)
	}})
	file := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte(`{"code": "1+1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	u := newUser("http://127.0.0.1:1")
	if code := u.run(t.Context(), "ask", "a b", "c", "--server", p.URL, "--key", "sk-flag", "--playbook", "compute@1", "--data", "@"+file, "--task", "t1"); code != 0 {
		t.Fatalf("exit code %d: %s", code, u.err.String())
	}
	if s := got.GetParts()[0].GetText(); s != "a b c" {
		t.Errorf("text %q", s)
	}
	if s := got.GetParts()[1].GetData().GetStructValue().GetFields()["code"].GetStringValue(); s != "1+1" {
		t.Errorf("data %v", got.GetParts()[1])
	}
	if s := got.GetMetadata().GetFields()["urn:sabha:ext:playbook:v1"].GetStringValue(); s != "compute@1" {
		t.Errorf("metadata %v", got.GetMetadata())
	}
	if got.GetTaskId() != "t1" || len(got.GetMessageId()) < 20 || got.GetRole() != a2apb.Role_ROLE_USER || len(key) != 1 || key[0] != "sk-flag" {
		t.Errorf("message %v with key %q", got, key)
	}
}

func TestAskOnATerminalRedrawsInPlace(t *testing.T) {
	u := newUser(rig.Start(t, rig.Script{Send: says(t, working, artifact, ends("COMPLETED", ""))}).URL)
	u.terminal = true
	u.env["NO_COLOR"] = "1"
	if code := u.run(t.Context(), "ask", "How long?"); code != 0 {
		t.Fatalf("exit code %d: %s", code, u.err.String())
	}
	const first = "Task t1\x1b[K\nWorking 0ms\x1b[K\n\x1b[J"
	want := first + "\x1b[2A\r" + first + "\x1b[2A\rTask t1\x1b[K\nCompleted after 0ms\x1b[K\n\x1b[J"
	if got := u.err.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if got := u.out.String(); !strings.HasPrefix(got, "\n30 seconds. [1]\n") || strings.Contains(got, "\x1b") {
		t.Errorf("output %q", got)
	}
}

func TestADumbTerminalGetsPlainLines(t *testing.T) {
	u := newUser(rig.Start(t, rig.Script{Send: says(t, working, ends("COMPLETED", ""))}).URL)
	u.terminal = true
	u.env["TERM"] = "dumb"
	u.run(t.Context(), "ask", "How long?")
	if got := u.err.String() + u.out.String(); strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestRunningTimesMoveOnATerminal(t *testing.T) {
	release := make(chan struct{})
	p := rig.Start(t, rig.Script{Send: func(m *a2apb.Message, md metadata.MD, yield yield) error {
		err := says(t, working)(m, md, yield)
		<-release
		return errors.Join(err, says(t, ends("COMPLETED", ""))(m, md, yield))
	}})
	u := newUser(p.URL)
	u.terminal = true
	done := make(chan command.Code)
	go func() { done <- u.run(t.Context(), "ask", "How long?") }()
	await(t, &u.err, "Working 0ms")
	u.clock.BlockUntil(1)
	u.clock.Advance(time.Second)
	await(t, &u.err, "Working 1.0s")
	close(release)
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(u.err.String(), "Completed after 1.0s") {
		t.Errorf("got %q", u.err.String())
	}
}

// await waits until output holds a text; the test's own deadline bounds it.
func await(t *testing.T, b *logtest.Buffer, text string) {
	t.Helper()
	for !strings.Contains(b.String(), text) {
		select {
		case <-t.Context().Done():
			t.Fatalf("%q never came in %q", text, b.String())
		case <-time.After(time.Millisecond):
		}
	}
}

func TestCtrlCDetachesAndTheTaskGoesOn(t *testing.T) {
	gone := make(chan struct{})
	p := rig.Start(t, rig.Script{Send: func(m *a2apb.Message, md metadata.MD, yield yield) error {
		defer func() { <-gone }()
		return says(t, working)(m, md, yield)
	}})
	defer close(gone)
	u := newUser(p.URL)
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan command.Code)
	go func() { done <- u.run(ctx, "ask", "How long?") }()
	await(t, &u.err, "task t1 working")
	interrupt()
	if code := <-done; code != command.ExitDetached {
		t.Errorf("exit code %d", code)
	}
	if want := "\nNo longer watching; the task goes on.\n  sabha task watch t1\n  sabha task cancel t1\n"; !strings.HasSuffix(u.err.String(), want) {
		t.Errorf("got %q", u.err.String())
	}
}

func TestAskJSONPrintsEventsAndThenTheTask(t *testing.T) {
	p := rig.Start(t, rig.Script{
		Send: says(t, working, ends("FAILED", "no")),
		Get: func(id string) (*a2apb.Task, error) {
			return &a2apb.Task{Id: id, ContextId: "c1", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_FAILED}}, nil
		},
	})
	u := newUser(p.URL)
	if code := u.run(t.Context(), "ask", "--json", "How long?"); code != command.ExitTaskFailed {
		t.Errorf("exit code %d: %s", code, u.err.String())
	}
	lines := strings.Split(strings.TrimSpace(u.out.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `{"task":{"id":"t1"`) || !strings.HasPrefix(lines[1], `{"statusUpdate":{"taskId":"t1"`) ||
		lines[2] != `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_FAILED"}}}` {
		t.Errorf("got %q", lines)
	}
	if u.err.String() != "" {
		t.Errorf("standard error %q", u.err.String())
	}
}

func TestStepsThatSettleWithTheTaskAreReadFromIt(t *testing.T) {
	const plan = `"metadata": {"urn:sabha:ext:plan:v1": {"playbook": "general", "version": "1", "steps": [{"step": "validate", "agent": "validator", "skill": "validate",
		"started_at": "2026-01-02T10:00:00Z", `
	stored := rig.Event(t, `{"task": {"id": "t1", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T10:00:01Z"}, `+plan+`"ended_at": "2026-01-02T10:00:01Z", "state": "COMPLETED"}]}}}}`)
	u := newUser(rig.Start(t, rig.Script{
		Send: says(t, working, `{"statusUpdate": {"taskId": "t1", "status": {"state": "TASK_STATE_WORKING"}, `+plan+`"state": "RUNNING"}]}}}}`, ends("COMPLETED", "")),
		Get:  func(string) (*a2apb.Task, error) { return stored.GetTask(), nil },
	}).URL)
	u.run(t.Context(), "ask", "How long?")
	if want := "10:00:01   validate completed in 1.0s (validator/validate)\n"; !strings.HasSuffix(u.err.String(), want) {
		t.Errorf("got %q", u.err.String())
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	refuses := func(err error) string {
		return rig.Start(t, rig.Script{
			Send: func(*a2apb.Message, metadata.MD, yield) error { return err },
			Hops: func(string) ([]*adminv1.Hop, error) { return nil, err },
		}).URL
	}
	busy := fault.New(fault.RateLimited, "you call too often")
	busy.RetryAfter = 3 * time.Second
	internal := rig.Card(t, rig.Front("127.0.0.1:1"))
	for _, c := range []struct {
		name, server string
		args         []string
		code         command.Code
		want         string
	}{
		{"nothing serves", "127.0.0.1:1", []string{"ask", "x"}, 9, "sabha: cannot reach http://127.0.0.1:1: connection refused\nStart one with: sabha up\nOr name another with --server or SABHA_SERVER\n"},
		{"dead address on the card", internal, []string{"task", "get", "x"}, 9, "sabha: cannot reach 127.0.0.1:1, where the card of " + internal + " says that gRPC is served: connection refused\nIf the server is behind another address, start it with --public-url so that its card says so\n"},
		{"not an agent", rig.Card(t, rig.Front("x:1")) + "/other", []string{"ask", "x"}, 7, ""},
		{"no key", refuses(fault.New(fault.Unauthenticated, "an API key is needed")), []string{"ask", "x"}, 8, "sabha: an API key is needed\nGive an API key with --key or SABHA_KEY; sabha up printed one at its first start\n"},
		{"wrong key", refuses(fault.New(fault.Unauthenticated, "the key is not known")), []string{"ask", "x", "--key", "sk-x"}, 8, "sabha: the key is not known\nThe API key that was given is not known there; give another with --key or SABHA_KEY\n"},
		{"no right", refuses(fault.New(fault.PermissionDenied, "auditors only")), []string{"audit", "show", "x"}, 8, "sabha: auditors only\nThis needs a key with more rights\n"},
		{"invalid", refuses(fault.Invalid("message", "is too odd")), []string{"ask", "x"}, 2, "sabha: message: is too odd\n"},
		{"over a limit", refuses(busy), []string{"ask", "x"}, 9, "sabha: you call too often\nTry again in 3s\n"},
		{"bug", refuses(errors.New("secret detail")), []string{"ask", "x"}, 1, "sabha: internal error; the operator finds it in the log by trace id\n"},
		{"unknown task", refuses(nil), []string{"task", "get", "x"}, 7, "sabha: task \"x\" does not exist or is not yours\n"},
		{"no hops", refuses(nil), []string{"audit", "show", "x"}, 7, "sabha: no hop of task \"x\" is recorded\nList tasks with: sabha task list\n"},
		{"nothing asked", "", []string{"ask"}, 2, "sabha: nothing to ask; write: sabha ask \"…\"\nSee: sabha ask --help\n"},
		{"bad data", "", []string{"ask", "--data", "[1]"}, 2, "sabha: --data is not a JSON object; write for example --data '{\"name\": \"value\"}', or @FILE\nSee: sabha ask --help\n"},
		{"bad server", "ftp://x", []string{"ask", "x"}, 2, "sabha: \"ftp://x\" is no server address; want a URL such as http://127.0.0.1:8080\nSee: sabha ask --help\n"},
		{"bad state", "", []string{"task", "list", "--state", "done"}, 2, "sabha: --state \"done\" is no state; one of: auth-required, canceled, completed, failed, input-required, rejected, submitted, working\nSee: sabha task list --help\n"},
		{"unknown command", "", []string{"tsk"}, 2, "sabha: unknown command \"tsk\" for \"sabha\"; did you mean ask or task?\nSee: sabha --help\n"},
		{"unknown flag", "", []string{"up", "--nope"}, 2, "sabha: unknown flag: --nope\nSee: sabha up --help\n"},
		{"no argument", "", []string{"task", "get"}, 2, "sabha: sabha task get takes one argument, not 0; write: sabha task get TASK [flags]\nSee: sabha task get --help\n"},
		{"no subcommand", "", []string{"task"}, 2, "sabha: task what? One of: cancel, fork, get, list, retry, watch\nSee: sabha task --help\n"},
		{"bad address", "", []string{"up", "--grpc", "9090"}, 2, "sabha: --grpc \"9090\" is not an address; write HOST:PORT or :PORT\nSee: sabha up --help\n"},
		{"no documents", "", []string{"demo", "--docs", "/no/where"}, 1, "sabha: the documents folder /no/where does not exist\nMake it, or name another with --docs\n"},
		{"no folder", "", []string{"ingest", "/no/where"}, 1, "sabha: /no/where is not a folder that can be read\nName the folder that holds the documents\n"},
		{"no playbook", "", []string{"playbook", "check", "/no/where.yaml"}, 7, "sabha: there is no file /no/where.yaml\n"},
		{"no card there", "", []string{"card", "127.0.0.1:1"}, 9, "sabha: cannot reach http://127.0.0.1:1: connection refused\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(c.server)
			if code := u.run(t.Context(), c.args...); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := u.err.String(); c.want != "" && got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if u.out.String() != "" {
				t.Errorf("output %q", u.out.String())
			}
		})
	}
}

func TestTaskCommands(t *testing.T) {
	stored := rig.Event(t, working).GetTask()
	p := rig.Start(t, rig.Script{
		Get: func(string) (*a2apb.Task, error) { return stored, nil },
		List: func(req *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
			if req.GetStatus() != a2apb.TaskState_TASK_STATE_WORKING || req.GetPageSize() != 1 {
				t.Errorf("request %v", req)
			}
			return &a2apb.ListTasksResponse{Tasks: []*a2apb.Task{stored}, TotalSize: 7}, nil
		},
		Cancel: func(id string) (*a2apb.Task, error) {
			if id == "t2" {
				return &a2apb.Task{Id: id, Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_CANCELED}}, nil
			}
			return stored, nil
		},
		Subscribe: func(_, _ string, yield yield) error {
			return errors.Join(yield(rig.Event(t, working)), yield(rig.Event(t, artifact)), yield(rig.Event(t, ends("COMPLETED", ""))))
		},
		Hops: func(string) ([]*adminv1.Hop, error) {
			return []*adminv1.Hop{{
				TaskId: "t1", Caller: "gateway", Agent: "planner", Skill: "plan-and-run", ProtocolVersion: "1.0", Outcome: "TASK_STATE_COMPLETED",
				StartedAt: timestamppb.New(start), EndedAt: timestamppb.New(start.Add(time.Second)), Admission: "allowed",
			}}, nil
		},
	})
	for _, c := range []struct{ args, out, err string }{
		{"task list --state working --limit 1", "TASK  STATE    SINCE                PLAYBOOK  REQUEST\nt1    working  2026-01-02 10:00:00            How long?\n", "1 of 7; --limit shows more\n"},
		{"task get t1", "Task      t1\nContext   c1\nState     working\nSince     2026-01-02 10:00:00\nRequest   How long?\n", ""},
		{"task watch t1", "30 seconds. [1]\n\nSources\n  [1] guide.md\nConfidence 0.90\n", "10:00:00 task t1 working\n10:00:01 task t1 completed\n"},
		{"task cancel t1", "Task t1 is being canceled; what it did is being undone.\nFollow it with: sabha task watch t1\n", ""},
		{"task cancel t2", "Task t2 is canceled.\n", ""},
		{"audit show t1", "TIME          TOOK  CALL                            A2A  OUTCOME    ADMISSION\n10:00:00.000  1.0s  gateway → planner/plan-and-run  1.0  completed  allowed\n", ""},
	} {
		u := newUser(p.URL)
		if code := u.run(t.Context(), strings.Fields(c.args)...); code != 0 {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		if got := u.out.String(); got != c.out {
			t.Errorf("%s: output\n%s\nwant\n%s", c.args, got, c.out)
		}
		if got := u.err.String(); got != c.err {
			t.Errorf("%s: standard error %q, want %q", c.args, got, c.err)
		}
	}
}

func TestCardExitCode(t *testing.T) {
	u := newUser("")
	if code := u.run(t.Context(), "card", rig.Card(t, rig.Front("localhost:1"))); code != command.ExitFailure {
		t.Errorf("exit code %d for a card without skills' modes", code)
	}
	if got := u.out.String(); !strings.Contains(got, "✗ defaultInputModes: is empty") || !strings.Contains(got, "Not a valid A2A 1.0 card: 2 errors") {
		t.Errorf("got %s", got)
	}
}

func TestPlaybookCheckAndGraph(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, text := range map[string]string{
		good: "playbook: one\nversion: 1\nsteps:\n  - {id: a, agent: research, skill: search, inputs: {query: x}}\noutput: {text: = steps.a.output.text}\n",
		bad:  "playbook: one\nversion: 1\nsteps:\n  - {id: a, agent: nobody, skill: search, inputs: {query: x}}\noutput: {text: = steps.a.output.text}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "playbook", "check", good, bad); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if got, want := u.out.String(), good+": playbook one version 1 is sound, 1 step\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got := u.err.String(); !strings.HasPrefix(got, bad+":4: steps[0].agent: ") {
		t.Errorf("standard error %q", got)
	}
	u = newUser("")
	if code := u.run(t.Context(), "playbook", "graph", "--format", "mermaid", good); code != 0 || !strings.HasPrefix(u.out.String(), "flowchart TD\n  s_a[") {
		t.Errorf("exit code %d, output %q", code, u.out.String())
	}
	if code := newUser("").run(t.Context(), "playbook", "graph", "--format", "gif", good); code != command.ExitUsage {
		t.Errorf("exit code %d for an unknown format", code)
	}
}

func TestIngestReportsWhatBecameOfEachFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"docs/guide.md": "# Guide\n\nA lease lasts 30 seconds.", "docs/logo.png": "\x89PNG"} {
		if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "ingest", filepath.Join(dir, "docs"), "--data", filepath.Join(dir, "data")); code != 0 {
		t.Fatalf("exit code %d: %s", code, u.err.String())
	}
	if got := u.out.String(); !strings.HasPrefix(got, "1 ingested (1 passages), 0 unchanged, 1 skipped, 0 removed\n  skipped logo.png: ") {
		t.Errorf("got %q", got)
	}
}

func TestHelpShowsEveryExitCode(t *testing.T) {
	u := newUser("")
	u.run(t.Context(), "help", "exit-codes")
	raw, err := os.ReadFile("../../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for l := range strings.Lines(u.out.String()) {
		code, means, ok := strings.Cut(strings.TrimSpace(l), "  ")
		if !ok || !strings.HasPrefix(l, "  ") {
			continue
		}
		rows++
		if row := "| " + code + " | " + means + " |"; !strings.Contains(string(raw), row) {
			t.Errorf("docs/cli.md has no row %q", row)
		}
	}
	if rows != 11 {
		t.Errorf("%d exit codes in %q", rows, u.out.String())
	}
}

func TestCompletionKnowsThePlaybooks(t *testing.T) {
	u := newUser("")
	if code := u.run(t.Context(), "__complete", "ask", "--playbook", ""); code != 0 || !strings.HasPrefix(u.out.String(), "compute\ngeneral\n") {
		t.Errorf("exit code %d: %q", code, u.out.String())
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		u := newUser("")
		if code := u.run(t.Context(), "completion", shell); code != 0 || len(u.out.String()) < 1000 {
			t.Errorf("%s: exit code %d, %d bytes", shell, code, len(u.out.String()))
		}
	}
}
