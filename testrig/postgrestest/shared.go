package postgrestest

import (
	"errors"
	"sync"
	"testing"

	"sabha.dev/testrig/leftout"
)

// Shared is a server that starts when the first test asks for a database. The
// zero value is ready; TestMain closes it after the tests.
type Shared struct {
	start  sync.Once
	server *Server
	err    error
}

// Server is the running server. Where PostgreSQL is missing the test is left
// out, or fails with CI=true.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	s.start.Do(func() { s.server, s.err = Run() })
	if errors.Is(s.err, ErrMissing) {
		leftout.Because(tb, s.err.Error())
	}
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.server
}

// URL is the address of a new, empty database. Where PostgreSQL is missing the
// test is left out, or fails with CI=true.
func (s *Shared) URL(tb testing.TB) string {
	tb.Helper()
	url, err := s.Server(tb).Database(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return url
}

// Close stops the server and removes its files, if a test ever started it.
func (s *Shared) Close() error {
	s.start.Do(func() { s.err = errors.New("the shared PostgreSQL server is closed") })
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}
