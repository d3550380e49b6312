// Package page renders what operators see. Fragments and pages are the same
// components, so a page that is brought up to date is one that was just loaded.
package page

import (
	"net/url"
	"time"

	"sabha.dev/services/console/internal/request"
)

// List is the page of tasks.
type List struct {
	Page request.Page
	// State that is shown alone; empty for all.
	State request.State
	// Older says that the list begins after its first page. It is then not kept up to date.
	Older bool
}

// Detail is the page of one task.
type Detail struct {
	Task request.Task
	Hops []request.Hop
	// Missing names services whose calls could not be read.
	Missing []string
	// Now is when it was read: what runs has taken until then.
	Now time.Time
}

func listPath(s request.State, after string) string {
	q := url.Values{}
	if s != "" {
		q.Set("state", string(s))
	}
	if after != "" {
		q.Set("after", after)
	}
	if len(q) == 0 {
		return "/tasks"
	}
	return "/tasks?" + q.Encode()
}

func taskPath(id string) string { return "/tasks/" + url.PathEscape(id) }

// Title of the window.
func (l List) Title() string {
	if l.State != "" {
		return label(l.State) + " tasks"
	}
	return "Tasks"
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
