package oversight

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/console/internal/request"
)

// Task reads a request with its plan. The errors are ErrNoTask and ErrUnreachable.
func (s *Source) Task(ctx context.Context, id string) (request.Task, error) {
	var (
		plan    *plannerv1.GetPlanResponse
		planErr error
		wg      sync.WaitGroup
	)
	wg.Go(func() { plan, planErr = s.plans.GetPlan(ctx, &plannerv1.GetPlanRequest{TaskId: id}) })
	res, err := s.planner.ListTasks(ctx, &adminv1.ListTasksRequest{TaskId: id})
	wg.Wait()
	if reason(err) == fault.TaskNotFound || (err == nil && len(res.GetTasks()) == 0) {
		return request.Task{}, ErrNoTask
	}
	if err != nil {
		return request.Task{}, s.unreachable(ctx, err)
	}
	t := request.OfSummary(res.GetTasks()[0])
	switch {
	case planErr == nil:
		t.Plan = request.OfPlan(plan.GetPlan())
	case reason(planErr) == "" && status.Code(planErr) != codes.Unimplemented && ctx.Err() == nil:
		s.log.Warn("a plan cannot be read", "task_id", id, "error", planErr)
	}
	return t, nil // without its plan the task still shows the one of its metadata
}

// Content reads what was said and made in a request. The errors are ErrNoTask and
// ErrUnreachable.
func (s *Source) Content(ctx context.Context, id string) (request.Task, request.Content, error) {
	res, err := s.planner.GetTask(ctx, &adminv1.GetTaskRequest{TaskId: id})
	if err := s.absent(ctx, err); err != nil {
		return request.Task{}, request.Content{}, err
	}
	c, err := request.OfTask(res.GetTask())
	if err != nil {
		return request.Task{}, request.Content{}, s.unreachable(ctx, err)
	}
	return request.OfSummary(res.GetSummary()), c, nil
}

// Hops reads the calls of a request, in order. Services that gave no answer are
// named in missing: their calls are not in the list.
func (s *Source) Hops(ctx context.Context, id string) (hops []request.Hop, missing []string) {
	return s.hops(ctx, id)
}

// Events reads events of a task after a version. The errors are ErrNoTask and
// ErrUnreachable.
func (s *Source) Events(ctx context.Context, id string, after int64, most int) (request.Events, error) {
	res, err := s.planner.ListEvents(ctx, &adminv1.ListEventsRequest{TaskId: id, After: after, PageSize: int32(min(most, 1000))})
	if err := s.absent(ctx, err); err != nil {
		return request.Events{}, err
	}
	return request.OfEvents(res), nil
}

// absent tells a task that is not there from a planner that cannot be reached.
func (s *Source) absent(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case reason(err) == fault.TaskNotFound:
		return ErrNoTask
	}
	return s.unreachable(ctx, err)
}

// Retry makes a step that waits for its next try run now. The error is that of the service.
func (s *Source) Retry(ctx context.Context, id, step string) error {
	_, err := s.plans.RetryStep(ctx, &plannerv1.RetryStepRequest{TaskId: id, Step: step})
	return err
}

// Fork makes a new request out of an ended one, which begins again at a step, and
// gives its id. The error is that of the service.
func (s *Source) Fork(ctx context.Context, id, step string) (string, error) {
	res, err := s.plans.ForkPlan(ctx, &plannerv1.ForkPlanRequest{TaskId: id, Step: step})
	if err == nil && res.GetTaskId() == "" {
		return "", errors.New("the fork has no id")
	}
	return res.GetTaskId(), err
}
