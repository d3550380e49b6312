package gateway_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// told replaces what differs from run to run in an answer.
func told(answer string) string {
	for _, r := range []struct{ pattern, by string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "ID"},
		{`\d{4}-\d\d-\d\dT[\d:.]+Z`, "TIME"},
		{`,?"metadata":\{"urn:sabha:ext:cursor:v1":"[\d.]+"\}`, ""},
		{`, "`, `,"`}, // ProtoJSON puts spaces where it likes
	} {
		answer = regexp.MustCompile(r.pattern).ReplaceAllString(answer, r.by)
	}
	return strings.TrimSpace(answer)
}

// oldMessage is a message as a client of A2A 0.3 writes it in JSON-RPC.
func oldMessage(id, skill, more string) string {
	return `{"message":{"kind":"message","messageId":"` + id + `","role":"user","parts":[{"kind":"text","text":"hello"}],"metadata":{"urn:sabha:ext:skill:v1":"` + skill + `"}` + more + `}}`
}

// oldProto is a message as a client of A2A 0.3 writes it over HTTP+JSON.
func oldProto(id, skill, part string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","content":[` + part + `],"metadata":{"urn:sabha:ext:skill:v1":"` + skill + `"}}}`
}

const helloPart = `{"text":"hello"}`

func oldCall(method, params string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
}

func rpcResult(result string) string { return `{"jsonrpc":"2.0","id":7,"result":` + result + `}` }

// rpcError is an error for a client that states no version, and so is of the time.
func rpcError(code int, message, data string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":"%s","data":{"details":[%s]}}}`, code, message, data)
}

// rpcErrorOfNow is one for a client that states its version.
func rpcErrorOfNow(code int, message, data string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":"%s","data":[%s]}}`, code, message, data)
}

func errorInfo(domain, reason, more string) string {
	return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"` + domain + `"` + more + `}`
}

func badRequest(field, problem string) string {
	return errorInfo("sabha", "INVALID_ARGUMENT", "") + `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"` + field + `","description":"` + problem + `"}]}`
}

// doneTask is the task that skill work has done, as JSON-RPC of 0.3 has it.
func doneTask(message string) string {
	return `{"kind":"task","id":"ID","artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"made"}]}],"contextId":"ID","history":[{"kind":"message","messageId":"` + message +
		`","contextId":"ID","metadata":{"urn:sabha:ext:skill:v1":"work"},"parts":[{"kind":"text","text":"hello"}],"role":"user","taskId":"ID"}],` +
		`"status":{"message":{"kind":"message","messageId":"ID","contextId":"ID","parts":[{"kind":"text","text":"done for /admin"}],"role":"agent","taskId":"ID"},"state":"completed","timestamp":"TIME"}}`
}

