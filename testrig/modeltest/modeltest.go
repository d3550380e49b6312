// Package modeltest is an OpenAI-compatible chat-completions server that answers
// from a script, so that tests with a model are exact and need no network.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// maxBody bounds a request body in bytes; no test sends a model more.
const maxBody = 16 << 20

// Server answers POST {URL}/chat/completions, as one JSON document or as a
// stream of chunks, whichever the request asks for.
type Server struct {
	http   *httptest.Server
	script Script
	ended  chan struct{} // closed when the test has ended

	mu       sync.Mutex
	requests []Request
}

// New starts a server that answers from the script. It ends with the test.
func New(tb testing.TB, script Script) *Server {
	tb.Helper()
	s := &Server{script: script, ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, fmt.Sprintf("%s %s is not served; only POST /v1/chat/completions is", r.Method, r.URL.Path))
	})
	s.http = httptest.NewServer(mux)
	tb.Cleanup(s.http.Close)
	tb.Cleanup(func() { close(s.ended) }) // first, so that held requests let Close return
	return s
}

// URL is the base address that a client is configured with; it ends in /v1.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Requests returns what has been asked so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	request, err := decode(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	request.Authorization = r.Header.Get("Authorization")
	// One at a time, so that a script sees requests in the order of Requests.
	s.mu.Lock()
	s.requests = append(s.requests, request)
	reply := s.script(request)
	s.mu.Unlock()

	switch {
	case reply.Hang:
		select {
		case <-r.Context().Done():
		case <-s.ended:
		}
	case reply.Raw != "":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply.Raw)
	case reply.Status != 0 && reply.Status != http.StatusOK:
		refuse(w, reply.Status, reply.Text)
	case request.Stream:
		stream(w, request, reply)
	default:
		writeJSON(w, http.StatusOK, completion(request, reply))
	}
}

// refuse answers in the form of the API's errors.
func refuse(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{
		"error": map[string]any{"message": message, "type": http.StatusText(status), "param": nil, "code": nil},
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that has gone away needs no answer
}
