package oversight_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
	"sabha.dev/testrig/clocktest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// service is one that has tasks and calls, or that fails.
type service struct {
	adminv1.AdminServiceClient
	tasks []*adminv1.TaskSummary
	hops  []*adminv1.Hop
	err   error
	asked *adminv1.ListTasksRequest
}

func (s *service) ListTasks(_ context.Context, q *adminv1.ListTasksRequest, _ ...grpc.CallOption) (*adminv1.ListTasksResponse, error) {
	s.asked = q
	return &adminv1.ListTasksResponse{Tasks: s.tasks, Counts: map[string]int64{"TASK_STATE_AUTH_REQUIRED": 3}, NextPageToken: "t-9"}, s.err
}

func (s *service) ListHops(context.Context, *adminv1.ListHopsRequest, ...grpc.CallOption) (*adminv1.ListHopsResponse, error) {
	return &adminv1.ListHopsResponse{Hops: s.hops}, s.err
}

// plans is a planner without plans.
type plans struct{ plannerv1.PlannerServiceClient }

func (*plans) GetPlan(context.Context, *plannerv1.GetPlanRequest, ...grpc.CallOption) (*plannerv1.GetPlanResponse, error) {
	return nil, status.Error(codes.Unimplemented, "no plans")
}

func at(second int) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(2026, 3, 1, 8, 0, second, 0, time.UTC))
}

func source(planner *service, others map[string]*service) *oversight.Source {
	all := map[string]adminv1.AdminServiceClient{"planner": planner}
	for name, s := range others {
		all[name] = s
	}
	return oversight.New(planner, &plans{}, all, clocktest.New(noon), slog.New(slog.DiscardHandler))
}

func TestTheYoungestRequestIsFirstWhateverChangedLast(t *testing.T) {
	planner := &service{tasks: []*adminv1.TaskSummary{{Id: "old", CreatedAt: at(1), StatusAt: at(9)}, {Id: "new", CreatedAt: at(5), StatusAt: at(8)}}}
	p, err := source(planner, nil).List(t.Context(), query.Query{States: []request.State{request.AuthRequired}, Older: time.Hour}, "t-3")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tasks) != 2 || p.Tasks[0].ID != "new" || p.Next != "t-9" || p.Counts[request.AuthRequired] != 3 || p.Total() != 3 {
		t.Errorf("page %+v", p)
	}
	if q := planner.asked; q.GetPageToken() != "t-3" || strings.Join(q.GetStates(), ",") != "TASK_STATE_AUTH_REQUIRED" || q.GetPageSize() != 50 || !q.GetCreatedBefore().AsTime().Equal(noon.Add(-time.Hour)) || q.GetCreatedAfter() != nil {
		t.Errorf("asked %v", q)
	}
}

func TestCallsOfEveryServiceAreOneTrail(t *testing.T) {
	planner := &service{tasks: []*adminv1.TaskSummary{{Id: "t"}}, hops: []*adminv1.Hop{{Agent: "planner", TaskId: "t", StartedAt: at(0)}}}
	src := source(planner, map[string]*service{
		"research": {hops: []*adminv1.Hop{{Agent: "research", ParentTaskId: "t", StartedAt: at(2)}}},
		"security": {hops: []*adminv1.Hop{{Agent: "security", ParentTaskId: "t", StartedAt: at(1)}}},
		"memory":   {err: status.Error(codes.Unavailable, "gone")},
		"executor": {err: context.DeadlineExceeded},
	})
	hops, missing := src.Hops(t.Context(), "t")
	var got []string
	for _, h := range hops {
		got = append(got, h.Agent)
	}
	if strings.Join(got, " ") != "planner security research" || strings.Join(missing, " ") != "executor memory" {
		t.Errorf("trail %q, missing %q", got, missing)
	}
}

func TestErrorsSayWhatAPageCanSay(t *testing.T) {
	for name, c := range map[string]struct {
		err        error
		list, task error
	}{
		"unavailable":  {status.Error(codes.Unavailable, "connection refused"), oversight.ErrUnreachable, oversight.ErrUnreachable},
		"refused":      {fault.Status(fault.New(fault.PermissionDenied, "no")).Err(), oversight.ErrUnreachable, oversight.ErrUnreachable},
		"bad page":     {fault.Status(fault.Invalid("page_token", "is none")).Err(), oversight.ErrBadPage, oversight.ErrUnreachable},
		"no such task": {fault.Status(fault.NoTask("t")).Err(), oversight.ErrUnreachable, oversight.ErrNoTask},
	} {
		src := source(&service{err: c.err}, nil)
		if _, err := src.List(t.Context(), query.Query{}, ""); !errors.Is(err, c.list) {
			t.Errorf("%s: list: %v, want %v", name, err, c.list)
		}
		if _, err := src.Task(t.Context(), "t"); !errors.Is(err, c.task) {
			t.Errorf("%s: task: %v, want %v", name, err, c.task)
		}
	}
	if _, err := source(&service{}, nil).Task(t.Context(), "t"); !errors.Is(err, oversight.ErrNoTask) {
		t.Errorf("a planner without the task: %v", err)
	}
}
