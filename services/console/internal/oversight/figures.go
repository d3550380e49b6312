package oversight

import (
	"context"
	"slices"
	"sync"
	"time"

	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/console/internal/request"
)

// Figures counts over a span up to now: tasks at the planner, calls at every service.
// The error is ErrUnreachable, or that the caller may not see it.
func (s *Source) Figures(ctx context.Context, span time.Duration) (request.Figures, error) {
	f := request.Figures{Span: span}
	q := &adminv1.GetFiguresRequest{Seconds: int64(span / time.Second)}
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		failure error
	)
	for name, service := range s.services {
		wg.Go(func() {
			res, err := service.GetFigures(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			requests := service == s.planner
			switch {
			case err == nil:
				f.Add(res, requests)
			case requests:
				failure = err
			default:
				f.Missing = append(f.Missing, name)
			}
		})
	}
	wg.Wait()
	slices.Sort(f.Missing)
	if failure != nil {
		return request.Figures{}, s.unreachable(ctx, failure)
	}
	return f, nil
}

// Playbooks lists the playbooks in force. The error is ErrUnreachable, or that the
// caller may not see them.
func (s *Source) Playbooks(ctx context.Context) ([]request.Playbook, error) {
	res, err := s.plans.ListPlaybooks(ctx, &plannerv1.ListPlaybooksRequest{})
	if err != nil {
		return nil, s.unreachable(ctx, err)
	}
	var all []request.Playbook
	for _, p := range res.GetPlaybooks() {
		all = append(all, request.OfPlaybook(p))
	}
	return all, nil
}

// Playbook reads one in a version, or the one in force when version is empty. The
// errors are ErrNoPlaybook and ErrUnreachable.
func (s *Source) Playbook(ctx context.Context, name, version string) (request.Playbook, error) {
	res, err := s.plans.GetPlaybook(ctx, &plannerv1.GetPlaybookRequest{Name: name, Version: version})
	switch r := reason(err); {
	case err == nil:
	case r != "" && r != fault.PermissionDenied && r != fault.Unavailable:
		return request.Playbook{}, ErrNoPlaybook
	default:
		return request.Playbook{}, s.unreachable(ctx, err)
	}
	p := request.OfPlaybook(res.GetSummary())
	p.Source, p.Steps, p.Problems, p.Versions = res.GetSource(), request.OfSteps(res.GetSteps()), res.GetProblems(), res.GetVersions()
	return p, nil
}
