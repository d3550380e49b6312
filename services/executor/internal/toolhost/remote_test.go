package toolhost

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/services/executor/internal/credential"
)

// far is an MCP server over HTTP. It serves whoever shows the token.
type far struct {
	*httptest.Server
	mu    sync.Mutex
	token string
	seen  http.Header
	calls atomic.Int64
	ended chan struct{}
}

func newFar(t *testing.T, token string, stateless bool) *far {
	t.Helper()
	f := &far{token: token, ended: make(chan struct{}, 1)}
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
		f.calls.Add(1)
		return nil, echoOut{in.Text}, nil
	})
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: raw(`{"type": "object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		f.ended <- struct{}{}
		return nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "twice", InputSchema: raw(`{"type": "object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := words("see")
		r.StructuredContent = raw(`{"n": 9007199254740993}`)
		return r, nil
	})
	s.AddTool(&mcp.Tool{Name: "flood", InputSchema: raw(`{"type": "object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return words(strings.Repeat("x", 2<<20)), nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = r.Header.Clone()
		token := f.token
		f.mu.Unlock()
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *far) set(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token = token
}

// remote is the configuration for it.
func (f *far) remote(r Remote) Server {
	r.URL, r.Networks = f.URL, []string{"127.0.0.0/8"}
	s := server("far", "")
	s.Process, s.Remote = nil, &r
	return s
}

func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestServersOverHTTPOfBothEras(t *testing.T) {
	for name, stateless := range map[string]bool{"2026-07-28": true, "2025-11-25": false} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t, "s3cret", stateless)
			h := host(t, f.remote(Remote{BearerFile: written(t, "s3cret"), HeaderFiles: map[string]string{"X-Team": written(t, "loans")}}))
			got, err := call(t.Context(), h, "echo", `{"text": "over there"}`)
			if err != nil || string(got.Structured) != `{"echo":"over there"}` {
				t.Fatalf("result %s, error %v", got.Structured, err)
			}
			if s := h.Servers()["far"]; s.State != Ready || s.Version != name {
				t.Errorf("status %+v", s)
			}
			f.mu.Lock()
			team := f.seen.Get("X-Team")
			f.mu.Unlock()
			if team != "loans" {
				t.Errorf("team %q", team)
			}
			for tool, want := range map[string]string{
				"twice": `the answer of "far/twice" does not fit its output schema: it holds the whole number 9007199254740993, which a data part cannot carry exactly; the tool should give it as text`,
				"flood": `the MCP server "far" does not keep to the protocol: it sent a message of more than 1048576 bytes; whether the tool took effect is not known`,
			} {
				if _, err := call(t.Context(), h, tool, `{}`); err == nil || err.Error() != want {
					t.Errorf("%s: error %v", tool, err)
				}
			}
			eventually(t, "it is connected again", func() bool {
				got, err = call(t.Context(), h, "echo", `{"text": "again"}`)
				return err == nil && string(got.Structured) == `{"echo":"again"}`
			})
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := call(ctx, h, "wait", `{}`); err == nil {
				t.Error("a call that was given up has an answer")
			}
			select {
			case <-f.ended:
			case <-t.Context().Done():
				t.Error("the tool does not hear of the cancel")
			}
		})
	}
}

func TestRemoteServersAreCalledWhereTheOperatorAllowsIt(t *testing.T) {
	f := newFar(t, "", true)
	s := f.remote(Remote{})
	s.Remote.Networks = nil
	s.Remote.URL = strings.Replace(f.URL, "127.0.0.1", "localtest.example", 1) // a name says nothing of where it leads
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	s.Remote.URL = f.URL
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "its network has not been opened") {
		t.Errorf("error %v", err)
	}
	// The check that counts is that of the address that is dialled.
	w, err := s.Remote.start(t.Context(), newFrames(1<<20, clockOf{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "x"}, nil).Connect(t.Context(), w.transport, nil); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("error %v", err)
	}
}

type clockOf struct{}

func (clockOf) Now() time.Time                       { return time.Unix(0, 0) }
func (clockOf) After(time.Duration) <-chan time.Time { return nil }

func TestTokensOfOAuth(t *testing.T) {
	f := newFar(t, "t1", true)
	var asked atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || id != "bank" || secret != "hush" || r.FormValue("scope") != "tools" || r.FormValue("audience") != "far" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("t%d", asked.Add(1)), "token_type": "Bearer", "expires_in": 3600})
	}))
	defer endpoint.Close()
	o := &credential.OAuth{TokenURL: endpoint.URL, ClientID: "bank", SecretFile: written(t, "hush"), Scopes: []string{"tools"}, Audience: "far"}
	h := host(t, f.remote(Remote{OAuth: o}))
	for range 3 {
		if got, err := call(t.Context(), h, "echo", `{"text": "a"}`); err != nil || string(got.Structured) != `{"echo":"a"}` {
			t.Fatalf("result %s, error %v", got.Structured, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("%d tokens were asked for", asked.Load())
	}
	f.set("t2") // the first one is not taken any more
	if got, err := call(t.Context(), h, "echo", `{"text": "b"}`); err != nil || string(got.Structured) != `{"echo":"b"}` {
		t.Fatalf("result %s, error %v", got.Structured, err)
	}
	// A wrong secret is told to the operator without the secret.
	wrong := f.remote(Remote{OAuth: &credential.OAuth{TokenURL: endpoint.URL, ClientID: "bank", SecretFile: written(t, "wrong")}})
	h = host(t, wrong)
	if _, err := call(t.Context(), h, "far/echo", `{}`); err == nil || err.Error() != `the MCP server "far" is away: it cannot be started or reached` {
		t.Errorf("error %v", err)
	}
	if s := h.Servers()["far"]; !strings.Contains(s.Cause, "the token endpoint refuses with status 401") || strings.Contains(s.Cause, "wrong") {
		t.Errorf("cause %q", s.Cause)
	}
}

// other answers each call with another id than it was asked with.
func TestAnotherIDOverHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case req.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case req.Method == "initialize":
			_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "other", "version": "1"}}}`, req.ID)
		case req.Method == "tools/list":
			_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}}`, req.ID)
		case req.Method == "tools/call":
			_, _ = fmt.Fprint(w, `{"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}`)
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "error": {"code": -32601, "message": "no such method"}}`, req.ID)
		}
	}))
	defer s.Close()
	c := (&far{Server: s}).remote(Remote{})
	h := host(t, c)
	if _, err := call(t.Context(), h, "far/t", `{}`); err == nil ||
		err.Error() != `the MCP server "far" does not keep to the protocol: it answers the request 4711, which was not made; whether the tool took effect is not known` {
		t.Errorf("error %v", err)
	}
}
