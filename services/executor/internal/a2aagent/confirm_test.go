package a2aagent

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/tool"
	"sabha.dev/services/executor/internal/toolhost"
)

// reviewer is the review agent, of one task.
type reviewer struct {
	a2apb.UnimplementedA2AServiceServer
	mu    sync.Mutex
	away  bool
	asked []*a2apb.SendMessageRequest
	task  *a2apb.Task
}

func (r *reviewer) SendMessage(_ context.Context, req *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, status.Error(codes.Unavailable, "not now")
	}
	r.asked = append(r.asked, req)
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Task{Task: r.task}}, nil
}

func (r *reviewer) GetTask(_ context.Context, req *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.GetId() != r.task.GetId() {
		return nil, status.Error(codes.NotFound, "no such task")
	}
	return r.task, nil
}

// decide ends the review with a decision; none ends it without one.
func (r *reviewer) decide(t *testing.T, state a2apb.TaskState, decision map[string]any) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.task = &a2apb.Task{Id: "r1", Status: &a2apb.TaskStatus{State: state}}
	if decision != nil {
		part, err := agent.Data(decision)
		if err != nil {
			t.Fatal(err)
		}
		r.task.Artifacts = []*a2apb.Artifact{{Name: "decision", Parts: []*a2apb.Part{part}}}
	}
}

// reviewed has calls confirmed by the reviewer.
func reviewed(t *testing.T, f *tools) (*Caller, *reviewer) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &reviewer{task: &a2apb.Task{Id: "r1", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}}}
	server := grpc.NewServer()
	a2apb.RegisterA2AServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := f.caller(t)
	c.Review = func() (grpc.ClientConnInterface, error) { return conn, nil }
	return c, r
}

const untrustedPart = `[{"data": {"tool": "note", "arguments": {"text": "a"}}, "metadata": {"urn:sabha:ext:labels:v1": {"integrity": "untrusted"}}}]`

// noting is a tool that adds something.
func noting() *tools {
	return &tools{tool: toolhost.Tool{Server: "s", Name: "note"}, result: toolhost.Result{Structured: json.RawMessage(`{"ok": true}`)}}
}

func step(t *testing.T, c *Caller, r *recorded) (state, said string) {
	t.Helper()
	out, err := c.run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if r.task.Status == nil {
		r.task.Status = &a2apb.TaskStatus{}
	}
	r.task.Status.State = out.State
	return strings.TrimPrefix(out.State.String(), "TASK_STATE_"), agent.TextOf(out.Message.GetParts())
}

func TestUntrustedCallsThatChangeSomethingWaitForAPerson(t *testing.T) {
	f := noting()
	c, people := reviewed(t, f)
	r := started(message(t, untrustedPart))
	people.away = true
	if state, said := step(t, c, r); state != "AUTH_REQUIRED" || said != "waits for a person, and the review agent cannot be reached" {
		t.Fatalf("%s %q", state, said)
	}
	people.away = false
	if state, _ := step(t, c, r); state != "AUTH_REQUIRED" || len(f.calls) != 0 || len(people.asked) != 1 {
		t.Fatalf("%s, calls %v, asked %d", state, f.calls, len(people.asked))
	}
	ask := people.asked[0].GetMessage()
	if ask.GetMessageId() != "t/confirm" {
		t.Errorf("message %s", ask.GetMessageId())
	}
	got, _ := agent.DataOf(ask.GetParts()).GetStructValue().AsMap()["content"].(map[string]any)
	if got["text"] != "a" || agent.DataOf(ask.GetParts()).GetStructValue().AsMap()["kind"] != "action" {
		t.Errorf("asked %v", ask)
	}
	// It is looked at again before there is a decision: nobody is asked twice.
	if state, _ := step(t, c, r); state != "AUTH_REQUIRED" || len(people.asked) != 1 {
		t.Errorf("%s, asked %d", state, len(people.asked))
	}
	people.decide(t, a2apb.TaskState_TASK_STATE_COMPLETED, map[string]any{"decision": "approved", "content": map[string]any{"text": "b"}})
	if state, said := step(t, c, r); state != "COMPLETED" {
		t.Fatalf("%s %q", state, said)
	}
	if len(f.calls) != 1 || f.calls[0] != `note{"text":"b"}` {
		t.Errorf("called %v, want what was approved", f.calls)
	}
	// The replica died after the call: the approval is no reason to repeat it.
	if state, _ := step(t, c, r); state != "FAILED" || len(f.calls) != 1 {
		t.Errorf("%s after %d calls", state, len(f.calls))
	}
}

