package toolserver

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
	"sabha.dev/testrig/clocktest"
)

const object = `{"type":"object"}`

// made is a tool under test.
func made(t testing.TB, name, output string, call tool.Func) *tool.Tool {
	t.Helper()
	d := tool.Definition{Name: name, Description: "d", Input: json.RawMessage(object)}
	if output != "" {
		d.Output = json.RawMessage(output)
	}
	one, err := tool.Of(d, call, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// rig is a served endpoint.
type rig struct {
	*httptest.Server
	t     testing.TB
	clock *clocktest.Clock
	// canceled receives when a call of the tool waits was canceled.
	canceled chan struct{}
	started  chan struct{}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func serve(t testing.TB, most int, idle time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktest.New(noon), canceled: make(chan struct{}, 1), started: make(chan struct{}, 1)}
	tools := []*tool.Tool{
		made(t, "echo", object, func(_ context.Context, r tool.Request) (tool.Answer, error) {
			return tool.Answer{Sentence: "Said again.", Structured: map[string]json.RawMessage{"said": r.Arguments}}, nil
		}),
		made(t, "panics", "", func(context.Context, tool.Request) (tool.Answer, error) { panic("secret state") }),
		made(t, "silent", "", func(context.Context, tool.Request) (tool.Answer, error) { return tool.Answer{}, nil }),
		made(t, "waits", "", func(ctx context.Context, _ tool.Request) (tool.Answer, error) {
			r.started <- struct{}{}
			<-ctx.Done()
			r.canceled <- struct{}{}
			return tool.Answer{}, ctx.Err()
		}),
		made(t, "counts", "", func(_ context.Context, r tool.Request) (tool.Answer, error) {
			for i := range 3 {
				if r.Progress != nil {
					r.Progress(tool.Progress{Done: float64(i + 1), Total: 3, Message: "counting"})
				}
			}
			return tool.Answer{Sentence: "three"}, nil
		}),
		made(t, "asks", "", asking),
		made(t, "shows", "", func(context.Context, tool.Request) (tool.Answer, error) {
			return tool.Answer{Content: []tool.Content{
				{Data: []byte("png"), MediaType: "image/png"},
				{Data: []byte("wav"), MediaType: "audio/wav"},
				{URI: "test://a", Text: "words", MediaType: "text/plain"},
				{URI: "test://b"},
				{Data: []byte("pdf"), MediaType: "application/pdf"},
			}}, nil
		}),
	}
	sessions := NewSessions(most, idle, func(r *http.Request) bool { return r.Header.Get("X-Test-Nobody") == "" }, r.clock)
	log := slog.New(slog.DiscardHandler)
	server, err := New(Config{Name: "test", Release: "1", Private: true, Sessions: sessions, Log: log}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(Endpoint{Server: func(*http.Request) *mcp.Server { return server }, MaxBody: 64 << 10, Sessions: sessions, Host: "tools.example", Log: log}.Handler())
	t.Cleanup(r.Close)
	return r
}

// asking asks once, and says what it heard.
func asking(_ context.Context, r tool.Request) (tool.Answer, error) {
	switch {
	case r.Reply != nil && r.Reply.Declined:
		return tool.Answer{Sentence: "declined in " + r.Reply.State}, nil
	case r.Reply != nil:
		return tool.Answer{Sentence: "heard " + string(r.Reply.Content) + " in " + r.Reply.State}, nil
	case r.Asks:
		return tool.Answer{Question: &tool.Question{Message: "Which year?", State: "s1", Schema: json.RawMessage(`{"type":"object","properties":{"year":{"type":"string"}}}`)}}, nil
	}
	return tool.Answer{Sentence: "nobody can be asked", Failed: true}, nil
}

// post sends a body with the given headers and no others that matter.
func (r *rig) post(body string, headers ...string) (int, http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := r.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}

func call(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

// connect is the SDK's client in a version of the protocol; empty is its newest.
func (r *rig) connect(version string, options *mcp.ClientOptions) *mcp.ClientSession {
	r.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, options)
	session, err := client.Connect(r.t.Context(), &mcp.StreamableClientTransport{Endpoint: r.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = session.Close() })
	return session
}
