package oversight_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/request"
	"sabha.dev/testrig/clocktest"
)

// planner serves one task over a socket and keeps what it was asked for.
type planner struct {
	adminv1.UnimplementedAdminServiceServer
	plannerv1.UnimplementedPlannerServiceServer
	asked []string
}

// dial gives a source over a planner that listens on a socket.
func dial(t *testing.T, admin adminv1.AdminServiceServer, plans plannerv1.PlannerServiceServer) *oversight.Source {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(fault.Unary(slog.New(slog.DiscardHandler))))
	adminv1.RegisterAdminServiceServer(s, admin)
	plannerv1.RegisterPlannerServiceServer(s, plans)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := adminv1.NewAdminServiceClient(conn)
	return oversight.New(client, plannerv1.NewPlannerServiceClient(conn), map[string]adminv1.AdminServiceClient{"planner": client}, clocktest.New(noon), slog.New(slog.DiscardHandler))
}

func (p *planner) ListTasks(_ context.Context, q *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	if q.GetTaskId() != "t-1" {
		return nil, fault.NoTask(q.GetTaskId())
	}
	return &adminv1.ListTasksResponse{Tasks: []*adminv1.TaskSummary{{Id: "t-1", State: "TASK_STATE_WORKING", Principal: "acme/alma"}}}, nil
}

func (p *planner) GetPlan(context.Context, *plannerv1.GetPlanRequest) (*plannerv1.GetPlanResponse, error) {
	return &plannerv1.GetPlanResponse{Plan: &plannerv1.Plan{
		Playbook: "leave", Version: "2", Phase: "running", MayFork: true, Input: &structpb.Struct{Fields: map[string]*structpb.Value{"q": structpb.NewStringValue("<b>")}},
		Steps: []*plannerv1.Step{{
			Step: "draft", Kind: "step", Agent: "planner", Skill: "synthesise", State: "RUNNING", Needs: []string{"find"}, Attempt: 1, AttemptsAllowed: 3, Reason: "no model",
			RetryAt: at(9), ChildTaskId: "c-1", Inputs: structpb.NewNumberValue(1), Output: structpb.NewNullValue(), SideEffects: true, Risk: "high", Purpose: "marketing", Consent: "agreed",
		}, {Step: "find", Kind: "compensation", State: "COMPLETED"}},
	}}, nil
}

func TestATaskComesWithItsPlan(t *testing.T) {
	p := &planner{}
	src := dial(t, p, p)
	got, err := src.Task(t.Context(), "t-1")
	if err != nil {
		t.Fatal(err)
	}
	if got.State != request.Working || got.Plan.Playbook != "leave" || !got.Plan.MayFork || got.Plan.Input != "{\n  \"q\": \"<b>\"\n}" || len(got.Plan.Undone()) != 1 {
		t.Errorf("%+v", got)
	}
	s := got.Plan.Forward()[0]
	if s.State != request.StepRunning || s.Allowed != 3 || s.Attempt != 1 || !s.Retry.Equal(at(9).AsTime()) || s.Inputs != "1" || s.Output != "" || s.Child != "c-1" || !s.SideEffects || s.Needs[0] != "find" || s.Purpose != "marketing" || s.Consent != "agreed" {
		t.Errorf("%+v", s)
	}
	if _, err := src.Task(t.Context(), "t-2"); !errors.Is(err, oversight.ErrNoTask) {
		t.Errorf("a task that is not there: %v", err)
	}
}

func (p *planner) GetTask(_ context.Context, q *adminv1.GetTaskRequest) (*adminv1.GetTaskResponse, error) {
	switch q.GetTaskId() {
	case "t-1":
	case "broken":
		return &adminv1.GetTaskResponse{Task: []byte{0xff}}, nil
	default:
		return nil, fault.NoTask(q.GetTaskId())
	}
	text := func(s string) *a2apb.Part { return &a2apb.Part{Content: &a2apb.Part_Text{Text: s}} }
	raw, err := proto.Marshal(&a2apb.Task{
		History: []*a2apb.Message{{MessageId: "m-1", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{text("hello")}}},
		Status:  &a2apb.TaskStatus{Message: &a2apb.Message{MessageId: "m-2", Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{text("on it")}}},
		Artifacts: []*a2apb.Artifact{{
			ArtifactId: "a-1", Name: "answer", Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Step: structpb.NewStringValue("draft")}},
			Parts: []*a2apb.Part{
				{Content: &a2apb.Part_Data{Data: structpb.NewBoolValue(true)}},
				{Content: &a2apb.Part_Raw{Raw: []byte("\x89PNG\r\n\x1a\n...")}, MediaType: "text/html", Filename: "x.html"},
				{Content: &a2apb.Part_Raw{Raw: []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")}, MediaType: "image/png"},
				{Content: &a2apb.Part_Url{Url: "https://example.com/x"}},
			},
		}},
	})
	return &adminv1.GetTaskResponse{Task: raw, Summary: &adminv1.TaskSummary{Id: "t-1", State: "TASK_STATE_WORKING"}}, err
}

