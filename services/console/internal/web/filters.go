package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/filter"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/query"
)

// Filters are where people keep searches. Errors are those of package filter.
type Filters interface {
	Filters(ctx context.Context, p identity.Principal, page string) ([]filter.Filter, error)
	SaveFilter(ctx context.Context, f filter.Filter) error
	DeleteFilter(ctx context.Context, p identity.Principal, id string) error
}

// tasksPage names the page that filters of tasks are of.
const tasksPage = "tasks"

// saved are the filters of whoever looks, and whether they may save more. Without
// them the page is as good.
func (s *Site) saved(r *http.Request) ([]page.Saved, bool) {
	p, ok := person.Of(r.Context())
	if !ok || s.filters == nil {
		return nil, false
	}
	list, err := s.filters.Filters(r.Context(), p.Principal, tasksPage)
	if err != nil {
		s.log.Warn("saved filters cannot be read", "error", err)
	}
	var all []page.Saved
	for _, f := range list {
		all = append(all, page.Saved{ID: f.ID, Name: f.Name, Query: f.Query, Shared: f.Shared, Mine: f.Owner.Key() == p.Key()})
	}
	return all, true
}

func (s *Site) saveFilter(w http.ResponseWriter, r *http.Request) {
	p, ok := person.Of(r.Context())
	if !ok || s.filters == nil {
		s.invalid(w, r, "Sign in to save searches.", "/tasks")
		return
	}
	text := strings.TrimSpace(r.PostFormValue("q"))
	if q, err := query.Parse(text); err != nil || q.String() == "" {
		s.invalid(w, r, "Search for something first; what cannot be read cannot be saved.", back(r))
		return
	}
	f := filter.Filter{Owner: p.Principal, Page: tasksPage, Name: strings.TrimSpace(r.PostFormValue("name")), Query: text, Shared: r.PostFormValue("shared") != "", Created: s.clock.Now()}
	if err := s.filters.SaveFilter(r.Context(), f); err != nil {
		s.filterFailed(w, r, err, back(r))
		return
	}
	s.Happened("tasks")
	s.done(w, r, "Saved as "+f.Name+".", back(r))
}

func (s *Site) deleteFilter(w http.ResponseWriter, r *http.Request) {
	p, ok := person.Of(r.Context())
	if !ok || s.filters == nil {
		s.invalid(w, r, "Sign in to delete searches.", "/tasks")
		return
	}
	if err := s.filters.DeleteFilter(r.Context(), p.Principal, r.PathValue("id")); err != nil {
		s.filterFailed(w, r, err, back(r))
		return
	}
	s.Happened("tasks")
	s.done(w, r, "Deleted.", back(r))
}

func (s *Site) filterFailed(w http.ResponseWriter, r *http.Request, err error, at string) {
	switch {
	case errors.Is(err, filter.ErrBad):
		s.invalid(w, r, sentence(err), at)
	case errors.Is(err, filter.ErrNone):
		s.invalid(w, r, "There is no such filter any more.", at)
	default:
		s.log.Error("filters cannot be changed", "error", err)
		s.invalid(w, r, "The filter could not be saved; the reason is in the console's log.", at)
	}
}

// sentence is an error that was written for people.
func sentence(err error) string {
	text := err.Error()
	if i := strings.Index(text, filter.ErrBad.Error()); i >= 0 {
		text = text[i:]
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
