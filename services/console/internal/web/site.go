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
)

// Site is the console as a handler.
type Site struct {
	source Source
	hub    *live.Hub
	hosts  []string
	links  page.Links
	assets map[string]asset
	desk   *desk.Desk
	asked  *desk.Questions
	clock  clock.Clock
	log    *slog.Logger
	// screens are the pages, by their addresses; a topic is such an address too.
	screens *http.ServeMux
}

// New makes the site over a source. hosts are the names beside those of loopback
// that it answers to. The error is that of reading an embedded file.
func New(source Source, hosts []string, c clock.Clock, log *slog.Logger) (*Site, error) {
	s := &Site{source: source, clock: c, log: log, screens: http.NewServeMux()}
	for _, h := range hosts {
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
	s.screens.HandleFunc("POST /theme", s.theme)
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

// Handler serves the site.
func (s *Site) Handler() http.Handler { return s.guard(compressed(s.screens)) }