func TestWhatAPersonDoesNotAllowIsNotCalled(t *testing.T) {
	for name, want := range map[string]struct {
		state    a2apb.TaskState
		decision map[string]any
		outcome  string
		said     string
	}{
		"rejected":  {a2apb.TaskState_TASK_STATE_COMPLETED, map[string]any{"decision": "rejected", "reason": "not ours"}, "REJECTED", "a person did not allow the call of s/note: not ours"},
		"expired":   {a2apb.TaskState_TASK_STATE_COMPLETED, map[string]any{"decision": "expired"}, "REJECTED", "nobody decided in time on the call of s/note"},
		"no answer": {a2apb.TaskState_TASK_STATE_COMPLETED, nil, "REJECTED", "a person did not allow the call of s/note"},
		"failed":    {a2apb.TaskState_TASK_STATE_FAILED, nil, "FAILED", "the review of the call ended without a decision"},
	} {
		t.Run(name, func(t *testing.T) {
			f := noting()
			c, people := reviewed(t, f)
			people.decide(t, want.state, want.decision)
			if state, said := step(t, c, started(message(t, untrustedPart))); state != want.outcome || said != want.said || len(f.calls) != 0 {
				t.Errorf("%s %q, calls %v", state, said, f.calls)
			}
		})
	}
}

func TestWhoseWordIsEnough(t *testing.T) {
	const plain = `[{"data": {"tool": "note", "arguments": {"text": "a"}}}]`
	const trusted = `[{"data": {"tool": "note", "arguments": {"text": "a"}}, "metadata": {"urn:sabha:ext:labels:v1": {"integrity": "trusted"}}}]`
	for name, c := range map[string]struct {
		caller, parts string
		effects       tool.Effects
		want          string
	}{
		"a client's own":            {"gateway", plain, tool.Effects{}, "COMPLETED"},
		"a playbook's own":          {"planner", plain, tool.Effects{}, "COMPLETED"},
		"a service that says none":  {"weather", plain, tool.Effects{}, "AUTH_REQUIRED"},
		"a service that vouches":    {"weather", trusted, tool.Effects{}, "COMPLETED"},
		"of another organisation":   {"gateway", untrustedPart, tool.Effects{}, "AUTH_REQUIRED"},
		"a step of a plan":          {"planner", untrustedPart, tool.Effects{Destructive: true}, "AUTH_REQUIRED"},
		"idempotent":                {"gateway", untrustedPart, tool.Effects{Idempotent: true}, "AUTH_REQUIRED"},
		"reading":                   {"weather", untrustedPart, tool.Effects{ReadOnly: true}, "COMPLETED"},
		"denied before it is asked": {"weather", untrustedPart, tool.Effects{Destructive: true}, "REJECTED"},
	} {
		t.Run(name, func(t *testing.T) {
			f := noting()
			f.tool.Effects = c.effects
			k, people := reviewed(t, f)
			r := started(message(t, c.parts))
			r.caller = c.caller
			state, said := step(t, k, r)
			if state != c.want || (len(people.asked) > 0) != (c.want == "AUTH_REQUIRED") {
				t.Errorf("%s %q, asked %d; want %s", state, said, len(people.asked), c.want)
			}
		})
	}
}
