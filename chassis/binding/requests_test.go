package binding_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/binding"
)

// transports are metadata that gRPC itself sends.
var transports = []string{":authority", "content-type", "user-agent", "grpc-accept-encoding"}

func sent(md metadata.MD) map[string]string {
	got := map[string]string{}
	for key, values := range md {
		if !slices.Contains(transports, key) {
			got[key] = strings.Join(values, " | ")
		}
	}
	return got
}

func TestOnlyNamedHeadersReachTheAgent(t *testing.T) {
	a := &agent{}
	r := serve(t, a)
	headers := []string{
		"Authorization: Bearer sk-1", "X-API-Key: sk-2", "A2A-Version: 1.0", "A2A-Extensions: urn:a", "A2A-Extensions: urn:b",
		"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate: k=v", "Last-Event-ID: 3.4",
		"Sabha-Token: forged", "Grpc-Metadata-Sabha-Token: forged", "Grpc-Timeout: 1n", "A2A-Cursor: 9.9", "Cookie: c=1",
		"X-Forwarded-For: 10.0.0.1", "X-Forwarded-Host: inside", "X-HTTP-Method-Override: DELETE", "Te: trailers", "Baggage: b=1",
		"Authorization-Bin: AA==", "Grpc-Metadata-X-Bin: AA==",
	}
	want := map[string]string{
		"authorization": "Bearer sk-1", "x-api-key": "sk-2", "a2a-version": "1.0", "a2a-extensions": "urn:a,urn:b",
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "k=v",
	}
	subscribed := maps.Clone(want)
	subscribed["a2a-cursor"] = "3.4"
	for _, c := range []struct {
		name, verb, path, body string
		want                   map[string]string
	}{
		{"REST", "POST", "/message:send", "{}", want},
		{"REST get", "GET", "/research/tasks/t1", "", want},
		{"REST stream", "POST", "/message:stream", "{}", want},
		{"REST subscribe", "GET", "/tasks/t1:subscribe", "", subscribed},
		{"REST subscribe by POST", "POST", "/research/tasks/t1:subscribe", "", subscribed},
		{"JSON-RPC", "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, want},
		{"JSON-RPC stream", "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage"}`, want},
		{"JSON-RPC subscribe", "POST", "/research/rpc", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask"}`, subscribed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.call(t, c.verb, c.path, c.body, headers...); got.status != 200 {
				t.Fatalf("answer %d %s", got.status, got.body)
			}
			if got := sent(a.lastMetadata()); !maps.Equal(got, c.want) {
				t.Errorf("metadata %v\nwant     %v", got, c.want)
			}
		})
	}
}

