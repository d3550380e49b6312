package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"sabha.dev/services/console/internal/export"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

// Tasks are where requests are read and canceled. Errors are those of package
// oversight, or of the service behind it.
type Tasks interface {
	List(ctx context.Context, q query.Query, after string) (request.Page, error)
	Task(ctx context.Context, id string) (request.Task, error)
	Hops(ctx context.Context, id string) (hops []request.Hop, missing []string)
	Content(ctx context.Context, id string) (request.Task, request.Content, error)
	Events(ctx context.Context, id string, after int64, most int) (request.Events, error)
	Cancel(ctx context.Context, ids []string, reason string) ([]request.Outcome, error)
	Retry(ctx context.Context, id, step string) error
	Fork(ctx context.Context, id, step string) (string, error)
}

// taskID is what an id may look like.
var taskID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// maxExport is how many tasks a file has at most.
const maxExport = 5000

func (s *Site) taskScreens() {
	s.screen("GET /tasks", s.list)
	s.oneTaskScreens()
	s.screens.HandleFunc("GET /tasks.csv", s.exportTasks)
	s.action("POST /tasks/cancel", s.cancelTasks)
	s.action("POST /tasks/filters", s.saveFilter)
	s.action("POST /tasks/filters/{id}/delete", s.deleteFilter)
}

func (s *Site) list(r *http.Request) page.View {
	form := r.URL.Query()
	l := page.List{Text: strings.TrimSpace(form.Get("q")), After: form.Get("after")}
	v := page.View{Section: page.Tasks, Wakes: []string{"tasks"}}
	var err error
	if l.Query, err = query.Parse(l.Text); err != nil {
		errors.As(err, &l.Fault)
		v.Title, v.Status, v.Still, v.Body = "Tasks", http.StatusBadRequest, true, page.TaskList(l)
		return v
	}
	v.Title = l.Title()
	l.Saved, l.MaySave = s.saved(r)
	switch l.Page, err = s.source.List(r.Context(), l.Query, l.After); {
	case errors.Is(err, oversight.ErrBadPage):
		return problem(http.StatusBadRequest, "The list does not continue here", "The task at which it should has gone. Begin with the newest.")
	case err != nil:
		return s.unreadable(v, "The planner", err)
	default:
		v.Body = page.TaskList(l)
	}
	return v
}

// exportTasks gives what a query takes as a file.
func (s *Site) exportTasks(w http.ResponseWriter, r *http.Request) {
	q, err := query.Parse(r.URL.Query().Get("q"))
	if err != nil {
		s.show(w, r, problem(http.StatusBadRequest, "The query cannot be read", err.Error()))
		return
	}
	rows := [][]string{{"task", "state", "request", "note", "playbook", "version", "asked by", "caller", "context", "trace", "began", "changed"}}
	for after := ""; len(rows) <= maxExport; {
		p, err := s.source.List(r.Context(), q, after)
		if err != nil {
			s.show(w, r, s.unreadable(page.View{Title: "Tasks", Section: page.Tasks, Still: true}, "The planner", err))
			return
		}
		for _, t := range p.Tasks {
			rows = append(rows, []string{
				t.ID, string(t.State), t.Text, t.Note, t.Plan.Playbook, t.Plan.Version, t.Who, t.Caller, t.ContextID, t.TraceID,
				t.Created.Format(time.RFC3339), t.Changed.Format(time.RFC3339),
			})
		}
		if after = p.Next; after == "" {
			break
		}
	}
	var b bytes.Buffer
	if err := export.CSV(&b, rows); err != nil {
		s.log.Error("tasks were not exported", "error", err)
		http.Error(w, "The file could not be made; the reason is in the console's log.", http.StatusInternalServerError)
		return
	}
	s.file(w, "text/csv; charset=utf-8", "tasks.csv", b.Bytes())
}

// cancelTasks cancels what was selected.
func (s *Site) cancelTasks(w http.ResponseWriter, r *http.Request) {
	ids, reason := r.PostForm["id"], strings.TrimSpace(r.PostFormValue("reason"))
	switch {
	case len(ids) == 0:
		s.invalid(w, r, "Select a task first.", back(r))
		return
	case len(ids) > 200:
		s.invalid(w, r, "At most 200 tasks can be canceled at once.", back(r))
		return
	case reason == "":
		s.invalid(w, r, "Say why; the reason is recorded.", back(r))
		return
	}
	outcomes, err := s.source.Cancel(r.Context(), ids, reason)
	if err != nil {
		s.refused(w, r, err, back(r))
		return
	}
	wakes := []string{"tasks"}
	for _, id := range ids {
		wakes = append(wakes, "task:"+id)
	}
	s.Happened(wakes...)
	text, ok := canceled(outcomes)
	if !ok {
		s.invalid(w, r, text, back(r))
		return
	}
	s.done(w, r, text, back(r))
}

// canceled says what came of a cancel, and whether all of it did.
func canceled(outcomes []request.Outcome) (string, bool) {
	count := map[request.State]int{}
	var errs []string
	for _, o := range outcomes {
		if o.Error != "" {
			errs = append(errs, o.TaskID+": "+o.Error)
			continue
		}
		count[o.State]++
	}
	done, going := count[request.Canceled], 0
	for _, n := range count {
		going += n
	}
	going -= done
	var parts []string
	if done > 0 {
		parts = append(parts, plural(done, "task")+" canceled.")
	}
	if going > 0 {
		parts = append(parts, plural(going, "task")+" being canceled: what was done is undone first.")
	}
	if len(errs) > 0 {
		parts = append(parts, plural(len(errs), "task")+" not canceled. "+strings.Join(errs[:min(len(errs), 3)], " "))
	}
	return strings.Join(parts, " "), len(errs) == 0
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
