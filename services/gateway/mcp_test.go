package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/services/gateway"
)

// known adds a key to every request of a client.
type known struct{ key string }

func (k known) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("X-API-Key", k.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// eras are a version of MCP of each: within a session, and without.
var eras = map[string]string{"2025-11-25": "2025-11-25", "2026-07-28": ""}

// mcp connects the SDK's client; an empty key is nobody's.
func (r *rig) mcp(t *testing.T, key, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + r.HTTPAddr() + "/mcp", HTTPClient: &http.Client{Transport: known{key}}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func names(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range list.Tools {
		all = append(all, one.Name)
	}
	return all
}

// use calls a tool and gives its first words and its structured result.
func use(t *testing.T, s *mcp.ClientSession, name, arguments string) (*mcp.CallToolResult, string, string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	words := ""
	if len(result.Content) > 0 {
		words = result.Content[0].(*mcp.TextContent).Text
	}
	return result, words, string(raw)
}

func TestNobodyIsOfferedExactlyFourTools(t *testing.T) {
	r := start(t)
	for era, version := range eras {
		s := r.mcp(t, "", version, nil)
		if got, want := names(t, s), []string{"fetch", "get_changes", "search", "whoami"}; !slices.Equal(got, want) {
			t.Errorf("%s: offered %v, want %v", era, got, want)
		}
		if _, _, got := use(t, s, "whoami", `{}`); got != `{"anonymous":true}` {
			t.Errorf("%s: whoami %s", era, got)
		}
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "research_work", Arguments: json.RawMessage(`{"text":"x"}`)}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: another tool: %v", era, err)
		}
	}
}

func TestEverySkillIsATool(t *testing.T) {
	r := start(t)
	key := r.newKey(t, "-subject", "asha", "-organisation", "acme", "-scopes", "viewer")
	for era, version := range eras {
		s := r.mcp(t, key, version, nil)
		got := names(t, s)
		for _, want := range []string{"search", "fetch", "get_changes", "whoami", "kalki_vector_search", "task_get", "task_reply", "task_cancel", "planner_work", "research_work", "research_give_up", "planner_tell"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: offered %v, want %s too", era, got, want)
			}
		}
		if _, _, who := use(t, s, "whoami", `{}`); who != `{"anonymous":false,"organisation":"acme","scopes":["viewer"],"subject":"asha"}` {
			t.Errorf("%s: whoami %s", era, who)
		}
		if _, words, _ := use(t, s, "research_tell", `{"text":"who?"}`); !strings.HasPrefix(words, "acme/asha [viewer] by gateway with ") {
			t.Errorf("%s: a skill that answers directly: %s", era, words)
		}
		if _, _, got := use(t, s, "search", `{"query":"q","limit":2}`); got != `{"skill":"search","limit":2,"query":"q"}` && got != `{"limit":2,"query":"q","skill":"search"}` {
			t.Errorf("%s: search %s", era, got)
		}
	}
}

// taskOf reads the task that a structured result names.
func taskOf(t *testing.T, structured string) (id, state string) {
	t.Helper()
	var r struct {
		Task struct{ ID, Agent, State string }
	}
	if err := json.Unmarshal([]byte(structured), &r); err != nil || r.Task.ID == "" {
		t.Fatalf("no task in %s: %v", structured, err)
	}
	return r.Task.ID, r.Task.State
}

func TestACallOfAToolIsATask(t *testing.T) {
	r := start(t)
	key := r.newKey(t, "-subject", "asha")
	s := r.mcp(t, key, "", nil)
	result, words, structured := use(t, s, "research_work", `{"text":"do it","data":{"n":1}}`)
	id, state := taskOf(t, structured)
	if result.IsError || state != "completed" || !strings.HasPrefix(words, "made\n\n[task "+id+" of research is completed]") || !strings.Contains(structured, `"artifacts":[{"text":"made"}]`) {
		t.Errorf("%q %s", words, structured)
	}
	if code, _, body := r.do(t, "GET", "/research/tasks/"+id, "", []string{"X-API-Key: " + key, "A2A-Version: 1.0"}); code != 200 || !strings.Contains(body, `"TASK_STATE_COMPLETED"`) {
		t.Errorf("the task over HTTP: %d %s", code, body)
	}
	if _, _, again := use(t, s, "task_get", `{"agent":"research","task_id":"`+id+`"}`); !strings.Contains(again, `"state":"completed"`) {
		t.Errorf("task_get: %s", again)
	}
	other := r.mcp(t, r.newKey(t, "-subject", "ben"), "", nil)
	if result, words, _ := use(t, other, "task_get", `{"agent":"research","task_id":"`+id+`"}`); !result.IsError || !strings.Contains(words, "does not exist or is not yours") {
		t.Errorf("another's task: %q", words)
	}
	if result, words, structured := use(t, s, "planner_give_up", `{"text":"x"}`); !result.IsError || !strings.Contains(words, "was failed. I give up.") || !strings.Contains(structured, `"state":"failed"`) {
		t.Errorf("a task that fails: %q %s", words, structured)
	}
	if result, words, structured := use(t, s, "planner_fail", `{"text":"x"}`); !result.IsError || words != "message.parts[0]: say something else" || !strings.Contains(structured, `"reason":"INVALID_ARGUMENT"`) {
		t.Errorf("a call that is refused: %q %s", words, structured)
	}
	if result, words, _ := use(t, s, "research_work", `{}`); !result.IsError || !strings.Contains(words, "do not fit its input schema") {
		t.Errorf("no input: %q", words)
	}
	if result, words, _ := use(t, s, "research_work", `{"data":{"a":[9007199254740993]}}`); !result.IsError || !strings.Contains(words, "/a/0: is a number that agents cannot be told exactly") {
		t.Errorf("a number that would be rounded: %q", words)
	}
}

