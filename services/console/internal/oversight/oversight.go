// Package oversight reads requests from the services of the platform.
package oversight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/request"
)

// Errors of a Source. What lies behind them is in the log.
var (
	// ErrNoTask says that the task does not exist.
	ErrNoTask = errors.New("there is no such task")
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
	services map[string]adminv1.AdminServiceClient
	log      *slog.Logger
}

// New makes a source over the planner's admin service and those of every service
// that records calls, the planner among them.
func New(planner adminv1.AdminServiceClient, services map[string]adminv1.AdminServiceClient, log *slog.Logger) *Source {
	return &Source{planner: planner, services: services, log: log}
}

// List reads a page of requests, in one state or in any when it is empty, from
// the beginning or after another page. The errors are ErrBadPage and ErrUnreachable.
func (s *Source) List(ctx context.Context, state request.State, after string) (request.Page, error) {
	q := &adminv1.ListTasksRequest{PageSize: PageSize, PageToken: after}
	if state != "" {
		q.States = []string{state.Wire()}
	}
	res, err := s.planner.ListTasks(ctx, q)
	if err != nil {
		if reason(err) == fault.InvalidArgument {
			return request.Page{}, ErrBadPage
		}
		return request.Page{}, s.unreachable(ctx, err)
	}
	page := request.Page{Counts: map[request.State]int64{}, Next: res.GetNextPageToken()}
	for name, n := range res.GetCounts() {
		page.Counts[request.FromWire(name)] = n
	}
	for _, t := range res.GetTasks() {
		page.Tasks = append(page.Tasks, request.OfSummary(t))
	}
	slices.SortStableFunc(page.Tasks, func(a, b request.Task) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	return page, nil
}

// Task reads a request and its calls, in order. Services that gave no answer are
// named in missing: their calls are not in the list. The errors are ErrNoTask and
// ErrUnreachable.
func (s *Source) Task(ctx context.Context, id string) (t request.Task, hops []request.Hop, missing []string, err error) {
	res, err := s.planner.ListTasks(ctx, &adminv1.ListTasksRequest{TaskId: id})
	if reason(err) == fault.TaskNotFound || (err == nil && len(res.GetTasks()) == 0) {
		return request.Task{}, nil, nil, ErrNoTask
	}
	if err != nil {
		return request.Task{}, nil, nil, s.unreachable(ctx, err)
	}
	hops, missing = s.hops(ctx, id)
	return request.OfSummary(res.GetTasks()[0]), hops, missing, nil
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
