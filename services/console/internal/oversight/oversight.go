// Package oversight reads requests from the services of the platform.
package oversight

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

// Errors of a Source. What lies behind them is in the log.
var (
	// ErrNoTask says that the task does not exist.
	ErrNoTask = errors.New("there is no such task")
	// ErrNoPlaybook says that the playbook does not exist, or not in that version.
	ErrNoPlaybook = errors.New("there is no such playbook")
	// ErrBadPage says that a list cannot be continued where it was asked to be.
	ErrBadPage = errors.New("the list cannot be continued there")
	// ErrUnreachable says that the planner, which has the requests, gave no answer.
	ErrUnreachable = errors.New("the planner cannot be reached")
)

// PageSize is how many tasks a page of the list has.
const PageSize = 50

// Source asks the planner for requests, and every service for its calls.
type Source struct {
	planner  adminv1.AdminServiceClient
	plans    plannerv1.PlannerServiceClient
	services map[string]adminv1.AdminServiceClient
	clock    clock.Clock
	log      *slog.Logger
}

// New makes a source over the planner's admin service, its plans, and the admin
// services of every service that records calls, the planner among them.
func New(planner adminv1.AdminServiceClient, plans plannerv1.PlannerServiceClient, services map[string]adminv1.AdminServiceClient, c clock.Clock, log *slog.Logger) *Source {
	return &Source{planner: planner, plans: plans, services: services, clock: c, log: log}
}

// List reads a page of the requests that a query takes, from the beginning or after
// another page. The errors are ErrBadPage and ErrUnreachable.
func (s *Source) List(ctx context.Context, q query.Query, after string) (request.Page, error) {
	res, err := s.planner.ListTasks(ctx, s.wire(q, after))
	if err != nil {
		if reason(err) == fault.InvalidArgument {
			return request.Page{}, ErrBadPage
		}
		return request.Page{}, s.unreachable(ctx, err)
	}
	return request.OfList(res), nil
}

func (s *Source) wire(q query.Query, after string) *adminv1.ListTasksRequest {
	w := &adminv1.ListTasksRequest{
		PageSize: PageSize, PageToken: after, TaskId: q.Task, Playbook: q.Playbook, Agent: q.Agent, Principal: q.Caller, ContextId: q.Context,
		Query: q.Text, Retrying: q.Retrying, FailedStep: q.Failed,
	}
	for _, state := range q.States {
		w.States = append(w.States, state.Wire())
	}
	now := s.clock.Now()
	if q.Younger > 0 {
		w.CreatedAfter = timestamppb.New(now.Add(-q.Younger))
	}
	if q.Older > 0 {
		w.CreatedBefore = timestamppb.New(now.Add(-q.Older))
	}
	return w
}

// Cancel cancels tasks for a reason, which is recorded. Each has an outcome of its
// own, in the order of the ids. The error is that of the service.
func (s *Source) Cancel(ctx context.Context, ids []string, reason string) ([]request.Outcome, error) {
	res, err := s.planner.CancelTasks(ctx, &adminv1.CancelTasksRequest{TaskIds: ids, Reason: reason})
	if err != nil {
		return nil, err
	}
	var all []request.Outcome
	for _, o := range res.GetOutcomes() {
		all = append(all, request.Outcome{TaskID: o.GetTaskId(), State: request.FromWire(o.GetState()), Error: o.GetError()})
	}
	return all, nil
}

func (s *Source) hops(ctx context.Context, id string) (trail []request.Hop, missing []string) {
	var (
		mu  sync.Mutex
		all []*adminv1.Hop
		wg  sync.WaitGroup
	)
	for name, service := range s.services {
		wg.Go(func() {
			res, err := service.ListHops(ctx, &adminv1.ListHopsRequest{TaskId: id})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing = append(missing, name)
				if ctx.Err() == nil {
					s.log.Warn("calls cannot be read", "of", name, "task_id", id, "error", err)
				}
				return
			}
			all = append(all, res.GetHops()...)
		})
	}
	wg.Wait()
	slices.Sort(missing)
	return request.Trail(all), missing
}

func (s *Source) unreachable(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		s.log.Warn("requests cannot be read", "error", err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// reason of an error that a service answered with; empty for any other.
func reason(err error) fault.Reason {
	if f := fault.FromStatus(err); f != nil {
		return f.Reason
	}
	return ""
}
