package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

// Figures are where operators see how the platform fares. Errors are those of
// package oversight.
type Figures interface {
	Figures(ctx context.Context, span time.Duration) (request.Figures, error)
	Playbooks(ctx context.Context) ([]request.Playbook, error)
	Playbook(ctx context.Context, name, version string) (request.Playbook, error)
}

// few is how many tasks stand on a page that is about something else.
const few = 8

// slow is how old a running request is when it is called stuck.
const slow = 15 * time.Minute

func (s *Site) figureScreens() {
	s.screen("GET /{$}", s.dashboard)
	s.screen("GET /playbooks", s.playbooks)
	s.screen("GET /playbooks/{name}", s.playbook)
}

func (s *Site) dashboard(r *http.Request) page.View {
	ctx := r.Context()
	if p, ok := person.Of(ctx); ok && !p.Oversees() {
		return page.View{Elsewhere: "/review", Still: true}
	}
	v := page.View{Title: "Dashboard", Section: page.Dashboard, Wakes: []string{"tasks"}}
	var (
		o          page.Overview
		retried    request.Page
		wg         sync.WaitGroup
		unread     [3]error
		overviewOf = func(i int, p *request.Page, q query.Query) {
			wg.Go(func() { *p, unread[i] = s.source.List(ctx, q, "") })
		}
	)
	overviewOf(0, &o.People, query.Query{States: []request.State{request.InputRequired, request.AuthRequired}})
	overviewOf(1, &o.Stuck, query.Query{States: []request.State{request.Submitted, request.Working}, Older: slow})
	overviewOf(2, &retried, query.Query{Retrying: true})
	wg.Go(func() {
		if o.Reviews = s.waiting(ctx); o.Reviews != nil {
			o.Levels = s.levels(ctx)
		}
	})
	if s.desk != nil {
		v.Wakes = append(v.Wakes, wakeReviews)
	}
	if s.partners != nil {
		v.Wakes = append(v.Wakes, wakePartners)
		wg.Go(func() { o.Partners, o.MorePartners = s.partners.Needs(ctx) })
		wg.Go(func() {
			var err error
			if o.Neighbours, _, err = s.partners.Neighbours(ctx); err != nil {
				s.log.Info("the dashboard does not show how partners stand", "error", err)
			}
		})
	}
	var err error
	o.Figures, err = s.source.Figures(ctx, page.SpanOf(r.URL.Query().Get("span")))
	wg.Wait()
	if err := errors.Join(err, unread[0], unread[1], unread[2]); err != nil {
		return s.unreadable(v, "The planner", err)
	}
	o.People = first(o.People)
	o.Stuck = first(merged(retried, o.Stuck))
	v.Body = page.DashboardPage(o)
	return v
}

// merged puts pages one behind the other; a task stands once.
func merged(a, b request.Page) request.Page {
	seen := map[string]bool{}
	p := request.Page{Next: a.Next + b.Next}
	for _, t := range append(a.Tasks, b.Tasks...) {
		if !seen[t.ID] {
			p.Tasks = append(p.Tasks, t)
		}
		seen[t.ID] = true
	}
	return p
}

// first keeps a few tasks; Next says that there are more.
func first(p request.Page) request.Page {
	if len(p.Tasks) > few {
		p.Tasks, p.Next = p.Tasks[:few], "more"
	}
	return p
}

func (s *Site) playbooks(r *http.Request) page.View {
	v := page.View{Title: "Playbooks", Section: page.Playbooks, Wakes: []string{"tasks"}}
	all, err := s.source.Playbooks(r.Context())
	if err != nil {
		return s.unreadable(v, "The planner", err)
	}
	v.Body = page.PlaybookList(all)
	return v
}

func (s *Site) playbook(r *http.Request) page.View {
	name := r.PathValue("name")
	v := page.View{Title: name, Section: page.Playbooks, Wakes: []string{"tasks"}}
	p, err := s.source.Playbook(r.Context(), name, r.URL.Query().Get("version"))
	if errors.Is(err, oversight.ErrNoPlaybook) {
		absent := problem(http.StatusNotFound, "There is no such playbook", "None in force has this name, and no request has followed it in this version.")
		absent.Section = page.Playbooks
		return absent
	}
	if err != nil {
		return s.unreadable(v, "The planner", err)
	}
	runs, err := s.source.List(r.Context(), query.Query{Playbook: name}, "")
	if err != nil {
		return s.unreadable(v, "The planner", err)
	}
	v.Body = page.PlaybookPage(p, first(runs))
	return v
}

// waiting counts the reviews that wait; nil when the review service is not there or
// gives no answer.
func (s *Site) waiting(ctx context.Context) *page.Reviews {
	if s.desk == nil {
		return nil
	}
	res, err := s.desk.Client().ListItems(ctx, &reviewv1.ListItemsRequest{PageSize: 1})
	if err != nil {
		return nil
	}
	return &page.Reviews{Open: res.GetOpen(), Unassigned: res.GetUnassigned(), Mine: res.GetMine(), Overdue: res.GetOverdue()}
}

// levels are how many reviews of each queue were decided in time. What cannot be read is
// left out, as in waiting.
func (s *Site) levels(ctx context.Context) []page.Level {
	var all []page.Level
	for _, span := range []time.Duration{page.Week, page.Day} {
		res, err := s.desk.Client().ListQueues(ctx, &reviewv1.ListQueuesRequest{Seconds: int64(span / time.Second)})
		if err != nil {
			return nil
		}
		for _, q := range res.GetQueues() {
			counts := page.InTime{Ended: q.GetEnded(), InTime: q.GetInTime()}
			if span == page.Week && counts.Ended > 0 {
				all = append(all, page.Level{Queue: cmp.Or(q.GetTitle(), q.GetName()), Name: q.GetName(), Week: counts})
			}
			for n := range all {
				if span == page.Day && all[n].Name == q.GetName() {
					all[n].Day = counts
				}
			}
		}
	}
	return all
}
