// Package rig is a platform made of scripts, for tests of the command line: a
// card over HTTP and A2A over gRPC on real sockets, answering as a test says.
package rig

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Script is how the platform answers; what is nil is answered as unknown task.
type Script struct {
	// Send yields the events of a message; its error ends the stream.
	Send func(m *a2apb.Message, md metadata.MD, yield func(*a2apb.StreamResponse) error) error
	// Answer, when set, answers a message to a persona directly.
	Answer func(req *a2apb.SendMessageRequest) (*a2apb.Message, error)
	// Subscribe yields the events of a task after a cursor.
	Subscribe func(id, cursor string, yield func(*a2apb.StreamResponse) error) error
	Get       func(id string) (*a2apb.Task, error)
	List      func(req *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error)
	Cancel    func(id string) (*a2apb.Task, error)
	Hops      func(id string) ([]*adminv1.Hop, error)
	Dead      func(service string) ([]*adminv1.DeadPush, error)
	Resend    func(*adminv1.ResendPushRequest) error
	Retry     func(task, step string) error
	Fork      func(task, step string) (string, error)
	Overseen  func(*adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error)
	CancelFor func(*adminv1.CancelTasksRequest) ([]*adminv1.CancelOutcome, error)
	// Contracts, when set, are the platform's contract tests of partners.
	Contracts partnersv1.ContractServiceServer
	// Reviews, when set, is the platform's review service.
	Reviews reviewv1.ReviewServiceServer
	// Tools, when set, are those of MCP servers.
	Tools executorv1.ToolServiceServer
	// Registry, when set, is the platform's registry of partners.
	Registry registryv1.RegistryServiceServer
	// Attainment, when set, tells how partners stand.
	Attainment partnersv1.AttainmentServiceServer
}

// Platform is a running script.
type Platform struct {
	// URL is its base address.
	URL    string
	script Script

	mu   sync.Mutex
	seen []metadata.MD
	a2apb.UnimplementedA2AServiceServer
}

// overseer is its admin service, and that of its plans.
type overseer struct {
	adminv1.UnimplementedAdminServiceServer
	plannerv1.UnimplementedPlannerServiceServer
	p *Platform
}

// Start serves a script until the test ends.
func Start(t *testing.T, s Script) *Platform {
	t.Helper()
	p := &Platform{script: s}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(fault.Unary(slog.New(slog.DiscardHandler))))
	a2apb.RegisterA2AServiceServer(server, p)
	if s.Contracts != nil {
		partnersv1.RegisterContractServiceServer(server, s.Contracts)
	}
	adminv1.RegisterAdminServiceServer(server, overseer{p: p})
	plannerv1.RegisterPlannerServiceServer(server, overseer{p: p})
	if s.Tools != nil {
		executorv1.RegisterToolServiceServer(server, s.Tools)
	}
	if s.Registry != nil {
		registryv1.RegisterRegistryServiceServer(server, s.Registry)
	}
	if s.Reviews != nil {
		reviewv1.RegisterReviewServiceServer(server, s.Reviews)
	}
	if s.Attainment != nil {
		partnersv1.RegisterAttainmentServiceServer(server, s.Attainment)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	p.URL = Card(t, Front(listener.Addr().String()))
	return p
}

// Front is the card of an agent that serves gRPC at an address.
func Front(address string) *a2apb.AgentCard {
	return &a2apb.AgentCard{
		Name: "Council", Description: "Answers.", Version: "1", Capabilities: &a2apb.AgentCapabilities{},
		SupportedInterfaces: []*a2apb.AgentInterface{
			{Url: "http://127.0.0.1:1", ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
			{Url: address, ProtocolBinding: "GRPC", ProtocolVersion: "1.0"},
		},
	}
}

// Card serves a card and gives the base address.
func Card(t *testing.T, card *a2apb.AgentCard) string {
	t.Helper()
	raw, err := protojson.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Seen are the metadata of the calls so far.
func (p *Platform) Seen() []metadata.MD {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]metadata.MD(nil), p.seen...)
}

func (p *Platform) note(ctx context.Context) metadata.MD {
	md, _ := metadata.FromIncomingContext(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, md)
	return md
}

func status(err error) error {
	if err == nil {
		return nil
	}
	return fault.Status(err).Err()
}

// SendMessage runs the script's Answer.
func (p *Platform) SendMessage(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	p.note(ctx)
	if p.script.Answer == nil {
		return nil, status(fault.NoTask(req.GetMessage().GetTaskId()))
	}
	m, err := p.script.Answer(req)
	if err != nil {
		return nil, status(err)
	}
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{Message: m}}, nil
}

// SendStreamingMessage runs the script's Send.
func (p *Platform) SendStreamingMessage(req *a2apb.SendMessageRequest, s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	md := p.note(s.Context())
	if p.script.Send == nil {
		return status(fault.NoTask(req.GetMessage().GetTaskId()))
	}
	return status(p.script.Send(req.GetMessage(), md, s.Send))
}

// SubscribeToTask runs the script's Subscribe.
func (p *Platform) SubscribeToTask(req *a2apb.SubscribeToTaskRequest, s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	md := p.note(s.Context())
	if p.script.Subscribe == nil {
		return status(fault.NoTask(req.GetId()))
	}
	cursor := ""
	if v := md.Get(ext.MetadataCursor); len(v) > 0 {
		cursor = v[0]
	}
	return status(p.script.Subscribe(req.GetId(), cursor, s.Send))
}

