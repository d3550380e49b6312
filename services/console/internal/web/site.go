// Package web serves the console over HTTP: pages, and a stream of events that
// keeps them up to date.
package web

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/request"
)

// Source is where requests are read. Its errors are those of package oversight.
type Source interface {
	List(ctx context.Context, state request.State, after string) (request.Page, error)
	Task(ctx context.Context, id string) (t request.Task, hops []request.Hop, missing []string, err error)
}

// Site is the console as a handler.
type Site struct {
	source Source
	hub    *live.Hub
	hosts  []string
	links  page.Links
	assets fs.FS
	clock  clock.Clock
	log    *slog.Logger
}

// New makes the site over a source. hosts are the names beside those of loopback
// that it answers to. The error is that of reading an embedded file.
func New(source Source, hosts []string, c clock.Clock, log *slog.Logger) (*Site, error) {
	s := &Site{source: source, assets: page.Assets(), clock: c, log: log}
	for _, h := range hosts {
		s.hosts = append(s.hosts, strings.ToLower(h))
	}
	var err error
	if s.links, err = page.LinksOf(s.assets); err != nil {
		return nil, err
	}
	s.hub = live.New(s.feed, c)
	return s, nil
}

// Stop ends the streams.
func (s *Site) Stop() { s.hub.Stop() }

// Handler serves the site.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /tasks/{id}", s.task)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /static/{name}", s.asset)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, http.StatusNotFound, "There is no such page", "The address may be mistyped.")
	})
	return s.guard(mux)
}

func (s *Site) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var state request.State
	if name := q.Get("state"); name != "" {
		var ok bool
		if state, ok = request.ParseState(name); !ok {
			s.problem(w, r, http.StatusBadRequest, "There is no such state", "Choose one of: "+stateNames()+".")
			return
		}
	}
	l, err := s.readList(r.Context(), state, q.Get("after"))
	if err != nil {
		s.problem(w, r, http.StatusBadRequest, "The list does not continue here", "The task at which it should has gone. Begin with the newest.")
		return
	}
	status := http.StatusOK
	if l.Unread {
		status = http.StatusServiceUnavailable
	}
	s.write(w, r, status, page.ListPage(s.links, l))
}

func stateNames() string {
	names := make([]string, len(request.States))
	for i, s := range request.States {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func (s *Site) task(w http.ResponseWriter, r *http.Request) {
	d := s.readDetail(r.Context(), r.PathValue("id"))
	status := http.StatusOK
	switch {
	case d.Absent:
		status = http.StatusNotFound
	case d.Unread:
		status = http.StatusServiceUnavailable
	}
	s.write(w, r, status, page.DetailPage(s.links, d))
}

// asset serves the style sheet and the script. Their addresses change with their
// content, so browsers need not ask again.
func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, s.assets, r.PathValue("name"))
}

func (s *Site) problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	s.write(w, r, status, page.ProblemPage(s.links, page.Problem{Title: title, Text: text}))
}

// write answers with a page that has been rendered as a whole, so that none is
// cut off in the middle.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		s.log.Error("page was not rendered", "path", r.URL.Path, "error", err)
		http.Error(w, "The page could not be made; the reason is in the console's log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
