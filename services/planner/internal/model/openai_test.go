package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/outlet"
)

// script is an endpoint that answers each call with the next answer, and keeps what it was asked.
type script struct {
	answers []answer
	mu      sync.Mutex
	calls   []call
}

type answer struct {
	status int
	body   string
	header http.Header
	hold   bool // until the caller gives up
}

type call struct {
	path, authorization, organization, key, version string
	body                                            map[string]any
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	c := call{path: r.URL.Path, authorization: r.Header.Get("Authorization"), organization: r.Header.Get("OpenAI-Organization"), key: r.Header.Get("X-Api-Key"), version: r.Header.Get("Anthropic-Version")}
	_ = json.Unmarshal(data, &c.body)
	s.mu.Lock()
	a := s.answers[min(len(s.calls), len(s.answers)-1)]
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	if a.hold {
		<-r.Context().Done()
		return
	}
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// asked are the calls so far. The client may have given up on one that goes on.
func (s *script) asked() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func open(t *testing.T, s *script, cfg Config) Model {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	cfg.BaseURL = srv.URL + "/v1"
	if cfg.Name == "" {
		cfg.Name = "small"
	}
	if cfg.Outlet == nil {
		cfg.Outlet = way(t, "")
	}
	m, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// way is the way out to a model under a policy; empty for the default.
func way(t *testing.T, policy string) *outlet.Outlet {
	t.Helper()
	outlets, err := outlet.New(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var p outlet.Policy
	if policy != "" {
		if p, err = outlet.ParsePolicy("p.yaml", []byte(policy)); err != nil {
			t.Fatal(err)
		}
	}
	o, err := outlets.Open("model", outlet.Model, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const good = `{"id":"c1","object":"chat.completion","created":1,"model":"small-2026","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":" Rows. [1]\n"}}],"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16}}`

func TestCompleteAsksOnceAndReportsTheEndpointsModel(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_ORG_ID", "from-the-environment")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &script{answers: []answer{{status: 200, body: good}}}
	got, err := open(t, s, Config{KeyFile: key}).Complete(context.Background(), Request{System: "Rules.", Prompt: "What is a plan?", MaxTokens: 300})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Response{Text: "Rows. [1]", Model: "small-2026", InputTokens: 12, OutputTokens: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := []call{{path: "/v1/chat/completions", authorization: "Bearer secret-1", body: map[string]any{
		"model": "small", "temperature": 0.0, "max_tokens": 300.0,
		"messages": []any{map[string]any{"role": "system", "content": "Rules."}, map[string]any{"role": "user", "content": "What is a plan?"}},
	}}}
	if !reflect.DeepEqual(s.asked(), want) {
		t.Errorf("the endpoint was asked %+v, want %+v", s.asked(), want)
	}
}

func TestNoKeyIsSentWhenNoneIsConfigured(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	s := &script{answers: []answer{{status: 200, body: good}}}
	if _, err := open(t, s, Config{}).Complete(context.Background(), Request{Prompt: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := s.asked()[0].authorization; got != "" {
		t.Errorf("the endpoint was sent %q", got)
	}
}

func TestFailuresAreSortedAndNeverRetried(t *testing.T) {
	choice := func(message, finish string) string {
		return `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"` + finish + `","message":` + message + `}]}`
	}
	for _, tt := range []struct {
		name   string
		answer answer
		want   error
		text   string
	}{
		{"bad key", answer{status: 401, body: `{"error":{"message":"key sk-live-123 is wrong","type":"auth","code":"x","param":null}}`}, ErrRejected, "the model's endpoint refused the request: the key is not accepted (HTTP 401)"},
		{"unknown model", answer{status: 404, body: `{"error":{"message":"no"}}`}, ErrRejected, "the model's endpoint refused the request: it knows no such model or address (HTTP 404)"},
		{"too large", answer{status: 400, body: `{"error":{"message":"too many tokens"}}`}, ErrRejected, "the model's endpoint refused the request: HTTP 400"},
		{"busy", answer{status: 429, body: `{"error":{"message":"slow down"}}`}, ErrUnavailable, "the model could not be reached: HTTP 429"},
		{"broken", answer{status: 500, body: `oops`}, ErrUnavailable, "the model could not be reached: HTTP 500"},
		{"redirect", answer{status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}}}, ErrUnavailable, "the model could not be reached"},
		{"not JSON", answer{status: 200, body: `<html>`}, ErrNoAnswer, "the model gave no answer: the endpoint's answer could not be read"},
		{"too long", answer{status: 200, body: `{"choices":[{"message":{"content":"` + strings.Repeat("x", maxResponse) + `"}}]}`}, ErrNoAnswer, "the model gave no answer: the endpoint's answer could not be read"},
		{"no choices", answer{status: 200, body: `{"choices":[]}`}, ErrNoAnswer, "the model gave no answer: the answer has no choices"},
		{"empty", answer{status: 200, body: choice(`{"role":"assistant","content":" "}`, "stop")}, ErrNoAnswer, "the model gave no answer: the text is empty"},
		{"refusal", answer{status: 200, body: choice(`{"role":"assistant","content":"","refusal":"I cannot"}`, "stop")}, ErrNoAnswer, "the model gave no answer: it declined"},
		{"filtered", answer{status: 200, body: choice(`{"role":"assistant","content":"some"}`, "content_filter")}, ErrNoAnswer, "the model gave no answer: it declined"},
		{"slow", answer{hold: true}, ErrUnavailable, "the model could not be reached: it did not answer in time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: []answer{tt.answer}}
			cfg := Config{}
			if tt.answer.hold {
				cfg.Timeout = time.Millisecond
			}
			_, err := open(t, s, cfg).Complete(context.Background(), Request{Prompt: "x"})
			if !errors.Is(err, tt.want) || err.Error() != tt.text {
				t.Errorf("got %v, want %s", err, tt.text)
			}
			if len(s.asked()) > 1 {
				t.Errorf("the endpoint was called %d times", len(s.asked()))
			}
		})
	}
}

func TestTruncatedAnswersSaySo(t *testing.T) {
	s := &script{answers: []answer{{status: 200, body: strings.Replace(good, `"stop"`, `"length"`, 1)}}}
	got, err := open(t, s, Config{}).Complete(context.Background(), Request{Prompt: "x"})
	if err != nil || !got.Truncated {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCallersCancellationIsTheCallersError(t *testing.T) {
	s := &script{answers: []answer{{hold: true}}}
	ctx, cancel := context.WithCancelCause(context.Background())
	withdrawn := errors.New("the plan was cancelled")
	cancel(withdrawn)
	if _, err := open(t, s, Config{}).Complete(ctx, Request{Prompt: "x"}); !errors.Is(err, withdrawn) {
		t.Errorf("got %v", err)
	}
}

func TestOpenWithoutConfigurationGivesNoModel(t *testing.T) {
	m, err := Open(Config{})
	if m != nil || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	empty, two := filepath.Join(dir, "empty"), filepath.Join(dir, "two")
	for file, content := range map[string]string{empty: " \n", two: "a b\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const address = "model: the base URL must be an http or https address without a user, such as https://api.openai.com/v1"
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"only a key", Config{KeyFile: two}, "model: a key file is set, but neither a base URL nor a model name; set both or remove the key file"},
		{"no address", Config{Name: "small"}, `model: the model "small" needs a base URL, such as https://api.openai.com/v1`},
		{"no name", Config{BaseURL: "https://x/v1"}, "model: the base URL needs the name of a model"},
		{"scheme", Config{BaseURL: "file:///etc", Name: "m"}, address},
		{"no host", Config{BaseURL: "localhost:1234", Name: "m"}, address},
		{"user", Config{BaseURL: "https://u:p@x/v1", Name: "m"}, address},
		{"timeout", Config{BaseURL: "https://x/v1", Name: "m", Timeout: -time.Second}, "model: the timeout must not be negative; it is -1s"},
		{"empty key", Config{BaseURL: "https://x/v1", Name: "m", KeyFile: empty}, "model: the key file " + empty + " must hold one key and nothing else"},
		{"two keys", Config{BaseURL: "https://x/v1", Name: "m", KeyFile: two}, "model: the key file " + two + " must hold one key and nothing else"},
		{"no key file", Config{BaseURL: "https://x/v1", Name: "m", KeyFile: filepath.Join(dir, "none")}, "model: the key file: open " + filepath.Join(dir, "none") + ": no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Open(tt.cfg)
			if m != nil || err == nil || err.Error() != tt.want {
				t.Errorf("got %v, %v; want %s", m, err, tt.want)
			}
		})
	}
}
