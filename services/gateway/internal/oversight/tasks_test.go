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
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway/internal/oversight"
)

// desk is a service that says who it is, or nothing at all.
type desk struct {
	adminv1.AdminServiceClient
	name string
	away bool
}

func (s desk) err() error {
	if s.away {
		return status.Error(codes.Unavailable, "connection refused")
	}
	return nil
}

func (s desk) ListTasks(context.Context, *adminv1.ListTasksRequest, ...grpc.CallOption) (*adminv1.ListTasksResponse, error) {
	return &adminv1.ListTasksResponse{NextPageToken: s.name}, s.err()
}

func (s desk) GetTask(context.Context, *adminv1.GetTaskRequest, ...grpc.CallOption) (*adminv1.GetTaskResponse, error) {
	return &adminv1.GetTaskResponse{Task: []byte(s.name)}, s.err()
}

func (s desk) ListEvents(context.Context, *adminv1.ListEventsRequest, ...grpc.CallOption) (*adminv1.ListEventsResponse, error) {
	return &adminv1.ListEventsResponse{Newest: int64(len(s.name))}, s.err()
}

func (s desk) CancelTasks(_ context.Context, q *adminv1.CancelTasksRequest, _ ...grpc.CallOption) (*adminv1.CancelTasksResponse, error) {
	return &adminv1.CancelTasksResponse{Outcomes: []*adminv1.CancelOutcome{{TaskId: q.GetTaskIds()[0], State: s.name}}}, s.err()
}

func (s desk) GetFigures(context.Context, *adminv1.GetFiguresRequest, ...grpc.CallOption) (*adminv1.GetFiguresResponse, error) {
	return &adminv1.GetFiguresResponse{
		Tasks: map[string]int64{s.name: 1}, Buckets: []*adminv1.Bucket{{Started: int64(len(s.name))}},
		Skills: []*adminv1.SkillFigures{{Agent: s.name, Skill: "b"}, {Agent: s.name, Skill: "a"}}, SkillsMore: s.name == "research",
	}, s.err()
}

func TestTheFrontAgentIsAskedUnlessAServiceIsNamed(t *testing.T) {
	var logs bytes.Buffer
	planner := &desk{name: "planner"}
	s := oversight.New(planner, map[string]adminv1.AdminServiceClient{
		"planner": planner, "research": &desk{name: "research"}, "validator": &desk{name: "validator", away: true},
	}, nil, slog.New(slog.NewTextHandler(&logs, nil)))
	ctx := identity.WithCall(t.Context(), identity.Call{Principal: identity.Principal{Subject: "olga", Organisation: "ops"}})
	for service, want := range map[string]string{"": "planner", "planner": "planner", "research": "research"} {
		list, err := s.ListTasks(ctx, &adminv1.ListTasksRequest{Service: service})
		if err != nil || list.GetNextPageToken() != want {
			t.Errorf("ListTasks of %q: %v, %v", service, list, err)
		}
		task, err := s.GetTask(ctx, &adminv1.GetTaskRequest{Service: service, TaskId: "t1"})
		if err != nil || string(task.GetTask()) != want {
			t.Errorf("GetTask of %q: %v, %v", service, task, err)
		}
		events, err := s.ListEvents(ctx, &adminv1.ListEventsRequest{Service: service, TaskId: "t1"})
		if err != nil || events.GetNewest() != int64(len(want)) {
			t.Errorf("ListEvents of %q: %v, %v", service, events, err)
		}
		ended, err := s.CancelTasks(ctx, &adminv1.CancelTasksRequest{Service: service, TaskIds: []string{"t1", "t2"}, Reason: "too old"})
		if err != nil || ended.GetOutcomes()[0].GetState() != want {
			t.Errorf("CancelTasks of %q: %v, %v", service, ended, err)
		}
	}
	for _, want := range []string{`method=CancelTasks about="research too old: t1 t2" principal=ops/olga`, `method=GetTask about=t1 principal=ops/olga`} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, logs.String())
		}
	}
	if _, err := s.GetTask(ctx, &adminv1.GetTaskRequest{Service: "nobody", TaskId: "t1"}); !fault.Is(err, fault.InvalidArgument) || !strings.Contains(err.Error(), "planner, research, validator") {
		t.Errorf("of an unknown service: %v", err)
	}
	if _, err := s.GetTask(ctx, &adminv1.GetTaskRequest{Service: "validator", TaskId: "t1"}); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "validator") {
		t.Errorf("of one that is away: %v", err)
	}
	if _, err := s.CancelTasks(t.Context(), &adminv1.CancelTasksRequest{}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("without a caller: %v", err)
	}
}

func TestFiguresAreThoseOfThePlatform(t *testing.T) {
	planner := &desk{name: "planner"}
	services := map[string]adminv1.AdminServiceClient{"planner": planner, "research": &desk{name: "research"}}
	s := oversight.New(planner, services, nil, slog.New(slog.DiscardHandler))
	ctx := identity.WithCall(t.Context(), identity.Call{Principal: identity.Principal{Subject: "olga"}})
	all, err := s.GetFigures(ctx, &adminv1.GetFiguresRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var skills []string
	for _, f := range all.GetSkills() {
		skills = append(skills, f.GetAgent()+"."+f.GetSkill())
	}
	if strings.Join(skills, " ") != "planner.a planner.b research.a research.b" || !all.GetSkillsMore() {
		t.Errorf("skills %q, more %v", skills, all.GetSkillsMore())
	}
	if all.GetTasks()["planner"] != 1 || len(all.GetTasks()) != 1 || all.GetBuckets()[0].GetStarted() != 7 {
		t.Errorf("tasks %v, buckets %v; want the planner's", all.GetTasks(), all.GetBuckets())
	}
	one, err := s.GetFigures(ctx, &adminv1.GetFiguresRequest{Service: "research"})
	if err != nil || one.GetTasks()["research"] != 1 {
		t.Errorf("of one service: %v, %v", one, err)
	}
	services["validator"] = &desk{name: "validator", away: true}
	if _, err := s.GetFigures(ctx, &adminv1.GetFiguresRequest{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with one away: %v, want UNAVAILABLE", err)
	}
}
