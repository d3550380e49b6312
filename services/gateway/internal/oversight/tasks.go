package oversight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// ListTasks lists the tasks of a service, of all callers: those of the front agent
// are the requests of clients.
func (s *Service) ListTasks(ctx context.Context, req *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	return forward(ctx, s, "ListTasks", strings.Join(req.GetStates(), ","), req.GetService(), req, adminv1.AdminServiceClient.ListTasks)
}

// GetTask gives a task whole.
func (s *Service) GetTask(ctx context.Context, req *adminv1.GetTaskRequest) (*adminv1.GetTaskResponse, error) {
	return forward(ctx, s, "GetTask", req.GetTaskId(), req.GetService(), req, adminv1.AdminServiceClient.GetTask)
}

// ListEvents gives the events of a task.
func (s *Service) ListEvents(ctx context.Context, req *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	return forward(ctx, s, "ListEvents", req.GetTaskId(), req.GetService(), req, adminv1.AdminServiceClient.ListEvents)
}

// CancelTasks cancels tasks. What is done is logged with the reason and every id.
func (s *Service) CancelTasks(ctx context.Context, req *adminv1.CancelTasksRequest) (*adminv1.CancelTasksResponse, error) {
	about := fmt.Sprintf("%s: %s", req.GetReason(), strings.Join(req.GetTaskIds(), " "))
	return forward(ctx, s, "CancelTasks", about, req.GetService(), req, adminv1.AdminServiceClient.CancelTasks)
}

// forward asks one service, the front agent when it is not named.
func forward[Q, R any](ctx context.Context, s *Service, method, about, name string, req Q,
	ask func(adminv1.AdminServiceClient, context.Context, Q, ...grpc.CallOption) (R, error),
) (R, error) {
	var none R
	ctx, err := s.outgoing(ctx, method, strings.TrimSpace(name+" "+about))
	if err != nil {
		return none, err
	}
	service, name, err := s.of(name)
	if err != nil {
		return none, err
	}
	res, err := ask(service, ctx, req)
	if err != nil {
		return none, named(name, err)
	}
	return res, nil
}

type answered struct {
	by      adminv1.AdminServiceClient
	figures *adminv1.GetFiguresResponse
}

// GetFigures gives the figures of one service, or, of all, the tasks of the front
// agent and the skills of every one.
func (s *Service) GetFigures(ctx context.Context, req *adminv1.GetFiguresRequest) (*adminv1.GetFiguresResponse, error) {
	if req.GetService() != "" {
		return forward(ctx, s, "GetFigures", "", req.GetService(), req, adminv1.AdminServiceClient.GetFigures)
	}
	ctx, err := s.outgoing(ctx, "GetFigures", "")
	if err != nil {
		return nil, err
	}
	all, err := collect(ctx, s, func(ctx context.Context, service adminv1.AdminServiceClient) ([]answered, error) {
		one, err := service.GetFigures(ctx, req)
		return []answered{{service, one}}, err
	})
	if err != nil {
		return nil, err
	}
	res := &adminv1.GetFiguresResponse{}
	for _, a := range all {
		if a.by == s.front {
			res.Tasks, res.Buckets = a.figures.GetTasks(), a.figures.GetBuckets()
		}
		res.Skills = append(res.Skills, a.figures.GetSkills()...)
		res.SkillsMore = res.GetSkillsMore() || a.figures.GetSkillsMore()
	}
	slices.SortFunc(res.GetSkills(), func(a, b *adminv1.SkillFigures) int {
		return cmp.Or(strings.Compare(a.GetAgent(), b.GetAgent()), strings.Compare(a.GetSkill(), b.GetSkill()))
	})
	return res, nil
}
