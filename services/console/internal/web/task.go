package web

import (
	"errors"
	"net/http"

	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/page"
)

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
