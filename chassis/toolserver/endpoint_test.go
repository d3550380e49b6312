package toolserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	accept  = "application/json, text/event-stream"
	initial = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
)

func TestABareCallIsAnsweredAsPlainJSON(t *testing.T) {
	r := serve(t, 9, time.Hour)
	for _, headers := range [][]string{{}, {"Accept", "*/*", "Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json", "Content-Type", "application/json"}} {
		status, header, body := r.post(call("echo", `{"n":1}`), headers...)
		if want := `"isError":false`; status != 200 || header.Get("Content-Type") != "application/json" || !strings.Contains(body, want) || !strings.Contains(body, `"structuredContent":{"said":{"n":1}}`) {
			t.Errorf("%v: %d %s", headers, status, body)
		}
	}
}

func TestWhatIsNoCallIsRefused(t *testing.T) {
	r := serve(t, 9, time.Hour)
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"an unknown tool":            {call("no_such_tool", `{}`), 200, `"code":-32602`},
		"an unknown method":          {`{"jsonrpc":"2.0","id":1,"method":"tools/invent"}`, 404, `"code":-32601`},
		"no method":                  {`{"id":9}`, 400, `"code":-32600`},
		"no request":                 {`[1]`, 400, `"code":-32600`},
		"not JSON":                   {`{"jsonrpc":`, 400, `"code":-32700`},
		"nothing":                    {``, 400, `"code":-32700`},
		"too large":                  {`"` + strings.Repeat("a", 64<<10) + `"`, 413, `"code":-32600`},
		"two methods":                {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400, `the key \"method\" is given twice`},
		"two names of a tool":        {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","na\u006de":"waits"}}`, 400, `the key \"name\" is given twice`},
		"two arguments of one name":  {call("echo", `{"a":1,"a":2}`), 200, `"isError":true`},
		"arguments that are a list":  {call("echo", `[]`), 200, `the arguments must be a JSON object`},
		"arguments nested very deep": {call("echo", `{"a":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+`}`), 200, `nested deeper than 128 levels`},
	} {
		if status, _, body := r.post(c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %.300s, want %d and %s", name, status, body, c.status, c.want)
		}
	}
}

func TestBrowsersOfOtherSitesAreRefused(t *testing.T) {
	r := serve(t, 9, time.Hour)
	for _, headers := range [][]string{{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if status, _, body := r.post(call("echo", `{}`), headers...); status != http.StatusForbidden {
			t.Errorf("%v: %d %s", headers, status, body)
		}
	}
	if status, _, _ := r.post(call("echo", `{}`), "Origin", r.URL, "Sec-Fetch-Site", "same-origin"); status != 200 {
		t.Errorf("the own origin: %d", status)
	}
}

func TestAPageWhoseNameMeansThisMachineIsRefused(t *testing.T) {
	r := serve(t, 9, time.Hour)
	for host, want := range map[string]int{"evil.example": 403, "evil.example:8080": 403, "tools.example": 200, "TOOLS.example:443": 200, "localhost:8080": 200, "127.0.0.1": 200, "[::1]:8080": 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL, strings.NewReader(call("echo", `{}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := r.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, res.StatusCode, want)
		}
	}
}

func TestBothErasAtOneAddress(t *testing.T) {
	r := serve(t, 9, time.Hour)
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		status, _, body := r.post(strings.Replace(initial, "2025-11-25", version, 1), "Accept", accept, "Content-Type", "application/json")
		if status != 200 || !strings.Contains(body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("initialize %s: %d %s", version, status, body)
		}
		if status, _, body = r.post(call("echo", `{}`), "Accept", accept, "Content-Type", "application/json", versionHeader, version); status != 200 || !strings.Contains(body, `"isError":false`) {
			t.Errorf("call %s: %d %s", version, status, body)
		}
	}
	modern := strings.Replace(call("echo", `{}`), `"arguments"`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"arguments"`, 1)
	headers := []string{"Accept", accept, "Content-Type", "application/json", "Mcp-Method", "tools/call", "Mcp-Name", "echo"}
	if status, _, body := r.post(modern, append(headers, versionHeader, Modern)...); status != 200 || !strings.Contains(body, `"isError":false`) {
		t.Errorf("2026-07-28: %d %s", status, body)
	}
	if status, _, body := r.post(modern, headers...); status != 400 || !strings.Contains(body, "header is required") {
		t.Errorf("a version in the message and none in the header: %d %s", status, body)
	}
	if status, _, _ := r.post(call("echo", `{}`), append(headers, versionHeader, "1999-01-01")...); status != 400 {
		t.Errorf("an unknown version: %d", status)
	}
}

// begin opens a session and gives its id; empty if the client got none.
func (r *rig) begin(headers ...string) string {
	r.t.Helper()
	status, header, body := r.post(initial, append([]string{"Accept", accept, "Content-Type", "application/json"}, headers...)...)
	if status != 200 || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		r.t.Fatalf("initialize: %d %s", status, body)
	}
	return header.Get(sessionHeader)
}

func (r *rig) within(session string) (int, string) {
	r.t.Helper()
	status, _, body := r.post(call("echo", `{}`), "Accept", accept, "Content-Type", "application/json", versionHeader, "2025-11-25", sessionHeader, session)
	return status, body
}

func TestSessionsAreBounded(t *testing.T) {
	r := serve(t, 2, time.Hour)
	first, second := r.begin(), r.begin()
	if first == "" || second == "" || first == second {
		t.Fatalf("sessions %q and %q", first, second)
	}
	if third := r.begin(); third != "" {
		t.Errorf("a third session %q", third)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, r.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(sessionHeader, first)
	res, err := r.Client().Do(req)
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Fatalf("delete: %v, %v", res, err)
	}
	_ = res.Body.Close()
	if status, body := r.within(first); status != http.StatusNotFound {
		t.Errorf("a session that its client has ended: %d %s", status, body)
	}
	if r.begin() == "" {
		t.Error("no session where one was ended")
	}
	if r.begin("X-Test-Nobody", "1") != "" {
		t.Error("a session for whom may hold none")
	}
	r.clock.Advance(2 * time.Hour)
	if r.begin() == "" {
		t.Error("no session where the others were left")
	}
}

func TestASessionEndsWhenItIsLeft(t *testing.T) {
	r := serve(t, 9, time.Millisecond)
	session := r.begin()
	for {
		status, _ := r.within(session)
		if status == http.StatusNotFound {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestASessionOfAnotherReplicaIsServedByItself(t *testing.T) {
	a, b := serve(t, 9, time.Hour), serve(t, 9, time.Hour)
	if status, body := b.within(a.begin()); status != 200 || !strings.Contains(body, `"structuredContent"`) {
		t.Errorf("%d %s", status, body)
	}
}

func FuzzEndpointTakesAnyBody(f *testing.F) {
	r := serve(f, 9, time.Hour)
	f.Add(call("echo", `{"top_k":1e400}`))
	f.Add(initial)
	f.Add(`[` + call("echo", `{}`) + `]`)
	f.Add(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "waits") {
			return
		}
		w := httptest.NewRecorder()
		q := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		q.Header.Set("Accept", accept)
		q.Header.Set("Content-Type", "application/json")
		r.Config.Handler.ServeHTTP(w, q)
		if w.Code >= 500 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
