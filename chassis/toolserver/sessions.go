package toolserver

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/clock"
)

// Sessions are those of clients of versions before 2026-07-28, within which they can be
// asked, told of progress and cancel.
//
// A session lives in one replica, whose mark its id begins with. A request for a
// session of another replica is served by itself: its client can do all but what
// needs the session.
type Sessions struct {
	idle  time.Duration
	most  int
	holds func(*http.Request) bool
	clock clock.Clock
	mark  string

	mu   sync.Mutex
	seen map[string]time.Time // by id, when the last request came in
}

// NewSessions makes room for so many sessions, each of which ends when no request has
// come in for so long. Clients beyond them, and those of requests that may hold none,
// are served without.
func NewSessions(most int, idle time.Duration, holds func(*http.Request) bool, c clock.Clock) *Sessions {
	return &Sessions{idle: idle, most: most, holds: holds, clock: c, mark: rand.Text()[:8] + "-", seen: map[string]time.Time{}}
}

// NewID is the id of a session that begins (mcp.ServerOptions.GetSessionID).
func (s *Sessions) NewID() string { return s.mark + rand.Text() }

// own tells whether a session is, or was, one of this replica.
func (s *Sessions) own(id string) bool { return s != nil && strings.HasPrefix(id, s.mark) }

// takes tells whether a request is served within a session.
func (s *Sessions) takes(m message, r *http.Request) bool {
	if id := r.Header.Get(sessionHeader); id != "" || s == nil {
		return s.own(id)
	}
	return m.Method == "initialize" && s.holds(r) && s.room()
}

// room tells whether one more session may be held.
func (s *Sessions) room() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) < s.most {
		return true
	}
	over := s.clock.Now().Add(-s.idle)
	for id, at := range s.seen {
		if at.Before(over) {
			delete(s.seen, id)
		}
	}
	return len(s.seen) < s.most
}

// note keeps when a session was last used; one that its client has ended is forgotten.
func (s *Sessions) note(id string, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended {
		delete(s.seen, id)
	} else {
		s.seen[id] = s.clock.Now()
	}
}

// handler serves within sessions.
func (s *Sessions) handler(server func(*http.Request) *mcp.Server, maxBody int64, log *slog.Logger) http.Handler {
	sdk := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Logger: log, MaxRequestBodyBytes: maxBody, SessionTimeout: s.idle, DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sdk.ServeHTTP(w, r)
		// The id is in the answer to initialize, and in every request after it.
		if id := w.Header().Get(sessionHeader); id != "" {
			s.note(id, false)
		} else if id := r.Header.Get(sessionHeader); r.Method == http.MethodDelete {
			s.note(id, true)
		} else if s.known(id) {
			s.note(id, false)
		}
	})
}

func (s *Sessions) known(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.seen[id]
	return ok
}