func TestWhatWasSaidAndMadeIsRead(t *testing.T) {
	p := &planner{}
	src := dial(t, p, p)
	task, c, err := src.Content(t.Context(), "t-1")
	if err != nil || task.ID != "t-1" {
		t.Fatalf("%+v %v", task, err)
	}
	if len(c.Messages) != 2 || c.Messages[0].Agent || c.Messages[0].Parts[0].Text != "hello" || !c.Messages[1].Agent || c.Messages[1].Parts[0].Text != "on it" {
		t.Errorf("messages %+v", c.Messages)
	}
	a := c.Artifacts[0]
	if a.Step != "draft" || a.Parts[0].Data != "true" || a.Parts[3].URL != "https://example.com/x" {
		t.Errorf("artifact %+v", a)
	}
	if a.Parts[1].Image != "image/png" || a.Parts[2].Image != "" {
		t.Errorf("a picture is one by its content, not by what it says: %q, %q", a.Parts[1].Image, a.Parts[2].Image)
	}
	for id, want := range map[string]error{"t-2": oversight.ErrNoTask, "broken": oversight.ErrUnreachable} {
		if _, _, err := src.Content(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
}

func (p *planner) ListEvents(_ context.Context, q *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	if q.GetTaskId() != "t-1" || q.GetAfter() != 3 || q.GetPageSize() != 1000 {
		return nil, fault.NoTask(q.GetTaskId())
	}
	raw, err := proto.Marshal(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_COMPLETED, Message: &a2apb.Message{Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "done"}}}}},
	}}})
	return &adminv1.ListEventsResponse{Newest: 9, More: true, Events: []*adminv1.TaskEvent{{Version: 4, At: timestamppb.New(noon), StreamResponse: raw}, {Version: 5, StreamResponse: []byte{0xff}}}}, err
}

func TestEventsAreReadWithTheirJSON(t *testing.T) {
	p := &planner{}
	got, err := dial(t, p, p).Events(t.Context(), "t-1", 3, 5000)
	if err != nil || got.Newest != 9 || !got.More || len(got.List) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	e := got.List[0]
	if e.Version != 4 || !e.At.Equal(noon) || e.Kind != "status" || e.State != request.Completed || e.Text != "done" || !strings.HasPrefix(string(e.Raw), `{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"`) {
		t.Errorf("%+v %s", e, e.Raw)
	}
	if got.List[1].Kind != "unknown" {
		t.Errorf("what cannot be read is %+v", got.List[1])
	}
}

func (p *planner) RetryStep(_ context.Context, q *plannerv1.RetryStepRequest) (*plannerv1.RetryStepResponse, error) {
	p.asked = append(p.asked, "retry "+q.GetTaskId()+" "+q.GetStep())
	return &plannerv1.RetryStepResponse{}, nil
}

func (p *planner) ForkPlan(_ context.Context, q *plannerv1.ForkPlanRequest) (*plannerv1.ForkPlanResponse, error) {
	if q.GetStep() == "unknown" {
		return nil, fault.Invalid("step", "is none of the plan")
	}
	p.asked = append(p.asked, "fork "+q.GetTaskId()+" "+q.GetStep())
	return &plannerv1.ForkPlanResponse{TaskId: "t-2"}, nil
}

func (p *planner) CancelTasks(_ context.Context, q *adminv1.CancelTasksRequest) (*adminv1.CancelTasksResponse, error) {
	p.asked = append(p.asked, "cancel "+strings.Join(q.GetTaskIds(), "+")+" "+q.GetReason())
	return &adminv1.CancelTasksResponse{Outcomes: []*adminv1.CancelOutcome{{TaskId: "a", State: "TASK_STATE_CANCELED"}, {TaskId: "b", Error: "it has ended"}}}, nil
}

func TestWhatOperatorsDoReachesThePlanner(t *testing.T) {
	p := &planner{}
	src := dial(t, p, p)
	if err := src.Retry(t.Context(), "t-1", "draft"); err != nil {
		t.Error(err)
	}
	if id, err := src.Fork(t.Context(), "t-1", "draft"); err != nil || id != "t-2" {
		t.Error(id, err)
	}
	if _, err := src.Fork(t.Context(), "t-1", "unknown"); err == nil || fault.FromStatus(err).Reason != fault.InvalidArgument {
		t.Errorf("the planner's refusal came as %v", err)
	}
	outcomes, err := src.Cancel(t.Context(), []string{"a", "b"}, "wrong file")
	if err != nil || len(outcomes) != 2 || outcomes[0].State != request.Canceled || outcomes[1] != (request.Outcome{TaskID: "b", Error: "it has ended"}) {
		t.Errorf("%+v %v", outcomes, err)
	}
	if got := strings.Join(p.asked, ", "); got != "retry t-1 draft, fork t-1 draft, cancel a+b wrong file" {
		t.Errorf("asked: %s", got)
	}
}