func TestVersionMayBeInTheQuery(t *testing.T) {
	a := &agent{}
	r := serve(t, a)
	for _, c := range []struct{ name, query, header, want string }{
		{"query", "?A2A-Version=1.0", "X-Other: 1", "1.0"},
		{"any case", "?a2a-version=1.0", "X-Other: 1", "1.0"},
		{"the header wins", "?A2A-Version=0.3", "A2A-Version: 1.0", "1.0"},
		{"neither", "", "X-Other: 1", ""},
	} {
		for _, call := range []struct{ path, body string }{
			{"/message:send", `{}`}, {"/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`},
		} {
			t.Run(c.name+" at "+call.path, func(t *testing.T) {
				r.call(t, "POST", call.path+c.query, call.body, c.header)
				if got := sent(a.lastMetadata())["a2a-version"]; got != c.want {
					t.Errorf("version %q, want %q", got, c.want)
				}
			})
		}
	}
}

const unreadable = `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":`

func TestBadRequestsOverHTTP(t *testing.T) {
	a := &agent{}
	r := serve(t, a, func(c *binding.Config) { c.MaxBody = 2000 })
	deep := strings.Repeat(`[`, 101) + strings.Repeat(`]`, 101)
	for _, c := range []struct {
		name, verb, path, body, header string
		status                         int
		want                           string // what the body begins with
	}{
		{"not JSON", "POST", "/message:send", `{"message":`, "", 400, unreadable + `"body: `},
		{"not JSON, streaming", "POST", "/message:stream", `hello`, "", 400, unreadable + `"body: `},
		{"two documents", "POST", "/message:send", `{} {}`, "", 400, unreadable + `"body: `},
		{"an array", "POST", "/message:send", `[]`, "", 400, unreadable + `"body: `},
		{"wrong type", "POST", "/message:send", `{"message":{"messageId":5}}`, "", 400, unreadable + `"messageId: `},
		{"unknown enum", "POST", "/message:send", `{"message":{"role":"user"}}`, "", 400, unreadable + `"message.role: must be one of ROLE_USER, ROLE_AGENT, not \"user\""`},
		{"enum number in quotes", "POST", "/message:send", `{"message":{"role":"1"}}`, "", 400, unreadable + `"message.role: must be one of ROLE_USER, ROLE_AGENT, not \"1\""`},
		{"unknown enum beside an unknown field", "POST", "/message:send", `{"later":1,"message":{"role":"user","parts":[{"data":{"role":"any"}}]}}`, "", 400, unreadable + `"message.role: `},
		{"not UTF-8", "POST", "/message:send", "{\"a\":\"\xff\"}", "", 400, unreadable + `"body: JSON is sent as UTF-8, and this is not"`},
		{"too deep", "POST", "/message:send", `{"metadata":{"a":` + deep + `}}`, "", 400, unreadable + `"body: the JSON nests deeper than 100 levels"`},
		{"brackets in a string are not deep", "POST", "/message:send", `{"a":"` + strings.Repeat(`[\"`, 101) + `"}`, "", 200, `{"task":`},
		{"too large", "POST", "/message:send", `{"a":"` + strings.Repeat("x", 2000) + `"}`, "", 413, `{"error":{"code":413,"status":"RESOURCE_EXHAUSTED","message":"the body is larger than 2000 bytes; send large content by URL","details":[` + sabhaInfo("TOO_LARGE")},
		{"form", "POST", "/message:send", `a=1`, "Content-Type: application/x-www-form-urlencoded", 400, unreadable + `"send the body as application/a2a+json or application/json, not as \"application/x-www-form-urlencoded\"","details":[` + a2aInfo("CONTENT_TYPE_NOT_SUPPORTED")},
		{"text", "POST", "/message:stream", `{}`, "Content-Type: text/plain", 400, unreadable + `"send the body as application/a2a+json or application/json, not as \"text/plain\"","details":[` + a2aInfo("CONTENT_TYPE_NOT_SUPPORTED")},
		{"broken content type", "POST", "/message:send", `{}`, "Content-Type: ;;", 400, unreadable + `"send the body as`},
		{"compressed", "POST", "/message:send", `{}`, "Content-Encoding: gzip", 400, unreadable + `"send the body without Content-Encoding`},
		{"no body, any type", "POST", "/tasks/t1:cancel", ``, "Content-Type: text/plain", 200, `{"id":`},
		{"header that is not ASCII", "GET", "/tasks/t1", ``, "A2A-Version: 1.0é", 400, unreadable + `"header A2A-Version: only printable ASCII characters are allowed"`},
		{"cursor that is not ASCII", "GET", "/tasks/t1:subscribe", ``, "Last-Event-ID: é", 400, unreadable + `"header Last-Event-ID: `},

		{"query that cannot be read", "GET", "/tasks?pageSize=%zz", ``, "", 400, unreadable + `"query: the query cannot be read; percent-encode its values"`},
		{"page size", "GET", "/tasks?pageSize=ten", ``, "", 400, unreadable + `"pageSize: must be a whole number of at most 32 bits, not \"ten\"","details":[` + sabhaInfo("INVALID_ARGUMENT") + `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"pageSize","description":"must be a whole number of at most 32 bits, not \"ten\""}]}]}}`},
		{"state", "GET", "/research/tasks?status=RUNNING", ``, "", 400, unreadable + `"status: must be one of TASK_STATE_SUBMITTED, `},
		{"state by unknown number", "GET", "/tasks?status=77", ``, "", 400, unreadable + `"status: must be one of`},
		{"flag", "GET", "/tasks?includeArtifacts=maybe", ``, "", 400, unreadable + `"includeArtifacts: must be true or false, not \"maybe\""`},
		{"time", "GET", "/tasks?statusTimestampAfter=yesterday", ``, "", 400, unreadable + `"statusTimestampAfter: must be a time such as`},
		{"history length", "GET", "/tasks/t1?historyLength=1.5", ``, "", 400, unreadable + `"historyLength: must be a whole number`},
		{"given twice", "GET", "/tasks?pageSize=1&pageSize=2", ``, "", 400, unreadable + `"pageSize: is given more than once"`},
		{"by both names", "GET", "/tasks?pageSize=1&page_size=2", ``, "", 400, unreadable + `"page`},
		{"negative numbers are the agent's to refuse", "GET", "/tasks/t1?historyLength=-1", ``, "", 200, `{"id":`},
	} {
		t.Run(c.name, func(t *testing.T) {
			headers := []string{}
			if c.header != "" {
				headers = append(headers, c.header)
			}
			got := r.call(t, c.verb, c.path, c.body, headers...)
			if got.status != c.status || !strings.HasPrefix(got.body, c.want) || got.header.Get("Content-Type") != "application/a2a+json" {
				t.Errorf("answer %d %s %s\nwant %d %s…", got.status, got.header.Get("Content-Type"), got.body, c.status, c.want)
			}
			if strings.Contains(got.body, "proto:") || strings.Contains(got.body, "strconv") {
				t.Errorf("answer speaks of our libraries: %s", got.body)
			}
		})
	}
}

func TestBodyOfUnknownLengthIsBoundedToo(t *testing.T) {
	r := serve(t, &agent{}, func(c *binding.Config) { c.MaxBody = 100 })
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.URL+"/message:send", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Body, req.ContentLength = http.MaxBytesReader(nil, readerOf(strings.Repeat(" ", 1000)), 2000), -1
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("status %d, want 413", resp.StatusCode)
	}
}