func TestAToolAsksBack(t *testing.T) {
	r := start(t)
	key := r.newKey(t, "-subject", "asha")
	for era, version := range eras {
		asked := ""
		s := r.mcp(t, key, version, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = q.Params.Message
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "the red one"}}, nil
		}})
		result, words, structured := use(t, s, "research_ask_once", `{"text":"x"}`)
		if _, state := taskOf(t, structured); result.IsError || asked != "Which one?" || state != "completed" || !strings.Contains(words, "took the red one") {
			t.Errorf("%s: asked %q, got %q %s", era, asked, words, structured)
		}
		plain := r.mcp(t, key, version, nil)
		result, words, structured = use(t, plain, "research_ask_once", `{"text":"x"}`)
		id, state := taskOf(t, structured)
		if !result.IsError || state != "input-required" || !strings.Contains(words, id) || !strings.Contains(words, "Which one?") {
			t.Errorf("%s: a client that cannot be asked: %q %s", era, words, structured)
		}
		if _, words, _ = use(t, plain, "task_reply", `{"agent":"research","task_id":"`+id+`","text":"the blue one"}`); !strings.Contains(words, "took the blue one") {
			t.Errorf("%s: task_reply: %q", era, words)
		}
	}
}

func TestALongToolTellsItsProgressAndIsCanceledWithItsCall(t *testing.T) {
	r := start(t)
	key := r.newKey(t, "-subject", "asha")
	for era, version := range eras {
		ctx, cancel := context.WithCancel(t.Context())
		var once sync.Once
		s := r.mcp(t, key, version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			if n.Params.Message == "holding" {
				once.Do(cancel)
			}
		}})
		params := &mcp.CallToolParams{Name: "research_hold", Arguments: json.RawMessage(`{"text":"x"}`)}
		params.SetProgressToken("p")
		if _, err := s.CallTool(ctx, params); err == nil {
			t.Fatalf("%s: the call ended by itself", era)
		}
		for body := ""; !strings.Contains(body, "TASK_STATE_CANCELED") || strings.Contains(body, "TASK_STATE_WORKING"); {
			if _, _, body = r.do(t, "GET", "/research/tasks", "", []string{"X-API-Key: " + key, "A2A-Version: 1.0"}); t.Context().Err() != nil {
				t.Fatalf("%s: %s", era, body)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func TestTheKALKIPayloadAsItIsWritten(t *testing.T) {
	r := start(t)
	const payload = `{"jsonrpc":"2.0","id":"mcp-req-8842","method":"tools/call","params":{"name":"kalki_vector_search","arguments":{"query":"quantum encryption standards","top_k":5,"min_confidence":0.82}}}`
	code, _, body := r.do(t, "POST", "/mcp", payload, nil)
	if code != 200 || !strings.Contains(body, `"id":"mcp-req-8842"`) || !strings.Contains(body, `"isError":false`) || !strings.Contains(body, `"min_confidence":0.82`) {
		t.Errorf("%d %s", code, body)
	}
	if code, _, body = r.do(t, "POST", "/mcp", strings.Replace(payload, `"top_k":5`, `"top_k":51`, 1), nil); code != 200 || !strings.Contains(body, `"isError":true`) || !strings.Contains(body, "/top_k: maximum") {
		t.Errorf("%d %s", code, body)
	}
}

func TestASessionIsItsCallersOwn(t *testing.T) {
	r := start(t)
	asha, ben := "X-API-Key: "+r.newKey(t, "-subject", "asha"), "X-API-Key: "+r.newKey(t, "-subject", "ben")
	headers := []string{"Accept: application/json, text/event-stream", "Content-Type: application/json"}
	code, header, body := r.do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, append(headers, asha))
	session := header.Get("Mcp-Session-Id")
	if code != 200 || session == "" {
		t.Fatalf("%d %s", code, body)
	}
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`
	headers = append(headers, "Mcp-Session-Id: "+session, "MCP-Protocol-Version: 2025-11-25")
	if code, _, body = r.do(t, "POST", "/mcp", call, append(headers, asha)); code != 200 || !strings.Contains(body, "asha") {
		t.Errorf("its caller: %d %s", code, body)
	}
	if code, _, body = r.do(t, "POST", "/mcp", call, append(headers, ben)); code == 200 {
		t.Errorf("another caller: %d %s", code, body)
	}
	if code, _, body = r.do(t, "POST", "/mcp", call, headers); code == 200 && strings.Contains(body, "asha") {
		t.Errorf("nobody: %d %s", code, body)
	}
}

func TestLimitsHoldForTools(t *testing.T) {
	r := start(t, func(c *gateway.Config) { c.RateLimit.Anonymous = gateway.Limit{PerSecond: 0.001, Burst: 2} })
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`
	for range 2 {
		if code, _, body := r.do(t, "POST", "/mcp", call, nil); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	if code, header, body := r.do(t, "POST", "/mcp", call, nil); code != 429 || header.Get("Retry-After") == "" {
		t.Errorf("over the limit: %d %s", code, body)
	}
	if code, _, _ := r.do(t, "POST", "/mcp", call, []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "X-API-Key: " + r.operator}); code != 403 {
		t.Errorf("a browser on another site: %d", code)
	}
}
