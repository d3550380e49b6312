package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/request"
)

// eventsOnPage is how many events one page has.
const eventsOnPage = 200

func (s *Site) oneTaskScreens() {
	s.screen("GET /tasks/{id}", s.ofTask(s.taskPlan))
	s.screen("GET /tasks/{id}/timeline", s.ofTask(s.taskTimeline))
	s.screen("GET /tasks/{id}/content", s.ofTask(s.taskContent))
	s.screen("GET /tasks/{id}/events", s.ofTask(s.taskEvents))
	s.screens.HandleFunc("GET /tasks/{id}/events.ndjson", s.exportEvents)
	s.screens.HandleFunc("GET /tasks/{id}/files/{part}", s.taskFile)
	s.action("POST /tasks/{id}/cancel", s.cancelTask)
	s.action("POST /tasks/{id}/retry", s.retryStep)
	s.action("POST /tasks/{id}/fork", s.forkPlan)
}

// ofTask is a page of a task: read gives its title and content. What is wrong is
// told the same way on each.
func (s *Site) ofTask(read func(r *http.Request, id string, v *page.View) error) func(*http.Request) page.View {
	return func(r *http.Request) page.View {
		id := r.PathValue("id")
		v := page.View{Title: "Task", Section: page.Tasks, Wakes: []string{"task:" + id}}
		if !taskID.MatchString(id) {
			return noTask(id)
		}
		switch err := read(r, id, &v); {
		case errors.Is(err, oversight.ErrNoTask):
			return noTask(id)
		case err != nil:
			return s.unreadable(v, "The planner", err)
		}
		return v
	}
}

func noTask(id string) page.View {
	v := problem(http.StatusNotFound, "There is no such task", "No request has the id "+id+". Tasks that one agent gives another are shown with the request that they belong to.")
	v.Section = page.Tasks
	return v
}

func (s *Site) taskPlan(r *http.Request, id string, v *page.View) error {
	t, err := s.source.Task(r.Context(), id)
	if err != nil {
		return err
	}
	d := page.Detail{Task: t, Now: s.clock.Now(), TraceURL: s.traceURL}
	v.Title, v.Body = d.Title(), page.TaskPlan(d)
	return nil
}

func (s *Site) taskTimeline(r *http.Request, id string, v *page.View) error {
	t, err := s.source.Task(r.Context(), id)
	if err != nil {
		return err
	}
	d := page.Detail{Task: t, TraceURL: s.traceURL}
	d.Hops, d.Missing = s.source.Hops(r.Context(), id)
	d.Now = s.clock.Now()
	v.Title, v.Body = d.Title(), page.TaskTimeline(d)
	return nil
}

func (s *Site) taskContent(r *http.Request, id string, v *page.View) error {
	t, c, err := s.source.Content(r.Context(), id)
	if err != nil {
		return err
	}
	v.Title, v.Body = page.Detail{Task: t}.Title(), page.TaskContent(t, c, s.traceURL)
	return nil
}

func (s *Site) taskEvents(r *http.Request, id string, v *page.View) error {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64) // the beginning when it is no number
	t, err := s.source.Task(r.Context(), id)
	if err != nil {
		return err
	}
	events, err := s.source.Events(r.Context(), id, max(0, after), eventsOnPage)
	if err != nil {
		return err
	}
	v.Title, v.Body = page.Detail{Task: t}.Title(), page.TaskEvents(page.History{Task: t, Events: events, After: max(0, after), TraceURL: s.traceURL})
	return nil
}

// exportEvents gives all events of a task, one a line (NDJSON).
func (s *Site) exportEvents(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !taskID.MatchString(id) {
		s.show(w, r, noTask(id))
		return
	}
	var lines []byte
	for after := int64(0); ; {
		events, err := s.source.Events(r.Context(), id, after, 1000)
		if err != nil {
			s.unreadFile(w, r, id, err)
			return
		}
		for _, e := range events.List {
			line, err := json.Marshal(map[string]any{"version": e.Version, "at": e.At, "event": e.Raw})
			if err != nil {
				continue // Raw is JSON that was made here
			}
			lines = append(append(lines, line...), '\n')
			after = e.Version
		}
		if !events.More || len(events.List) == 0 {
			break
		}
	}
	s.file(w, "application/x-ndjson", "events-"+id+".ndjson", lines)
}

func (s *Site) unreadFile(w http.ResponseWriter, r *http.Request, id string, err error) {
	if errors.Is(err, oversight.ErrNoTask) {
		s.show(w, r, noTask(id))
		return
	}
	s.show(w, r, s.unreadable(page.View{Title: "Task", Section: page.Tasks, Still: true}, "The planner", err))
}

// taskFile gives a file of a message or an artifact: as a download of no type that
// a browser would run, or, when it is a picture and is asked to be shown, as one.
func (s *Site) taskFile(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	var kind string
	var n, i int
	if _, err := fmt.Sscanf(strings.ReplaceAll(r.PathValue("part"), "-", " "), "%s %d %d", &kind, &n, &i); err != nil || !taskID.MatchString(id) {
		s.show(w, r, noTask(id))
		return
	}
	_, c, err := s.source.Content(r.Context(), id)
	if err != nil {
		s.unreadFile(w, r, id, err)
		return
	}
	p, ok := part(c, kind, n, i)
	if !ok {
		s.show(w, r, problem(http.StatusNotFound, "There is no such file", "The task has changed, or the address is mistyped."))
		return
	}
	if p.Image != "" && r.URL.Query().Get("show") != "" {
		w.Header().Set("Content-Type", p.Image)
		w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(p.File)
		return
	}
	name := p.Name
	if name == "" {
		name = "file"
	}
	s.file(w, "application/octet-stream", name, p.File)
}

// part finds a file in the content of a task.
func part(c request.Content, kind string, n, i int) (request.Part, bool) {
	var parts []request.Part
	switch {
	case kind == "m" && n >= 0 && n < len(c.Messages):
		parts = c.Messages[n].Parts
	case kind == "a" && n >= 0 && n < len(c.Artifacts):
		parts = c.Artifacts[n].Parts
	}
	if i < 0 || i >= len(parts) || parts[i].File == nil {
		return request.Part{}, false
	}
	return parts[i], true
}

func (s *Site) cancelTask(w http.ResponseWriter, r *http.Request) {
	r.PostForm["id"] = []string{r.PathValue("id")}
	s.cancelTasks(w, r)
}

func (s *Site) retryStep(w http.ResponseWriter, r *http.Request) {
	id, step := r.PathValue("id"), r.PostFormValue("step")
	if err := s.source.Retry(r.Context(), id, step); err != nil {
		s.refused(w, r, err, "/tasks/"+id)
		return
	}
	s.Happened("tasks", "task:"+id)
	s.done(w, r, "Step "+step+" is tried again now.", "/tasks/"+id)
}

func (s *Site) forkPlan(w http.ResponseWriter, r *http.Request) {
	id, step := r.PathValue("id"), r.PostFormValue("step")
	fork, err := s.source.Fork(r.Context(), id, step)
	if err != nil {
		s.refused(w, r, err, "/tasks/"+id)
		return
	}
	s.Happened("tasks")
	s.done(w, r, "This request runs again from "+step+" on.", "/tasks/"+fork)
}
