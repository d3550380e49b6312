package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/tool"
	"sabha.dev/chassis/toolserver"
	"sabha.dev/cmd/sabha/internal/bridge"
)

var eras = map[string]string{"2025-11-25": "2025-11-25", "2026-07-28": ""}

// platform serves tools to those who have the key.
type platform struct {
	*httptest.Server
	started, canceled chan struct{}
}

func serve(t *testing.T) *platform {
	t.Helper()
	p := &platform{started: make(chan struct{}, 1), canceled: make(chan struct{}, 1)}
	log := slog.New(slog.DiscardHandler)
	one := func(name string, call tool.Func) *tool.Tool {
		made, err := tool.Of(tool.Definition{Name: name, Input: json.RawMessage(`{"type":"object"}`)}, call, log)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	sessions := toolserver.NewSessions(9, time.Hour, func(*http.Request) bool { return true }, clock.System{})
	server, err := toolserver.New(toolserver.Config{Name: "test", Release: "1", Sessions: sessions, Log: log},
		one("says", func(_ context.Context, r tool.Request) (tool.Answer, error) {
			if r.Progress != nil {
				r.Progress(tool.Progress{Done: 1, Message: "half way"})
			}
			return tool.Answer{Sentence: string(r.Arguments)}, nil
		}),
		one("asks", func(_ context.Context, r tool.Request) (tool.Answer, error) {
			if r.Reply != nil {
				return tool.Answer{Sentence: "heard " + string(r.Reply.Content)}, nil
			}
			return tool.Answer{Question: &tool.Question{Message: "Which?", State: "s", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}, nil
		}),
		one("waits", func(ctx context.Context, _ tool.Request) (tool.Answer, error) {
			p.started <- struct{}{}
			<-ctx.Done()
			p.canceled <- struct{}{}
			return tool.Answer{}, ctx.Err()
		}))
	if err != nil {
		t.Fatal(err)
	}
	endpoint := toolserver.Endpoint{Server: func(*http.Request) *mcp.Server { return server }, MaxBody: 1 << 20, Sessions: sessions, Log: log}.Handler()
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "sk-1" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"code":401,"message":"the API key is not known"}}`))
			return
		}
		endpoint.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *platform) bridge(key string) *bridge.Bridge {
	return &bridge.Bridge{URL: p.URL + "/mcp", Header: http.Header{"X-Api-Key": {key}}, Client: p.Client(), After: time.After}
}

// connect is the SDK's client on the other side of a bridge.
func (p *platform) connect(t *testing.T, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- p.bridge("sk-1").Run(context.Background(), in, out)
		_ = out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromBridge, Writer: toBridge}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = toBridge.Close()
		if err := <-done; err != nil {
			t.Errorf("the bridge ended with %v", err)
		}
	})
	return session
}

func TestCallsCrossInBothEras(t *testing.T) {
	p := serve(t)
	for era, version := range eras {
		told := make(chan string, 9)
		s := p.connect(t, version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) { told <- n.Params.Message },
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"a": "b"}}, nil
			},
		})
		if got := s.InitializeResult().ProtocolVersion; got != era {
			t.Errorf("%s: negotiated %s", era, got)
		}
		params := &mcp.CallToolParams{Name: "says", Arguments: json.RawMessage(`{"n":9007199254740993}`)}
		params.SetProgressToken("p")
		result, err := s.CallTool(t.Context(), params)
		if err != nil || result.Content[0].(*mcp.TextContent).Text != `{"n":9007199254740993}` {
			t.Errorf("%s: %+v, %v", era, result, err)
		}
		if got := <-told; got != "half way" {
			t.Errorf("%s: told %q", era, got)
		}
		if result, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"}); err != nil || result.Content[0].(*mcp.TextContent).Text != `heard {"a":"b"}` {
			t.Errorf("%s: %+v, %v", era, result, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-p.started
			cancel()
		}()
		if _, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "waits"}); err == nil {
			t.Errorf("%s: a canceled call was answered", era)
		}
		<-p.canceled
	}
}

// lines is what a bridge says to a few lines.
func lines(t *testing.T, b *bridge.Bridge, in string) string {
	t.Helper()
	var out syncBuffer
	if err := b.Run(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestWhatGoesWrongIsAnAnswer(t *testing.T) {
	p := serve(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	list := `{"jsonrpc":"2.0","id":"a","method":"tools/list"}` + "\n"
	for name, c := range map[string]struct {
		bridge   *bridge.Bridge
		in, want string
	}{
		"a key that is not known":  {p.bridge("sk-2"), list, `{"error":{"code":-32603,"message":"401 Unauthorized: the API key is not known"},"id":"a","jsonrpc":"2.0"}`},
		"no platform":              {&bridge.Bridge{URL: gone.URL, Client: gone.Client(), Header: http.Header{}, After: time.After}, list, `"message":"the platform cannot be reached at ` + gone.URL},
		"no JSON":                  {p.bridge("sk-1"), "hello\n", `"code":-32700`},
		"a bare list":              {p.bridge("sk-1"), "\n" + list, `"name":"waits"`},
		"a method that is none":    {p.bridge("sk-1"), `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `"code":-32601`},
		"a notification to nobody": {&bridge.Bridge{URL: gone.URL, Client: gone.Client(), Header: http.Header{}, After: time.After}, `{"jsonrpc":"2.0","method":"notifications/x"}`, ""},
	} {
		got := lines(t, c.bridge, c.in)
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}
