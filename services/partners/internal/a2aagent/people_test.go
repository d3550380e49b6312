package a2aagent_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"sabha.dev/chassis/agent"
)

// people stand in for the review agent.
type people struct {
	a2apb.UnimplementedA2AServiceServer
	conn *grpc.ClientConn

	mu    sync.Mutex
	tasks map[string]*a2apb.Task
	byID  map[string]string
	asked []map[string]any
	heard []string
}

func newPeople(t *testing.T) *people {
	p := &people{tasks: map[string]*a2apb.Task{}, byID: map[string]string{}}
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	a2apb.RegisterA2AServiceServer(s, p)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	var err error
	p.conn, err = grpc.NewClient("passthrough:///review", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

// SendMessage begins a review, or takes the requester's answer.
func (p *people) SendMessage(_ context.Context, req *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := req.GetMessage()
	id := m.GetTaskId()
	if id != "" {
		p.heard = append(p.heard, agent.TextOf(m.GetParts()))
		p.tasks[id].Status = &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}
	} else if id = p.byID[m.GetMessageId()]; id == "" {
		id = uuid.NewString()
		p.byID[m.GetMessageId()] = id
		p.tasks[id] = &a2apb.Task{Id: id, Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}}
		asked, _ := agent.DataOf(m.GetParts()).AsInterface().(map[string]any)
		p.asked = append(p.asked, asked)
	}
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Task{Task: p.tasks[id]}}, nil
}

// GetTask gives a review.
func (p *people) GetTask(_ context.Context, req *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks[req.GetId()], nil
}

// CancelTask cancels a review.
func (p *people) CancelTask(_ context.Context, req *a2apb.CancelTaskRequest) (*a2apb.Task, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks[req.GetId()].Status.State = a2apb.TaskState_TASK_STATE_CANCELED
	return p.tasks[req.GetId()], nil
}

// question is what the only review asks.
func (p *people) question(t *testing.T) map[string]any {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) != 1 {
		t.Fatalf("there are %d reviews, want 1", len(p.asked))
	}
	return p.asked[0]
}

// decide ends the only review. content is what is approved; nil: what was asked.
func (p *people) decide(t *testing.T, decision string, content any) {
	t.Helper()
	asked := p.question(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if content == nil {
		content = asked["content"]
	}
	part, err := agent.Data(map[string]any{"decision": decision, "content": content})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range p.tasks {
		task.Status = &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_COMPLETED}
		task.Artifacts = []*a2apb.Artifact{{ArtifactId: "d", Name: "decision", Parts: []*a2apb.Part{part}}}
	}
}

func shown(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
