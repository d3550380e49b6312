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
	// Topic under which the list is kept up to date; empty when it is not.
	Topic string
	// Stale is since when the list could not be read; zero when it could. Unread
	// says that it never could.
	Stale  time.Time
	Unread bool
}

// Detail is the page of one task.
type Detail struct {
	Task  request.Task
	Hops  []request.Hop
	Topic string
	// Missing names services whose calls could not be read.
	Missing []string
	// Absent says that there is no such task; ID then names it.
	Absent bool
	ID     string
	Stale  time.Time
	Unread bool
	// Now is when it was read: what runs has taken until then.
	Now time.Time
}

// Problem is a page that says why there is no other.
type Problem struct{ Title, Text string }

func listPath(s request.State, after string) string {
	q := url.Values{}
	if s != "" {
		q.Set("state", string(s))
	}
	if after != "" {
		q.Set("after", after)
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

func taskPath(id string) string { return "/tasks/" + url.PathEscape(id) }

func listTitle(l List) string {
	title := "Tasks"
	if l.State != "" {
		title = label(l.State) + " tasks"
	}
	return title + " · Sabha"
}

func detailTitle(d Detail) string {
	if d.Absent || d.Unread {
		return "Task · Sabha"
	}
	return label(d.Task.State) + ": " + excerpt(asked(d.Task), 60) + " · Sabha"
}

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