func TestPathsAndVerbs(t *testing.T) {
	a := &agent{}
	r := serve(t, a)
	for _, c := range []struct{ verb, path, allow string }{
		{"GET", "/", ""},
		{"GET", "/nothing", ""},
		{"POST", "/message:other", ""},
		{"GET", "/tasks/", ""},
		{"GET", "/tasks//x", ""},
		{"GET", "/research/", ""},
		{"GET", "//tasks", ""},
		{"POST", "/tasks/:cancel", ""},
		{"GET", "/tasks/t1/other", ""},
		{"GET", "/tasks/t1/pushNotificationConfigs/p1/more", ""},
		{"GET", "/tasks/tasks", ""},
		{"POST", "/v1/message:send", ""},
		{"GET", "/rpc/tasks", ""},
		{"GET", "/extendedAgentCard/tasks", ""},
		{"POST", "/message:send/message:send", ""},
		{"GET", "/.well-known/other", ""},
		{"GET", "/.well-known/tasks", ""},
		{"GET", "/message:send", "POST"},
		{"PUT", "/research/message:stream", "POST"},
		{"POST", "/tasks", "GET"},
		{"DELETE", "/tasks/t1", "GET"},
		{"HEAD", "/tasks/t1", "GET"},
		{"GET", "/tasks/t1:cancel", "POST"},
		{"DELETE", "/tasks/t1:subscribe", "GET, POST"},
		{"PATCH", "/research/tasks/t1/pushNotificationConfigs", "GET, POST"},
		{"POST", "/tasks/t1/pushNotificationConfigs/p1", "GET, DELETE"},
		{"POST", "/extendedAgentCard", "GET"},
		{"GET", "/rpc", "POST"},
		{"OPTIONS", "/research/rpc", "POST"},
		{"POST", "/.well-known/agent-card.json", "GET, HEAD"},
	} {
		t.Run(c.verb+" "+c.path, func(t *testing.T) {
			status, want := 404, `{"error":{"code":404,"status":"NOT_FOUND","message":"no such path; the agent card at /.well-known/agent-card.json names the interfaces","details":[]}}`
			if c.allow != "" {
				status, want = 405, `{"error":{"code":405,"status":"UNIMPLEMENTED","message":"this path takes `+c.allow+`, not `+c.verb+`","details":[]}}`
			}
			if c.verb == "HEAD" {
				want = ""
			}
			got := r.call(t, c.verb, c.path, "")
			if got.status != status || got.body != want || got.header.Get("Allow") != c.allow {
				t.Errorf("answer %d Allow %q %s\nwant %d Allow %q %s", got.status, got.header.Get("Allow"), got.body, status, c.allow, want)
			}
		})
	}
	if asked := a.lastAsked(); asked != "" {
		t.Errorf("the agent was asked %s", asked)
	}
}
