package oversight_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/gateway/internal/oversight"
)

// plans is a planner that forks, and nothing else.
type plans struct{ plannerv1.PlannerServiceClient }

func (plans) ForkPlan(_ context.Context, q *plannerv1.ForkPlanRequest, _ ...grpc.CallOption) (*plannerv1.ForkPlanResponse, error) {
	return &plannerv1.ForkPlanResponse{TaskId: "fork of " + q.GetTaskId() + " at " + q.GetStep()}, nil
}

func (plans) ListPlaybooks(context.Context, *plannerv1.ListPlaybooksRequest, ...grpc.CallOption) (*plannerv1.ListPlaybooksResponse, error) {
	return nil, status.Error(codes.Unavailable, "connection refused")
}

func TestPlansAreThePlannersAndWhoActsIsLogged(t *testing.T) {
	var logs bytes.Buffer
	s := oversight.New(nil, nil, plans{}, slog.New(slog.NewTextHandler(&logs, nil)))
	ctx := identity.WithCall(t.Context(), identity.Call{Principal: identity.Principal{Subject: "olga", Organisation: "ops"}})
	res, err := s.ForkPlan(ctx, &plannerv1.ForkPlanRequest{TaskId: "t1", Step: "b"})
	if err != nil || res.GetTaskId() != "fork of t1 at b" {
		t.Fatalf("%v, %v", res, err)
	}
	if got := logs.String(); !strings.Contains(got, `method=ForkPlan about="t1 b" principal=ops/olga`) {
		t.Errorf("the log does not say who acted: %s", got)
	}
	if _, err := s.ForkPlan(t.Context(), &plannerv1.ForkPlanRequest{}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("without an identity: %v", err)
	}
	if _, err := s.ListPlaybooks(ctx, &plannerv1.ListPlaybooksRequest{}); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "planner") {
		t.Errorf("a planner that is away: %v", err)
	}
}
