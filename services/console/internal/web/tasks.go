package web

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/request"
)

// Source is where requests are read. Its errors are those of package oversight.
type Source interface {
	List(ctx context.Context, state request.State, after string) (request.Page, error)
	Task(ctx context.Context, id string) (t request.Task, hops []request.Hop, missing []string, err error)
}

// taskID is what an id may look like.
var taskID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func (s *Site) taskScreens() {
	s.screen("GET /{$}", s.list)
	s.screen("GET /tasks", s.list)
	s.screen("GET /tasks/{id}", s.task)
}

func (s *Site) list(r *http.Request) page.View {
	q := r.URL.Query()
	v := page.View{Section: page.Tasks, Wakes: []string{"tasks"}}
	var state request.State
	if name := q.Get("state"); name != "" {
		var ok bool
		if state, ok = request.ParseState(name); !ok {
			return problem(http.StatusBadRequest, "There is no such state", "Choose one of: "+stateNames()+".")
		}
	}
	l := page.List{State: state, Older: q.Get("after") != ""}
	v.Title, v.Still = l.Title(), l.Older
	var err error
	switch l.Page, err = s.source.List(r.Context(), state, q.Get("after")); {
	case errors.Is(err, oversight.ErrBadPage):
		return problem(http.StatusBadRequest, "The list does not continue here", "The task at which it should has gone. Begin with the newest.")
	case err != nil:
		v.Unread = "The planner"
	default:
		v.Body = page.TaskList(l)
	}
	return v
}

func stateNames() string {
	names := make([]string, len(request.States))
	for i, s := range request.States {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func (s *Site) task(r *http.Request) page.View {
	id := r.PathValue("id")
	v := page.View{Title: "Task", Section: page.Tasks, Wakes: []string{"task:" + id}}
	absent := problem(http.StatusNotFound, "There is no such task", "No request has the id "+id+". Tasks that one agent gives another are shown with the request that they belong to.")
	absent.Section = page.Tasks
	if !taskID.MatchString(id) {
		return absent
	}
	d := page.Detail{}
	var err error
	switch d.Task, d.Hops, d.Missing, err = s.source.Task(r.Context(), id); {
	case errors.Is(err, oversight.ErrNoTask):
		return absent
	case err != nil:
		v.Unread = "The planner"
	default:
		d.Now = s.clock.Now()
		v.Title, v.Body = d.Title(), page.TaskDetail(d)
	}
	return v
}
