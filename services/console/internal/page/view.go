// Package page renders what people see. What is kept up to date of a page and the
// page are the same components, so one that is brought up to date is one that was
// just loaded.
package page

import (
	"net/url"
	"time"

	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

// List is the page of tasks.
type List struct {
	Page request.Page
	// Query that is shown; Text as it was written, and Fault what is wrong with it.
	Query query.Query
	Text  string
	Fault *query.Error
	// After is where the list begins; empty for its beginning.
	After string
	// Saved filters, and whether this one may be saved.
	Saved   []Saved
	MaySave bool
}

// Saved is a filter that was kept.
type Saved struct {
	ID, Name, Query string
	// Shared filters are those of everybody; Mine may be deleted.
	Shared, Mine bool
}

// Title of the window.
func (l List) Title() string {
	if len(l.Query.States) == 1 {
		return label(l.Query.States[0]) + " tasks"
	}
	return "Tasks"
}

// path of the list with another query.
func (l List) path(q query.Query) string { return tasksPath(q.String(), "") }

// only tells whether the list shows exactly these states.
func (l List) only(states ...request.State) bool {
	if len(l.Query.States) != len(states) {
		return false
	}
	for i, s := range states {
		if l.Query.States[i] != s {
			return false
		}
	}
	return true
}

func tasksPath(q, after string) string { return address("/tasks", "q", q, "after", after) }

// address is a path with those parameters that are not empty.
func address(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func taskPath(id string) string { return "/tasks/" + url.PathEscape(id) }

// Detail is what the pages of one task show.
type Detail struct {
	Task request.Task
	Hops []request.Hop
	// Missing names services whose calls could not be read.
	Missing []string
	// TraceURL of the store of traces, with {trace_id}; empty for none.
	TraceURL string
	// Now is when it was read: what runs has taken until then.
	Now time.Time
}

// Title of the window.
func (d Detail) Title() string { return label(d.Task.State) + ": " + excerpt(asked(d.Task), 60) }

// bounds of the calls of a request, for their bars.
func (d Detail) bounds() (first, last time.Time) {
	for i, h := range d.Hops {
		if i == 0 || h.Started.Before(first) {
			first = h.Started
		}
		if end := h.Started.Add(h.Took(d.Now)); end.After(last) {
			last = end
		}
	}
	return first, last
}
