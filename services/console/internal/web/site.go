// Package web serves the console over HTTP: pages, what is done on them, and a
// stream of events that keeps them up to date.
package web

import (
	"log/slog"
	"net/http"
	"strings"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/partners"
	"sabha.dev/services/console/internal/signin"
)

// Source is where everything is read, and where it is done.
type Source interface {
	Tasks
	Figures
}

// Site is the console as a handler.
type Site struct {
	source Source
	hub    *live.Hub
	hosts  []string
	links  page.Links
	assets map[string]asset
	desk   *desk.Desk
	asked  *desk.Questions
	// partners is nil where there is no partners service.
	partners *partners.Source
	// traceURL is the address of a trace in the store of traces, with {trace_id}.
	traceURL string
	filters  Filters
	clock    clock.Clock
	log      *slog.Logger
	// screens are the pages, by their addresses; a topic is such an address too.
	screens *http.ServeMux
}

// Options of a site.
type Options struct {
	// Hosts are the names beside those of loopback that it answers to.
	Hosts []string
	// TraceURL is the address of a trace in the store of traces, with {trace_id}; empty
	// for none.
	TraceURL string
	// Filters are what people save; nil for none.
	Filters Filters
}

// New makes the site over a source. The error is that of reading an embedded file.
func New(source Source, o Options, c clock.Clock, log *slog.Logger) (*Site, error) {
	s := &Site{source: source, traceURL: o.TraceURL, filters: o.Filters, clock: c, log: log, screens: http.NewServeMux()}
	for _, h := range o.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(h))
	}
	var err error
	if s.assets, s.links, err = assets(); err != nil {
		return nil, err
	}
	s.hub = live.New(s.feed, c)
	s.routes()
	return s, nil
}

// routes are the pages and what is done on them. Each team's are in a function of
// its own.
func (s *Site) routes() {
	s.taskScreens()
	s.figureScreens()
	s.action("POST /theme", s.theme)
	s.screens.HandleFunc("GET /events", s.events)
	s.screens.HandleFunc("GET /static/{name}", s.asset)
	s.screen("GET /", func(*http.Request) page.View {
		return problem(http.StatusNotFound, "There is no such page", "The address may be mistyped.")
	})
}

// Stop ends the streams.
func (s *Site) Stop() { s.hub.Stop() }

// Happened tells that what pages show has changed: wakes are such as in page.View.
func (s *Site) Happened(wakes ...string) { s.hub.Wake(wakes...) }

// Gate lets those who have signed in through to the pages, and puts them into the
// context of their requests (package person). It makes pages of its own, too.
type Gate interface {
	Handler(next http.Handler, pages signin.Pages) http.Handler
}

// Handler serves the site behind a gate.
func (s *Site) Handler(gate Gate) http.Handler {
	return s.guard(compressed(gate.Handler(s.screens, s)))
}

// OpenAccounts keeps the pages of accounts and of one's own up to date, which the gate serves.
func (s *Site) OpenAccounts(all, own func(*http.Request) page.View) {
	s.screen("GET /accounts", all)
	s.screen("GET /account", own)
}

// Show answers with a page. Without a person in the context it has no navigation.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, v page.View) { s.show(w, r, v) }

// Done answers a form: what was done, and where to go on.
func (s *Site) Done(w http.ResponseWriter, r *http.Request, text, next string) {
	s.done(w, r, text, next)
}
