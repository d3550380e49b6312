package ask_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ask"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// colleague answers by message id, as an agent does: the same message has the same task.
type colleague struct {
	a2apb.UnimplementedA2AServiceServer
	answer func(*a2apb.Message) *a2apb.SendMessageResponse
	seen   []string
	err    error
}

func (c *colleague) SendMessage(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	c.seen = append(c.seen, req.GetTenant()+" "+req.GetMessage().GetMetadata().GetFields()[ext.Skill].GetStringValue()+" for "+md.Get("on-behalf-of")[0])
	if c.err != nil {
		return nil, fault.Status(c.err).Err()
	}
	return c.answer(req.GetMessage()), nil
}

// run is a task of ours.
type run struct {
	agent.Run
	task *a2apb.Task
}

var deadline = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func (r run) Task() *a2apb.Task { return r.task }
func (r run) Request() *agent.Request {
	return &agent.Request{Message: r.task.GetHistory()[len(r.task.GetHistory())-1]}
}
func (r run) Deadline() time.Time { return deadline }
func (r run) Outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "on-behalf-of", "alice")
}

func peers(t *testing.T, c *colleague) ask.Peers {
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer()
	a2apb.RegisterA2AServiceServer(s, c)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return func(string) (*grpc.ClientConn, error) {
		conn, err := grpc.NewClient("passthrough:///colleague", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
		return conn, err
	}
}

func task(state a2apb.TaskState, text string) *a2apb.SendMessageResponse {
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Task{Task: &a2apb.Task{
		Id: "theirs", Status: &a2apb.TaskStatus{State: state, Message: agent.Message(agent.Text(text))},
		Artifacts: []*a2apb.Artifact{{ArtifactId: "a", Parts: []*a2apb.Part{agent.Text("made")}}},
	}}}
}

func ours(more ...*a2apb.Message) run {
	return run{task: &a2apb.Task{Id: "ours", ContextId: "c", History: append([]*a2apb.Message{{MessageId: "m1", Role: a2apb.Role_ROLE_USER}}, more...)}}
}

func TestAQuestionHasTheSameIdAgain(t *testing.T) {
	var ids []string
	c := &colleague{answer: func(m *a2apb.Message) *a2apb.SendMessageResponse {
		ids = append(ids, m.GetMessageId())
		return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{Message: agent.Message(agent.Text("deployed"))}}
	}}
	p := peers(t, c)
	for _, inputs := range []map[string]any{{"text": "deploy", "project": "my-app"}, {"project": "my-app", "text": "deploy"}, {"text": "deploy"}} {
		parts, err := p.Ask(t.Context(), ours(), "partners", "vercel/deploy", inputs)
		if err != nil || agent.TextOf(parts) != "deployed" {
			t.Fatalf("%v %v", parts, err)
		}
	}
	if ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("the ids are %q", ids)
	}
	if c.seen[0] != "partners vercel/deploy for alice" {
		t.Errorf("it was asked as %q", c.seen[0])
	}
}

func TestATaskAnswersWithItsArtifactsOrItsReason(t *testing.T) {
	for state, want := range map[a2apb.TaskState]string{
		a2apb.TaskState_TASK_STATE_COMPLETED: "made\nbecause",
		a2apb.TaskState_TASK_STATE_FAILED:    "INVALID_AGENT_RESPONSE what was asked is failed: because",
		a2apb.TaskState_TASK_STATE_REJECTED:  "PERMISSION_DENIED what was asked is rejected: because",
	} {
		c := &colleague{answer: func(*a2apb.Message) *a2apb.SendMessageResponse { return task(state, "because") }}
		parts, err := peers(t, c).Ask(t.Context(), ours(), "research", "investigate", map[string]any{"text": "x"})
		got := agent.TextOf(parts)
		if f := fault.As(err); f != nil {
			got = string(f.Reason) + " " + f.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	c := &colleague{err: fault.New(fault.RateLimited, "not so fast")}
	if _, err := peers(t, c).Ask(t.Context(), ours(), "research", "investigate", nil); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a refused question: %v", err)
	}
}

func TestAPauseIsPassedOnAndTheAnswerTaken(t *testing.T) {
	c := &colleague{answer: func(m *a2apb.Message) *a2apb.SendMessageResponse {
		if m.GetTaskId() == "theirs" {
			return task(a2apb.TaskState_TASK_STATE_COMPLETED, "took "+agent.TextOf(m.GetParts()))
		}
		return task(a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, "which?")
	}}
	p := peers(t, c)
	_, err := p.Ask(t.Context(), ours(), "partners", "acme/sell", map[string]any{"text": "a hat"})
	var paused *ask.Paused
	if !errors.As(err, &paused) {
		t.Fatalf("the error is %v", err)
	}
	o := paused.Outcome()
	if o.State != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || agent.TextOf(o.Message.GetParts()) != "which?" || !o.WakeAt.Equal(deadline) {
		t.Errorf("the outcome is %+v", o)
	}
	answered := ours(&a2apb.Message{MessageId: "m2", TaskId: "ours", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("red")}})
	parts, err := p.Ask(t.Context(), answered, "partners", "acme/sell", map[string]any{"text": "a hat"})
	if err != nil || agent.TextOf(parts) != "made\ntook red" {
		t.Errorf("%v %v", parts, err)
	}
	// Somebody else's time: the task works, and lets its caller go.
	c.answer = func(*a2apb.Message) *a2apb.SendMessageResponse {
		return task(a2apb.TaskState_TASK_STATE_WORKING, "waits for a person")
	}
	if _, err = p.Ask(t.Context(), ours(), "partners", "acme/sell", nil); !errors.As(err, &paused) || paused.State != a2apb.TaskState_TASK_STATE_AUTH_REQUIRED {
		t.Errorf("the error is %v", err)
	}
}
