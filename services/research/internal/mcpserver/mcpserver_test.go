package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/research/internal/retrieval"
)

// shelves answers every query with the same passages and remembers it.
type shelves struct {
	results []retrieval.Result
	err     error
	asked   retrieval.Query
}

func (s *shelves) Embedding() string { return "test-vectors" }

func (s *shelves) Search(_ context.Context, q retrieval.Query) ([]retrieval.Result, error) {
	s.asked = q
	return s.results, s.err
}

func threePassages() *shelves {
	s := &shelves{}
	for i := range 3 {
		s.results = append(s.results, retrieval.Result{
			Document: "security.md", Title: "enterprise security standard", Digest: "sha256:aa", HeadingPath: []string{"Encryption <&>"},
			Ordinal: i, Start: i, End: i + 1, Text: "t", Score: 0.03, Confidence: 0.9,
		})
	}
	return s
}

func serve(t *testing.T, engine Engine) *httptest.Server {
	t.Helper()
	h, err := New(engine, "1.0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, h)
}

func listen(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// post sends a body with the given headers and no others that matter.
func post(t *testing.T, s *httptest.Server, body string, headers map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}

const kalki = `{"jsonrpc":"2.0","id":"mcp-req-8842","method":"tools/call","params":{"name":"kalki_vector_search",
	"arguments":{"query":"quantum encryption standards","top_k":5,"min_confidence":0.82}}}`

func TestPlainCallIsAnsweredAsPlainJSON(t *testing.T) {
	for name, headers := range map[string]map[string]string{
		"no header at all":    {"User-Agent": ""},
		"curl -d":             {"Accept": "*/*", "Content-Type": "application/x-www-form-urlencoded"},
		"curl with JSON type": {"Accept": "*/*", "Content-Type": "application/json"},
		"JSON only":           {"Accept": "application/json", "Content-Type": "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := threePassages()
			status, header, body := post(t, serve(t, engine), kalki, headers)
			if status != http.StatusOK || header.Get("Content-Type") != "application/json" {
				t.Fatalf("%d %s: %s", status, header.Get("Content-Type"), body)
			}
			var got struct {
				JSONRPC, ID string
				Result      struct {
					Content           []struct{ Type, Text string }
					StructuredContent map[string]any
					IsError           *bool
				}
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			r := got.Result
			if got.JSONRPC != "2.0" || got.ID != "mcp-req-8842" || r.IsError == nil || *r.IsError {
				t.Errorf("envelope of %s", body)
			}
			if len(r.Content) != 2 || r.Content[0].Type != "text" || r.Content[0].Text != "Extracted 3 relevant passages from enterprise security standard." {
				t.Fatalf("content of %s", body)
			}
			var serialised map[string]any
			if err := json.Unmarshal([]byte(r.Content[1].Text), &serialised); err != nil || !reflect.DeepEqual(serialised, r.StructuredContent) {
				t.Errorf("the second text block is %s, %v", r.Content[1].Text, err)
			}
			if results := r.StructuredContent["results"].([]any); len(results) != 3 || r.StructuredContent["embedding"] != "test-vectors" {
				t.Errorf("structured content of %s", body)
			}
			if want := (retrieval.Query{Text: "quantum encryption standards", Limit: 5, MinConfidence: 0.82}); !reflect.DeepEqual(engine.asked, want) {
				t.Errorf("asked %+v", engine.asked)
			}
		})
	}
}

func TestAMissIsASuccess(t *testing.T) {
	_, _, body := post(t, serve(t, &shelves{}), kalki, nil)
	for _, want := range []string{`"isError":false`, `"results":[]`, `nothing about the query reaches a confidence of 0.82.`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

func call(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

func TestWrongArgumentsAreAToolError(t *testing.T) {
	s := serve(t, &shelves{})
	for arguments, want := range map[string]string{
		`{}`:                                     "missing property 'query'",
		`null`:                                   "missing property 'query'",
		`{"query":""}`:                           "/query: minLength",
		`{"query":" "}`:                          "/query: ' ' does not match pattern",
		`{"query":7}`:                            "/query: got number, want string",
		`{"query":"q","top_k":0}`:                "/top_k: minimum: got 0, want 1",
		`{"query":"q","top_k":51}`:               "/top_k: maximum: got 51, want 50",
		`{"query":"q","top_k":2.5}`:              "/top_k: got number, want integer",
		`{"query":"q","min_confidence":1.5}`:     "/min_confidence: maximum: got 1.5, want 1",
		`{"query":"q","colour":"red"}`:           "additional properties 'colour' not allowed",
		`[]`:                                     "the arguments must be a JSON object",
		`{"query":"q","top_k":9007199254740993}`: "/top_k: maximum: got 9",
	} {
		status, _, body := post(t, s, call(SearchTool, arguments), nil)
		if status != http.StatusOK || !strings.Contains(body, `"isError":true`) || !strings.Contains(body, want) || !strings.Contains(body, "do not fit its input schema: ") {
			t.Errorf("%s: %d %s; want %q in it", arguments, status, body, want)
		}
	}
}

func TestFailuresAreToolErrorsThatRevealNothing(t *testing.T) {
	_, _, body := post(t, serve(t, &shelves{err: errors.New("password is hunter2")}), kalki, nil)
	if !strings.Contains(body, `"isError":true`) || strings.Contains(body, "hunter2") || !strings.Contains(body, "the operator finds the reason in the log") {
		t.Errorf("got %s", body)
	}
	_, _, body = post(t, serve(t, &shelves{err: fault.Invalid("query", "is odd")}), kalki, nil)
	if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, "query: is odd") {
		t.Errorf("got %s", body)
	}
}

func TestProtocolErrors(t *testing.T) {
	s := serve(t, &shelves{})
	cases := []struct {
		name, body string
		status     int
		want       string
	}{
		{"an unknown tool", call("no_such_tool", `{}`), 200, `"code":-32602`},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/invent"}`, 404, `"code":-32601`},
		{"no method", `{"id":9}`, 400, `"code":-32600`},
		{"no request", `[1]`, 400, `"code":-32600`},
		{"no parameters", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 400, `{"error":{"code":-32600,"message":"invalid request: missing required \"params\""},"id":1,"jsonrpc":"2.0"}`},
		{"not JSON", `{"jsonrpc":`, 400, `"code":-32700`},
		{"nothing", ``, 400, `"code":-32700`},
		{"too large", `"` + strings.Repeat("a", maxBody) + `"`, 413, `"code":-32600`},
	}
	for _, c := range cases {
		if status, _, body := post(t, s, c.body, nil); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %.200s", c.name, status, body)
		}
	}
}

func TestBrowsersOfOtherSitesAreRefused(t *testing.T) {
	status, _, _ := post(t, serve(t, threePassages()), kalki, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
	if status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
}

func TestBothErasOfTheProtocol(t *testing.T) {
	s := serve(t, threePassages())
	accept := "application/json, text/event-stream"
	legacy := func(body string, version string) (int, string) {
		headers := map[string]string{"Accept": accept, "Content-Type": "application/json"}
		if version != "" {
			headers["MCP-Protocol-Version"] = version
		}
		status, _, answer := post(t, s, body, headers)
		return status, answer
	}
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		status, body := legacy(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "")
		if status != 200 || !strings.Contains(body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("initialize %s: %d %s", version, status, body)
		}
		if status, body = legacy(kalki, version); status != 200 || !strings.Contains(body, `"isError":false`) {
			t.Errorf("call %s: %d %s", version, status, body)
		}
	}

	modern := strings.Replace(kalki, `"arguments"`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"arguments"`, 1)
	headers := map[string]string{"Accept": accept, "Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": SearchTool}
	if status, _, body := post(t, s, modern, headers); status != 200 || !strings.Contains(body, `"isError":false`) || !strings.Contains(body, `"id":"mcp-req-8842"`) {
		t.Errorf("2026-07-28: %d %s", status, body)
	}
	delete(headers, "MCP-Protocol-Version")
	if status, _, body := post(t, s, modern, headers); status != 400 || !strings.Contains(body, "header is required") {
		t.Errorf("a version in the message and none in the header: %d %s", status, body)
	}
	headers["MCP-Protocol-Version"] = "1999-01-01"
	if status, _, _ := post(t, s, kalki, headers); status != 400 {
		t.Errorf("an unknown version: %d", status)
	}
}

func TestTheSDKsClientListsAndCalls(t *testing.T) {
	s := serve(t, threePassages())
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: s.Client()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != SearchTool || tools.Tools[0].OutputSchema == nil || !tools.Tools[0].Annotations.ReadOnlyHint {
		t.Fatalf("tools %+v, %v", tools, err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: SearchTool, Arguments: map[string]any{"query": "q", "top_k": 2}})
	if err != nil || result.IsError || len(result.Content) != 2 || result.StructuredContent == nil {
		t.Errorf("result %+v, %v", result, err)
	}
}

func FuzzEndpointTakesAnyBody(f *testing.F) {
	h, err := New(threePassages(), "1", slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kalki)
	f.Add(call(SearchTool, `{"query":"q","top_k":1e400}`))
	f.Add(`[` + kalki + `]`)
	f.Add(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)))
		if w.Code >= 500 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
