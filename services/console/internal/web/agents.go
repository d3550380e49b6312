package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/console/internal/agents"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/request"
)

// maxSent bounds what is sent from the playground with its files, bytes.
const maxSent = 8 << 20

// Agents are those of the platform.
type Agents interface {
	Tenants() []string
	All(ctx context.Context) []agents.Agent
	Send(ctx context.Context, tenant string, m *a2apb.Message, told func(*a2apb.StreamResponse) error) error
}

// front is the agent that requests are for when none is named.
const front = "planner"

// OpenAgents serves the pages of agents.
func (s *Site) OpenAgents(a Agents) {
	s.screen("GET /agents", func(r *http.Request) page.View { return s.agentList(r, a) })
	s.screen("GET /playground", func(r *http.Request) page.View { return s.playground(r, a) })
	s.screens.HandleFunc("POST /playground/send", func(w http.ResponseWriter, r *http.Request) { s.send(w, r, a) })
}

// agentList shows the agents with how they fare. What cannot be read of that is named.
func (s *Site) agentList(r *http.Request, a Agents) page.View {
	ctx := r.Context()
	v := page.View{Title: "Agents", Section: page.Agents, Wakes: []string{"tasks"}}
	var (
		d                          page.AgentDesk
		wg                         sync.WaitGroup
		noFigures, noBooks, noNear error
	)
	wg.Go(func() { d.All = a.All(ctx) })
	wg.Go(func() { d.Figures, noFigures = s.source.Figures(ctx, page.Hour) })
	wg.Go(func() {
		var all []request.Playbook
		all, noBooks = s.source.Playbooks(ctx)
		for _, p := range all {
			d.Budgets = append(d.Budgets, p.Budgets...)
		}
	})
	if s.partners != nil {
		v.Wakes = append(v.Wakes, wakePartners)
		wg.Go(func() { d.Partners, d.Elsewhere, noNear = s.partners.Neighbours(ctx) })
	}
	wg.Wait()
	for _, one := range []struct {
		what string
		err  error
	}{{"how calls fared", noFigures}, {"budgets of playbooks", noBooks}, {"partners", noNear}} {
		if one.err != nil {
			d.Unknown = append(d.Unknown, one.what)
			s.log.Info("agents are shown without all that is known of them", "what", one.what, "error", one.err)
		}
	}
	d.Figures.Span = page.Hour
	v.Body = page.AgentList(d)
	return v
}

func (s *Site) playground(r *http.Request, a Agents) page.View {
	q := r.URL.Query()
	t := page.Trial{Agents: a.Tenants(), Agent: q.Get("agent"), Skill: q.Get("skill"), Playbook: q.Get("playbook")}
	if !slices.Contains(t.Agents, t.Agent) {
		t.Agent = front
	}
	for _, one := range a.All(r.Context()) {
		if one.Tenant == t.Agent && one.Card != nil {
			t.Card = &one
		}
	}
	if t.Agent == front {
		all, err := s.source.Playbooks(r.Context())
		if err != nil {
			s.log.Info("playbooks cannot be offered in the playground", "error", err)
		}
		for _, p := range all {
			t.Playbooks = append(t.Playbooks, p.Name)
		}
	}
	return page.View{Title: "Playground", Section: page.Playground, Body: page.PlaygroundPage(t), Still: true, Wide: true}
}

// said is an event of an answer as the script shows it.
type said struct {
	// Kind is task, status, artifact, message or error.
	Kind  string        `json:"kind"`
	State request.State `json:"state,omitempty"`
	Text  string        `json:"text,omitempty"`
	Task  string        `json:"task,omitempty"`
	// Context continues the conversation.
	Context string          `json:"context,omitempty"`
	Raw     json.RawMessage `json:"raw,omitempty"`
}

// send sends what was written and answers with the events that come back, one a
// line, as they come.
func (s *Site) send(w http.ResponseWriter, r *http.Request, a Agents) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSent)
	rc := http.NewResponseController(w)
	begun := false
	write := func(e said) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Accel-Buffering", "no")
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if err := rc.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil { // of the machine: a connection's deadline knows no other
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
		return rc.Flush()
	}
	req, err := sent(r)
	var m *a2apb.Message
	if err == nil {
		m, err = req.Message("console-" + rand.Text())
	}
	if err != nil {
		_ = write(said{Kind: "error", Text: "Not sent: " + err.Error() + "."})
		return
	}
	err = a.Send(r.Context(), req.Tenant, m, func(e *a2apb.StreamResponse) error { return write(heard(e)) })
	if err == nil || r.Context().Err() != nil {
		return
	}
	text := "The agent gave no answer. Try again."
	switch f := fault.FromStatus(err); {
	case errors.Is(err, agents.ErrNoAgent):
		text = "There is no such agent."
	case f != nil && f.Reason != "":
		text = f.Message
		for _, field := range f.Fields {
			text += " " + field.Path + ": " + field.Problem + "."
		}
	default:
		s.log.Warn("a message could not be sent", "agent", req.Tenant, "error", err)
	}
	_ = write(said{Kind: "error", Text: text})
}

// sent reads the form of the playground. The error is for who filled it in.
func sent(r *http.Request) (agents.Request, error) {
	if err := r.ParseMultipartForm(maxSent); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return agents.Request{}, errors.New("it is too long; send less than 8 MB with all files")
	}
	req := agents.Request{
		Tenant: r.PostFormValue("agent"), Skill: r.PostFormValue("skill"), Playbook: r.PostFormValue("playbook"), Text: strings.TrimSpace(r.PostFormValue("text")),
		Data: strings.TrimSpace(r.PostFormValue("data")), Metadata: strings.TrimSpace(r.PostFormValue("metadata")),
		ContextID: r.PostFormValue("context"), TaskID: r.PostFormValue("task"),
	}
	if r.MultipartForm == nil {
		return req, nil
	}
	for _, h := range r.MultipartForm.File["file"] {
		if h.Size == 0 && h.Filename == "" {
			continue
		}
		body, err := content(h)
		if err != nil {
			return agents.Request{}, errors.New("a file could not be read; attach it again")
		}
		req.Files = append(req.Files, agents.File{Name: h.Filename, Type: h.Header.Get("Content-Type"), Body: body})
	}
	return req, nil
}

func content(h *multipart.FileHeader) ([]byte, error) {
	f, err := h.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

// heard is an event in short and whole.
func heard(e *a2apb.StreamResponse) said {
	one := request.OfResponse(e)
	h := said{Kind: one.Kind, State: one.State, Text: one.Text, Raw: one.Raw}
	switch p := e.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		h.Task, h.Context = p.Task.GetId(), p.Task.GetContextId()
	case *a2apb.StreamResponse_StatusUpdate:
		h.Task, h.Context = p.StatusUpdate.GetTaskId(), p.StatusUpdate.GetContextId()
	case *a2apb.StreamResponse_ArtifactUpdate:
		h.Task, h.Context = p.ArtifactUpdate.GetTaskId(), p.ArtifactUpdate.GetContextId()
	case *a2apb.StreamResponse_Message:
		h.Context = p.Message.GetContextId()
	}
	return h
}