func TestOldJSONRPC(t *testing.T) {
	r := start(t)
	known := "X-API-Key: " + r.operator
	for _, c := range []struct {
		name, path, method, params string
		headers                    []string
		want                       string
	}{
		{
			"a direct answer", "/rpc", "message/send", oldMessage("d1", "tell", `,"contextId":"c9"`),
			[]string{known},
			rpcResult(`{"kind":"message","messageId":"ID","contextId":"c9","parts":[{"kind":"text","text":"/admin …"}],"role":"agent"}`),
		},
		{
			"nobody may ask for it", "/rpc", "message/send", oldMessage("d1", "tell", `,"contextId":"c9"`), nil,
			rpcResult(`{"kind":"message","messageId":"ID","contextId":"c9","parts":[{"kind":"text","text":" …"}],"role":"agent"}`),
		},
		{"a task", "/rpc", "message/send", oldMessage("d2", "work", ""), []string{known}, rpcResult(doneTask("d2"))},
		{"the same message again", "/rpc", "message/send", oldMessage("d2", "work", ""), []string{known}, rpcResult(doneTask("d2"))},
		{"a version that says so", "/rpc", "message/send", oldMessage("d3", "work", ""), []string{known, "A2A-Version: 0.3"}, rpcResult(doneTask("d3"))},
		{"a patch of it", "/rpc", "message/send", oldMessage("d4", "work", ""), []string{known, "A2A-Version: 0.3.0"}, rpcResult(doneTask("d4"))},
		{"a tenant", "/research/rpc", "message/send", oldMessage("d5", "work", ""), []string{known}, rpcResult(doneTask("d5"))},

		{
			"another body for the message", "/rpc", "message/send", oldMessage("d2", "work", `,"contextId":"c1"`),
			[]string{known},
			rpcError(-32040, `messageId \"d2\" was used for another message; choose a new id, or send the same message to get its task`,
				errorInfo("sabha", "MESSAGE_ID_CONFLICT", `,"metadata":{"taskId":"ID"}`)),
		},
		{
			"no task", "/rpc", "tasks/get", `{"id":"t9"}`,
			[]string{known},
			rpcError(-32001, `task \"t9\" does not exist or is not yours`, errorInfo("a2a-protocol.org", "TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`)),
		},
		{
			"no task, as clients of today read it", "/rpc", "tasks/get", `{"id":"t9"}`,
			[]string{known, "A2A-Version: 0.3"},
			rpcErrorOfNow(-32001, `task \"t9\" does not exist or is not yours`, errorInfo("a2a-protocol.org", "TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`)),
		},
		{
			"no task to cancel", "/rpc", "tasks/cancel", `{"id":"t9"}`,
			[]string{known},
			rpcError(-32001, `task \"t9\" does not exist or is not yours`, errorInfo("a2a-protocol.org", "TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`)),
		},
		{
			"bad credentials", "/rpc", "tasks/get", `{"id":"t9"}`,
			[]string{"Authorization: Bearer sk-wrong"},
			rpcError(-32044, `the API key is not known, or it was revoked`, errorInfo("sabha", "UNAUTHENTICATED", ``)),
		},
		{
			"bad input of the agent's", "/rpc", "message/send", oldMessage("d7", "fail", ""),
			[]string{known},
			rpcError(-32602, `message.parts[0]: say something else`, `…`),
		},

		{
			"the version of others", "/rpc", "message/send", oldMessage("d8", "work", ""),
			[]string{known, "A2A-Version: 1.0"},
			rpcErrorOfNow(-32009, `this is a call of A2A 0.3, and A2A-Version says \"1.0\"; the agent card names the interfaces of each version`,
				errorInfo("a2a-protocol.org", "VERSION_NOT_SUPPORTED", `,"metadata":{"supportedVersions":"1.0,0.3"}`)),
		},
		{
			"a method of 1.0 in 0.3", "/rpc", "GetTask", `{"id":"t9"}`,
			[]string{known, "A2A-Version: 0.3"},
			rpcErrorOfNow(-32009, `A2A version \"0.3\" is not served here; send A2A-Version: 1.0, or call the methods of your version if the agent card names an interface of it`,
				errorInfo("a2a-protocol.org", "VERSION_NOT_SUPPORTED", `,"metadata":{"supportedVersions":"1.0"}`)),
		},
		{
			"a method of 1.0 without a version", "/rpc", "GetTask", `{"id":"t9"}`,
			[]string{known},
			rpcErrorOfNow(-32009, `A2A version \"0.3\" is not served here; send A2A-Version: 1.0, or call the methods of your version if the agent card names an interface of it`,
				errorInfo("a2a-protocol.org", "VERSION_NOT_SUPPORTED", `,"metadata":{"supportedVersions":"1.0"}`)),
		},
		{"a method that is neither's", "/rpc", "tasks/list", `{}`, []string{known}, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found: \"tasks/list\""}}`},

		{
			"a body of 1.0", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`,
			[]string{known},
			rpcError(-32602, `params.message.parts[0].kind: is missing; it must be text, file or data. In A2A 1.0 the method is SendMessage`,
				badRequest("params.message.parts[0].kind", "is missing; it must be text, file or data. In A2A 1.0 the method is SendMessage")),
		},
		{
			"a role of 1.0", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"ROLE_USER","parts":[{"kind":"text","text":"hello"}]}}`,
			[]string{known},
			rpcError(-32602, `params.message.role: must be \"user\" in a message to an agent`, badRequest("params.message.role", `must be \"user\" in a message to an agent`)),
		},
		{
			"no parameters", "/rpc", "message/send", `null`,
			[]string{known},
			rpcError(-32602, `params.message: is missing`, badRequest("params.message", `is missing`)),
		},
		{
			"no parts", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":[]}}`,
			[]string{known},
			rpcError(-32602, `message.parts: is empty; send at least one part`, badRequest("message.parts", `is empty; send at least one part`)),
		},
		{
			"parts that are no list", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":"hello"}}`,
			[]string{known},
			rpcError(-32602, `params.message.parts: must be a list, not string`, badRequest("params.message.parts", `must be a list, not string`)),
		},
		{
			"an unknown kind", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":[{"kind":"video"}]}}`,
			[]string{known},
			rpcError(-32602, `params.message.parts[0].kind: must be text, file or data, not \"video\"`, badRequest("params.message.parts[0].kind", `must be text, file or data, not \"video\"`)),
		},
		{
			"no base64", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":[{"kind":"file","file":{"bytes":"%%"}}]}}`,
			[]string{known},
			rpcError(-32602, `params.message.parts[0].file.bytes: must be in base64`, badRequest("params.message.parts[0].file.bytes", `must be in base64`)),
		},
		{
			"a file without content", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":[{"kind":"file","file":{"name":"x"}}]}}`,
			[]string{known},
			rpcError(-32602, `params.message.parts[0].file: must have either bytes or uri`, badRequest("params.message.parts[0].file", `must have either bytes or uri`)),
		},
		{
			"data that is no object", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":[{"kind":"data","data":[1]}]}}`,
			[]string{known},
			rpcError(-32602, `params.message.parts[0].data: must be an object`, badRequest("params.message.parts[0].data", `must be an object`)),
		},
		{
			"a file that the skill does not take", "/rpc", "message/send", `{"message":{"messageId":"b1","role":"user","parts":[{"kind":"file","file":{"bytes":"aGk=","mimeType":"image/png"}}],"metadata":{"urn:sabha:ext:skill:v1":"work"}}}`,
			[]string{known},
			rpcError(-32005, `message.parts[0]: skill work does not take image/png; it takes text/plain, application/json`, `…`),
		},
		{
			"push without a message", "/rpc", "message/send", `{"configuration":{"pushNotificationConfig":{"url":"https://example.com"}}}`,
			[]string{known},
			rpcError(-32602, `params.message: is missing`, badRequest("params.message", `is missing`)),
		},
		{
			"an id of the wrong type", "/rpc", "tasks/get", `{"id":7}`,
			[]string{known},
			rpcError(-32602, `params.id: must be a string, not number`, badRequest("params.id", `must be a string, not number`)),
		},
		{
			"parameters by position", "/rpc", "tasks/get", `["t9"]`,
			[]string{known},
			rpcError(-32602, `params: must be an object, not array`, badRequest("params", `must be an object, not array`)),
		},
		{
			"a length below zero", "/rpc", "tasks/get", `{"id":"t9","historyLength":-1}`,
			[]string{known},
			rpcError(-32602, `historyLength: must not be negative`, badRequest("historyLength", `must not be negative`)),
		},
		{
			"a length beyond all bounds", "/rpc", "tasks/get", `{"id":"t9","historyLength":4294967297}`,
			[]string{known},
			rpcError(-32602, `params.historyLength: must be from 0 to 2147483647`, badRequest("params.historyLength", `must be from 0 to 2147483647`)),
		},
	} {
		code, header, body := r.post(t, c.path, oldCall(c.method, c.params), c.headers)
		got := told(body)
		before, after, some := strings.Cut(c.want, "…")
		if got != c.want && (!some || !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after)) {
			t.Errorf("%s:\n %s\nwant\n %s", c.name, got, c.want)
		}
		want := 200
		if strings.HasPrefix(c.name, "bad credentials") {
			want = 401
		}
		if code != want || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want %d application/json", c.name, code, header.Get("Content-Type"), want)
		}
	}
}

