package oversight_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway/internal/oversight"
)

// trail is a service with hops, which it finds by root, and by child if it has it.
type trail struct {
	adminv1.AdminServiceClient
	hops []*adminv1.Hop
}

func (s trail) ListHops(_ context.Context, q *adminv1.ListHopsRequest, _ ...grpc.CallOption) (*adminv1.ListHopsResponse, error) {
	res := &adminv1.ListHopsResponse{}
	for _, h := range s.hops {
		if h.GetTaskId() == q.GetTaskId() || h.GetRootTaskId() == q.GetTaskId() {
			res.Hops = append(res.Hops, h)
		}
	}
	return res, nil
}

func hop(agent, task, root string, second int) *adminv1.Hop {
	return &adminv1.Hop{Agent: agent, TaskId: task, RootTaskId: root, StartedAt: timestamppb.New(time.Date(2026, 3, 1, 8, 0, second, 0, time.UTC))}
}

func TestAChildLeadsToTheWholeRequestInOrder(t *testing.T) {
	planner := trail{hops: []*adminv1.Hop{hop("planner", "p1", "p1", 0), hop("planner", "p2", "p2", 0)}}
	research := trail{hops: []*adminv1.Hop{hop("research", "r2", "p1", 3), hop("research", "r1", "p1", 1)}}
	validator := trail{hops: []*adminv1.Hop{hop("validator", "v1", "p1", 3)}}
	s := oversight.New(planner, map[string]adminv1.AdminServiceClient{"planner": planner, "research": research, "validator": validator}, nil, slog.New(slog.DiscardHandler))
	ctx := identity.WithCall(t.Context(), identity.Call{Principal: identity.Principal{Subject: "alma"}})
	for task, want := range map[string]string{
		"p1": "planner p1, research r1, research r2, validator v1",
		"v1": "planner p1, research r1, research r2, validator v1",
		"p2": "planner p2",
		"x":  "",
	} {
		res, err := s.ListHops(ctx, &adminv1.ListHopsRequest{TaskId: task})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range res.GetHops() {
			got = append(got, h.GetAgent()+" "+h.GetTaskId())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("hops of %s: %q, want %q", task, strings.Join(got, ", "), want)
		}
	}
	if _, err := s.ListHops(t.Context(), &adminv1.ListHopsRequest{TaskId: "p1"}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("without a caller: %v, want UNAUTHENTICATED", err)
	}
}
