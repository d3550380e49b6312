package binding_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
)

func TestBadRequestsOverJSONRPC(t *testing.T) {
	a := &agent{}
	r := serve(t, a, func(c *binding.Config) { c.MaxBody = 2000 })
	const notA = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Request payload validation error: `
	for _, c := range []struct{ name, body, header, want string }{
		{"empty", ``, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Invalid JSON payload"}}`},
		{"not JSON", `{"jsonrpc"`, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Invalid JSON payload"}}`},
		{"two documents", `{}{}`, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Invalid JSON payload"}}`},
		{"null", `null`, "", notA + `a request is a JSON object"}}`},
		{"number", `5`, "", notA + `a request is a JSON object"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]`, "", notA + `A2A has no batches; send one request object at a time"}}`},
		{"empty object", `{}`, "", notA + `jsonrpc must be \"2.0\""}}`},
		{"old version", `{"jsonrpc":"1.0","id":5,"method":"GetTask"}`, "", `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Request payload validation error: jsonrpc must be \"2.0\""}}`},
		{"no method", `{"jsonrpc":"2.0","id":"a"}`, "", `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Request payload validation error: method must be the name of an A2A operation, such as SendMessage"}}`},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":1}`, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Request payload validation error: method must be the name of an A2A operation, such as SendMessage"}}`},
		{"no id", `{"jsonrpc":"2.0","method":"GetTask"}`, "", notA + `id is missing; every A2A operation has an answer"}}`},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, "", notA + `id must be a string, a number or null"}}`},
		{"id is true", `{"jsonrpc":"2.0","id":true,"method":"GetTask"}`, "", notA + `id must be a string, a number or null"}}`},
		{"member twice", `{"jsonrpc":"2.0","id":1,"method":"GetTask","\u006dethod":"CancelTask"}`, "", notA + `a member of the request object is there twice"}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"message/send"}`, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: \"message/send\""}}`},
		{"params are a list", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["t1"]}`, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params: must be an object with the fields of GetTaskRequest","data":[` + sabhaInfo("INVALID_ARGUMENT") + `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"params","description":"must be an object with the fields of GetTaskRequest"}]}]}}`},
		{"text", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, "Content-Type: text/plain", `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"send the body as application/a2a+json or application/json, not as \"text/plain\"","data":[` + a2aInfo("CONTENT_TYPE_NOT_SUPPORTED") + `]}}`},
		{"too large", `{"a":"` + strings.Repeat("x", 2000) + `"}`, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32042,"message":"the body is larger than 2000 bytes; send large content by URL","data":[` + sabhaInfo("TOO_LARGE") + `]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			headers := []string{}
			if c.header != "" {
				headers = append(headers, c.header)
			}
			got := r.call(t, "POST", "/rpc", c.body, headers...)
			if got.status != 200 || got.body != c.want || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("answer %d %s %s\nwant 200 %s", got.status, got.header.Get("Content-Type"), got.body, c.want)
			}
		})
	}
	if asked := a.lastAsked(); asked != "" {
		t.Errorf("the agent was asked %s", asked)
	}
}

func TestBodyFaultsOverJSONRPCAreInvalidRequests(t *testing.T) {
	r := serve(t, &agent{})
	for _, c := range []struct{ name, body, message string }{
		{"too deep", `{"params":` + strings.Repeat(`[`, 101) + strings.Repeat(`]`, 101) + `}`, "body: the JSON nests deeper than 100 levels"},
		{"not UTF-8", "{\"id\":\"\xff\"}", "body: JSON is sent as UTF-8, and this is not"},
	} {
		got := r.call(t, "POST", "/rpc", c.body)
		if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + c.message + `"`; !strings.HasPrefix(got.body, want) {
			t.Errorf("%s: %s\nwant %s…", c.name, got.body, want)
		}
	}
}

func TestWrongTypeInParamsNamesTheField(t *testing.T) {
	got := serve(t, &agent{}).call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":5}}}`)
	if !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"messageId: `) || strings.Contains(got.body, "proto:") {
		t.Errorf("answer %s", got.body)
	}
}

func TestIDsComeBackAsTheyWereSent(t *testing.T) {
	r := serve(t, &agent{})
	for _, id := range []string{`"a"`, `""`, `"\u0061"`, `1`, `-7`, `12345678901234567890`, `1e3`, `null`} {
		got := r.call(t, "POST", "/rpc", "\n { \"params\" : { } , \"method\":\"GetTask\",\t\"id\" : "+id+" ,\"more\":[{\"id\":[]}], \"jsonrpc\":\"2.0\" } ")
		if want := `{"jsonrpc":"2.0","id":` + id + `,"result":` + aTaskJSON + `}`; got.body != want {
			t.Errorf("id %s: %s, want %s", id, got.body, want)
		}
	}
}

func TestMissingCredentialsAreA401InJSONRPCToo(t *testing.T) {
	got := serve(t, &agent{err: faulty(fault.Unauthenticated)}).call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask"}`)
	if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" || !json.Valid([]byte(got.body)) {
		t.Errorf("answer %d %v %s", got.status, got.header, got.body)
	}
}

func TestFilterThatMeansNothingIsNotDropped(t *testing.T) {
	got := serve(t, &agent{}).call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"RUNNING"}}`)
	if !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"status: must be one of TASK_STATE_SUBMITTED, `) {
		t.Errorf("answer %s", got.body)
	}
}

func TestAddressMayEndInASlash(t *testing.T) {
	a := &agent{}
	r := serve(t, a)
	for path, asked := range map[string]string{"/rpc/": `GetTask {}`, "/research/rpc/": `GetTask {"tenant":"research"}`} {
		got := r.call(t, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`)
		if got.body != `{"jsonrpc":"2.0","id":1,"result":`+aTaskJSON+`}` || a.lastAsked() != asked {
			t.Errorf("%s: asked %s, answer %s", path, a.lastAsked(), got.body)
		}
	}
}

func TestAnswersAreNotForCaches(t *testing.T) {
	r := serve(t, &agent{})
	for _, got := range []answer{
		r.call(t, "GET", "/tasks/t1", ""),
		r.call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`),
		r.call(t, "GET", "/tasks?pageSize=x", ""),
	} {
		if got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("header %v", got.header)
		}
	}
}