// A stream that fails before its first event is a stream of one error; an old client
// reads nothing else.
func TestOldStreamsOverJSONRPC(t *testing.T) {
	r := start(t)
	known := []string{"X-API-Key: " + r.operator}
	for _, c := range []struct {
		name, method, params string
		headers              []string
		want                 []string
	}{
		{"a task", "message/stream", oldMessage("s1", "work", ""), known, []string{
			rpcResult(`{"kind":"task","id":"ID","contextId":"ID","history":[{"kind":"message","messageId":"s1","contextId":"ID","metadata":{"urn:sabha:ext:skill:v1":"work"},"parts":[{"kind":"text","text":"hello"}],"role":"user","taskId":"ID"}],"status":{"state":"submitted","timestamp":"TIME"}}`),
			rpcResult(`{"kind":"status-update","contextId":"ID","final":false,"status":{"state":"working","timestamp":"TIME"},"taskId":"ID"}`),
			rpcResult(`{"kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"made"}]},"contextId":"ID","lastChunk":true,"taskId":"ID"}`),
			rpcResult(`{"kind":"status-update","contextId":"ID","final":true,"status":{"message":{"kind":"message","messageId":"ID","contextId":"ID","parts":[{"kind":"text","text":"done for /admin"}],"role":"agent","taskId":"ID"},"state":"completed","timestamp":"TIME"},"taskId":"ID"}`),
		}},
		{"a direct answer", "message/stream", oldMessage("s2", "echo", `,"contextId":"c9"`), nil, []string{
			rpcResult(`{"kind":"message","messageId":"ID","contextId":"c9","parts":[{"kind":"text","text":"hello"},{"kind":"data","data":{"value":["a","list"]},"metadata":{"data_part_compat":true}}],"role":"agent"}`),
		}},
		{"no task", "tasks/resubscribe", `{"id":"t9"}`, known, []string{
			rpcError(-32001, `task \"t9\" does not exist or is not yours`, errorInfo("a2a-protocol.org", "TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`)),
		}},
		{"no parts", "message/stream", `{"message":{"messageId":"s3","role":"user","parts":[]}}`, known, []string{
			rpcError(-32602, `message.parts: is empty; send at least one part`, badRequest("message.parts", `is empty; send at least one part`)),
		}},
		{"no message", "message/stream", `{}`, known, []string{rpcError(-32602, `params.message: is missing`, badRequest("params.message", `is missing`))}},
		{"bad credentials", "message/stream", oldMessage("s4", "tell", ""), []string{"X-API-Key: sk-wrong"}, []string{
			rpcError(-32044, `the API key is not known, or it was revoked`, errorInfo("sabha", "UNAUTHENTICATED", ``)),
		}},
	} {
		code, header, body := r.post(t, "/rpc", oldCall(c.method, c.params), c.headers)
		var got []string
		for events := frames(strings.NewReader(body)); ; {
			data, ok := nextFrame(events)
			if !ok {
				break
			}
			got = append(got, told(data))
		}
		wantCode, wantType := 200, "text/event-stream"
		if c.name == "bad credentials" {
			wantCode, wantType, got = 401, "application/json", []string{told(body)}
		}
		if code != wantCode || header.Get("Content-Type") != wantType || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %d %s\n%s\nwant %d %s\n%s", c.name, code, header.Get("Content-Type"), strings.Join(got, "\n"), wantCode, wantType, strings.Join(c.want, "\n"))
		}
	}
}

func TestOldHTTP(t *testing.T) {
	r := start(t)
	known := "X-API-Key: " + r.operator
	done := func(id string) string {
		return `{"id":"ID","contextId":"ID","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"ID","contextId":"ID","taskId":"ID","role":"ROLE_AGENT","content":[{"text":"done for /admin"}]},"timestamp":"TIME"},` +
			`"artifacts":[{"artifactId":"a","parts":[{"text":"made"}]}],"history":[{"messageId":"` + id + `","contextId":"ID","taskId":"ID","role":"ROLE_USER","content":[{"text":"hello"}],"metadata":{"urn:sabha:ext:skill:v1":"work"}}]}`
	}
	// The JavaScript SDK reads a code at the root, the Go SDK the error of 1.0.
	fails := func(rpc, code int, status, message, details string) string {
		return fmt.Sprintf(`{"code":%d,"message":"%s","data":[%s],"error":{"code":%d,"status":"%s","message":"%s","details":[%s]}}`, rpc, message, details, code, status, message, details)
	}
	noTask := fails(-32001, 404, "NOT_FOUND", `task \"t9\" does not exist or is not yours`, errorInfo("a2a-protocol.org", "TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`))
	invalid := func(field, problem string) string {
		return fails(-32602, 400, "INVALID_ARGUMENT", field+": "+problem, badRequest(field, problem))
	}
	for _, c := range []struct {
		verb, path, body string
		header           string
		code             int
		want             string
	}{
		{"POST", "/v1/message:send", oldProto("h1", "work", helloPart), known, 200, `{"task":` + done("h1") + `}`},
		{"POST", "/v1/message:send", strings.Replace(strings.Replace(oldProto("h2", "work", helloPart), "content", "parts", 1), "message", "request", 1), known, 200, `{"task":` + done("h2") + `}`},
		{"POST", "/research/v1/message:send", oldProto("h3", "work", helloPart), known, 200, `{"task":` + done("h3") + `}`},
		{"GET", "/v1/tasks/t9", "", known, 404, noTask},
		{"GET", "/v1/tasks/t9?historyLength=2", "", known, 404, noTask},
		{"POST", "/v1/tasks/t9:cancel", "", known, 404, noTask},
		{"POST", "/v1/tasks/t9:subscribe", "", known, 404, noTask},
		{"GET", "/v1/tasks/t9:subscribe", "", known, 404, noTask},
		{"GET", "/research/v1/tasks?pageSize=7&status=TASK_STATE_CANCELLED", "", known, 200, `{}`},
		{"GET", "/v1/tasks?status=CANCELLED", "", known, 400, invalid("status", `must be a task state, such as TASK_STATE_WORKING, not \"CANCELLED\"`)},
		{"GET", "/v1/tasks/t9?historyLength=x", "", known, 400, invalid("historyLength", `must be a whole number, not \"x\"`)},
		{"POST", "/v1/message:send", `{"message":{"messageId":"h4","role":"user","content":[{"text":"hello"}]}}`, known, 400, invalid("message.role", `must be ROLE_USER in a message to an agent`)},
		{"POST", "/v1/message:send", `{"message":{"messageId":7}}`, known, 400, invalid("body", `cannot be read as one of A2A 0.3: invalid value for string field messageId: 7`)},
		{"POST", "/v1/message:send", `{"message":{"messageId":"h4","role":"ROLE_AGENT","content":[{"text":"hello"}]}}`, known, 400, invalid("message.role", `must be ROLE_USER in a message to an agent`)},
		{"POST", "/v1/message:send", oldProto("h5", "work", `{}`), known, 400, invalid("message.content[0]", `has no content; set one of text, file and data`)},
		{"POST", "/v1/message:send", `{}`, known, 400, invalid("message", `is missing`)},
		{"POST", "/v1/message:stream", `[]`, known, 400, invalid("body", `must be a JSON object`)},
		{"POST", "/v1/message:send", `{"message"`, known, 400, invalid("body", `must be a JSON object`)},
		{
			"POST", "/v1/message:stream", oldProto("h6", "work", helloPart), "X-API-Key: sk-wrong", 401,
			fails(-32044, 401, "UNAUTHENTICATED", "the API key is not known, or it was revoked", errorInfo("sabha", "UNAUTHENTICATED", "")),
		},
		{
			"POST", "/v1/message:send", oldProto("h7", "work", helloPart), "A2A-Version: 1.0", 400,
			fails(-32009, 400, "FAILED_PRECONDITION", `this is a call of A2A 0.3, and A2A-Version says \"1.0\"; the agent card names the interfaces of each version`,
				errorInfo("a2a-protocol.org", "VERSION_NOT_SUPPORTED", `,"metadata":{"supportedVersions":"1.0,0.3"}`)),
		},
		{"DELETE", "/v1/card", "", known, 405, `{"error":{"code":405,"status":"UNIMPLEMENTED","message":"this path takes GET, not DELETE","details":[]}}`},
		{"GET", "/v1/message", "", known, 404, `{"error":{"code":404,"status":"NOT_FOUND","message":"no such path; the agent card at /.well-known/agent-card.json names the interfaces","details":[]}}`},
	} {
		code, _, body := r.do(t, c.verb, c.path, c.body, []string{c.header})
		if got := told(body); code != c.code || got != c.want {
			t.Errorf("%s %s %s: %d\n %s\nwant %d\n %s", c.verb, c.path, c.body, code, got, c.code, c.want)
		}
	}
}

// TestOldFiles sends a file in each of the forms that clients write its bytes in.
func TestOldFiles(t *testing.T) {
	r := start(t)
	once := base64.StdEncoding.EncodeToString([]byte("\x89PNG"))
	twice := base64.StdEncoding.EncodeToString([]byte(once))
	for i, bytes := range []string{once, twice} {
		_, _, body := r.post(t, "/v1/message:send", oldProto(fmt.Sprintf("f%d", i), "echo", `{"file":{"fileWithBytes":"`+bytes+`","mimeType":"image/png","name":"a.png"}}`), nil)
		if want := `"content":[{"file":{"fileWithBytes":"` + twice + `","mimeType":"image/png","name":"a.png"}},`; !strings.Contains(body, want) {
			t.Errorf("sent %s, answer %s", bytes, body)
		}
	}
	_, _, body := r.post(t, "/rpc", oldCall("message/send", `{"message":{"messageId":"f3","role":"user","parts":[{"kind":"file","file":{"bytes":"`+once+`","mimeType":"image/png","name":"a.png"}},`+
		`{"kind":"file","file":{"uri":"https://example.com/b"}},{"kind":"data","data":{"n":[1,2]}}],"metadata":{"urn:sabha:ext:skill:v1":"echo"}}}`), nil)
	if want := `"parts":[{"kind":"file","file":{"mimeType":"image/png","name":"a.png","bytes":"` + once + `"}},{"kind":"file","file":{"uri":"https://example.com/b"}},{"kind":"data","data":{"n":[1,2]}},` +
		`{"kind":"data","data":{"value":["a","list"]},"metadata":{"data_part_compat":true}}]`; !strings.Contains(body, want) {
		t.Errorf("answer %s\nwant …%s…", body, want)
	}
}