// GetTask runs the script's Get.
func (p *Platform) GetTask(ctx context.Context, req *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	p.note(ctx)
	if p.script.Get == nil {
		return nil, status(fault.NoTask(req.GetId()))
	}
	t, err := p.script.Get(req.GetId())
	return t, status(err)
}

// ListTasks runs the script's List.
func (p *Platform) ListTasks(ctx context.Context, req *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
	p.note(ctx)
	if p.script.List == nil {
		return &a2apb.ListTasksResponse{}, nil
	}
	res, err := p.script.List(req)
	return res, status(err)
}

// CancelTask runs the script's Cancel.
func (p *Platform) CancelTask(ctx context.Context, req *a2apb.CancelTaskRequest) (*a2apb.Task, error) {
	p.note(ctx)
	if p.script.Cancel == nil {
		return nil, status(fault.NoTask(req.GetId()))
	}
	t, err := p.script.Cancel(req.GetId())
	return t, status(err)
}

// ListHops runs the script's Hops.
func (o overseer) ListHops(ctx context.Context, req *adminv1.ListHopsRequest) (*adminv1.ListHopsResponse, error) {
	o.p.note(ctx)
	if o.p.script.Hops == nil {
		return &adminv1.ListHopsResponse{}, nil
	}
	hops, err := o.p.script.Hops(req.GetTaskId())
	return &adminv1.ListHopsResponse{Hops: hops}, status(err)
}

// ListDeadPushes runs the script's Dead.
func (o overseer) ListDeadPushes(ctx context.Context, req *adminv1.ListDeadPushesRequest) (*adminv1.ListDeadPushesResponse, error) {
	o.p.note(ctx)
	if o.p.script.Dead == nil {
		return &adminv1.ListDeadPushesResponse{}, nil
	}
	list, err := o.p.script.Dead(req.GetService())
	return &adminv1.ListDeadPushesResponse{Pushes: list}, status(err)
}

// ResendPush runs the script's Resend.
func (o overseer) ResendPush(ctx context.Context, req *adminv1.ResendPushRequest) (*adminv1.ResendPushResponse, error) {
	o.p.note(ctx)
	if o.p.script.Resend == nil {
		return nil, status(fault.NoTask(req.GetTaskId()))
	}
	return &adminv1.ResendPushResponse{}, status(o.p.script.Resend(req))
}

// RetryStep runs the script's Retry.
func (o overseer) RetryStep(ctx context.Context, req *plannerv1.RetryStepRequest) (*plannerv1.RetryStepResponse, error) {
	o.p.note(ctx)
	if o.p.script.Retry == nil {
		return nil, status(fault.NoTask(req.GetTaskId()))
	}
	return &plannerv1.RetryStepResponse{}, status(o.p.script.Retry(req.GetTaskId(), req.GetStep()))
}

// ForkPlan runs the script's Fork.
func (o overseer) ForkPlan(ctx context.Context, req *plannerv1.ForkPlanRequest) (*plannerv1.ForkPlanResponse, error) {
	o.p.note(ctx)
	if o.p.script.Fork == nil {
		return nil, status(fault.NoTask(req.GetTaskId()))
	}
	id, err := o.p.script.Fork(req.GetTaskId(), req.GetStep())
	return &plannerv1.ForkPlanResponse{TaskId: id}, status(err)
}

// ListTasks runs the script's Overseen.
func (o overseer) ListTasks(ctx context.Context, req *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	o.p.note(ctx)
	if o.p.script.Overseen == nil {
		return &adminv1.ListTasksResponse{}, nil
	}
	res, err := o.p.script.Overseen(req)
	return res, status(err)
}

// CancelTasks runs the script's CancelFor.
func (o overseer) CancelTasks(ctx context.Context, req *adminv1.CancelTasksRequest) (*adminv1.CancelTasksResponse, error) {
	o.p.note(ctx)
	if o.p.script.CancelFor == nil {
		return nil, status(fault.New(fault.PermissionDenied, "it needs the scope operator or admin"))
	}
	outcomes, err := o.p.script.CancelFor(req)
	return &adminv1.CancelTasksResponse{Outcomes: outcomes}, status(err)
}

// Event reads an event in its JSON form.
func Event(t testing.TB, raw string) *a2apb.StreamResponse {
	t.Helper()
	e := &a2apb.StreamResponse{}
	if err := protojson.Unmarshal([]byte(raw), e); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return e
}

// WithCursor puts a cursor on a status or artifact update.
func WithCursor(e *a2apb.StreamResponse, cursor string) *a2apb.StreamResponse {
	md := &structpb.Struct{Fields: map[string]*structpb.Value{ext.Cursor: structpb.NewStringValue(cursor)}}
	switch p := e.GetPayload().(type) {
	case *a2apb.StreamResponse_StatusUpdate:
		p.StatusUpdate.Metadata = md
	case *a2apb.StreamResponse_ArtifactUpdate:
		p.ArtifactUpdate.Metadata = md
	case *a2apb.StreamResponse_Task:
		p.Task.Metadata = md
	}
	return e
}
