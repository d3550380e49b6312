package binding_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
)

var errUntold = errors.New("dial tcp 10.1.2.3: refused")

// aDialect says in capitals what 1.0 says.
func aDialect() *binding.Dialect {
	get := binding.Operation{
		Name: "GetTask",
		Decode: func(in binding.Input) (proto.Message, error) {
			id := in.Task
			if id == "" {
				id = string(in.Body)
			}
			if id == "bad" {
				return nil, fault.Invalid("id", "is bad")
			}
			return &a2apb.GetTaskRequest{Id: id + in.Query.Get("more")}, nil
		},
		Encode: func(m proto.Message) ([]byte, error) {
			return []byte(`"TASK ` + m.(*a2apb.Task).GetId() + `"`), nil
		},
	}
	watch := binding.Operation{
		Name:   "SubscribeToTask",
		Decode: func(in binding.Input) (proto.Message, error) { return &a2apb.SubscribeToTaskRequest{Id: in.Task}, nil },
		Encode: func(m proto.Message) ([]byte, error) {
			if m.(*a2apb.StreamResponse).GetTask() == nil {
				return nil, errUntold
			}
			return []byte(`"EVENT"`), nil
		},
	}
	drop := binding.Operation{
		Name: "DeleteTaskPushNotificationConfig",
		Decode: func(in binding.Input) (proto.Message, error) {
			return &a2apb.DeleteTaskPushNotificationConfigRequest{TaskId: in.Task, Id: in.Config}, nil
		},
		Encode: func(proto.Message) ([]byte, error) { return nil, nil },
	}
	return &binding.Dialect{
		Version: "0.9",
		Methods: map[string]binding.Operation{"get": get, "watch": watch, "drop": drop},
		Routes: []binding.Route{
			{Verb: "GET", Path: "v1/tasks/{task}:watch", Operation: watch},
			{Verb: "GET", Path: "v1/tasks/{task}", Operation: get},
			{Verb: "POST", Path: "v1/tasks/{task}", Operation: get},
			{Verb: "DELETE", Path: "v1/tasks/{task}/configs/{config}", Operation: drop},
		},
		Card: func(c *a2apb.AgentCard) ([]byte, error) { return []byte(`"CARD ` + c.GetName() + `"`), nil },
	}
}

func withDialect(c *binding.Config) { c.Older = aDialect() }

func TestADialectIsServedBesideTheOtherVersion(t *testing.T) {
	a := &agent{}
	r := serve(t, a, withDialect)
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	for _, c := range []struct {
		verb, path, body string
		status           int
		asked, want      string
	}{
		{"GET", "/v1/tasks/t7", "", 200, `GetTask {"id":"t7"}`, `"TASK t1"`},
		{"POST", "/v1/tasks/t7?more=8", "{}", 200, `GetTask {"id":"t78"}`, `"TASK t1"`},
		{"GET", "/research/v1/tasks/t7", "", 200, `GetTask {"tenant":"research","id":"t7"}`, `"TASK t1"`},
		{"GET", "/v1/tasks/t7:watch", "", 200, `SubscribeToTask {"id":"t7"}`, "data: \"EVENT\"\n\n"},
		{"DELETE", "/v1/tasks/t7/configs/c8", "", 204, `DeleteTaskPushNotificationConfig {"taskId":"t7","id":"c8"}`, ""},
		{"POST", "/rpc", rpc("get", "9"), 200, `GetTask {"id":"9"}`, `{"jsonrpc":"2.0","id":1,"result":"TASK t1"}`},
		{"POST", "/research/rpc", rpc("drop", "{}"), 200, `DeleteTaskPushNotificationConfig {"tenant":"research"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"POST", "/rpc", rpc("watch", "{}"), 200, `SubscribeToTask {}`, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"EVENT\"}\n\n"},
		{"GET", "/.well-known/agent-card.json", "", 200, "", `"CARD front"`},
		// What is not the dialect's is as it was.
		{"GET", "/tasks/t7", "", 200, `GetTask {"id":"t7"}`, aTaskJSON},
		{"POST", "/rpc", rpc("GetTask", `{"id":"t7"}`), 200, `GetTask {"id":"t7"}`, `{"jsonrpc":"2.0","id":1,"result":` + aTaskJSON + `}`},
		{"GET", "/v1/tasks/t7/configs", "", 404, "", `{"error":{"code":404,"status":"NOT_FOUND","message":"no such path; the agent card at /.well-known/agent-card.json names the interfaces","details":[]}}`},
		{"PUT", "/v1/tasks/t7", "", 405, "", `{"error":{"code":405,"status":"UNIMPLEMENTED","message":"this path takes GET, POST, not PUT","details":[]}}`},
	} {
		a.asked = ""
		got := r.call(t, c.verb, c.path, c.body)
		if got.status != c.status || got.body != c.want || a.lastAsked() != c.asked {
			t.Errorf("%s %s %s: %d %s, asked %s\nwant %d %s, asked %s", c.verb, c.path, c.body, got.status, got.body, a.lastAsked(), c.status, c.want, c.asked)
		}
		if c.asked == "" {
			continue
		}
		client := strings.Join(a.lastMetadata().Get("sabha-client-version"), ",")
		if dialect := !strings.Contains(c.body+c.path, "GetTask") && c.path != "/tasks/t7"; dialect != (client == "0.9") {
			t.Errorf("%s %s: the agent is told that the client speaks %q", c.verb, c.path, client)
		}
	}
}

func TestCallsInADialectAreOfItsVersion(t *testing.T) {
	a := &agent{}
	r := serve(t, a, withDialect)
	for header, refused := range map[string]bool{"": false, "0.9": false, "0.9.4": false, "1.0": true, "0.95": true, "0.8": true} {
		for _, got := range []answer{
			r.call(t, "GET", "/v1/tasks/t7", "", "A2A-Version: "+header, "X-A2A-Extensions: urn:x", "sabha-client-version: 5"),
			r.call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"get","params":{}}`, "A2A-Version: "+header, "X-A2A-Extensions: urn:x", "sabha-client-version: 5"),
		} {
			if strings.Contains(got.body, "VERSION_NOT_SUPPORTED") != refused {
				t.Errorf("version %q: %d %s", header, got.status, got.body)
			}
			if refused {
				continue
			}
			md := a.lastMetadata()
			for name, want := range map[string]string{"a2a-version": "1.0", "sabha-client-version": "0.9", "a2a-extensions": "urn:x"} {
				if v := strings.Join(md.Get(name), ","); v != want {
					t.Errorf("version %q: %s is %q at the agent, want %q", header, name, v, want)
				}
			}
		}
	}
}

func TestErrorsInADialect(t *testing.T) {
	const sentence = `task \"t7\" does not exist or is not yours`
	info := `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t7"}}`
	failing := serve(t, &agent{err: fault.Status(fault.NoTask("t7")).Err()}, withDialect)
	sound := serve(t, &agent{stream: sending(nil, taskEvent("1.1"), statusEvent("1.2"))}, withDialect)
	plain := `"error":{"code":-32001,"message":"` + sentence + `","data":{"details":[` + info + `]}}}`
	rest := `{"code":-32001,"message":"` + sentence + `","data":[` + info + `],"error":{"code":404,"status":"NOT_FOUND","message":"` + sentence + `","details":[` + info + `]}}`
	for _, c := range []struct {
		r                        rig
		verb, path, body, header string
		status                   int
		contentType, want        string
	}{
		{failing, "GET", "/v1/tasks/t7", "", "A: b", 404, "application/json", rest},
		{failing, "GET", "/v1/tasks/t7:watch", "", "A: b", 404, "application/json", rest},
		{failing, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"get"}`, "A: b", 200, "application/json", `{"jsonrpc":"2.0","id":1,` + plain},
		// Who states a version is of today, and reads what 1.0 has.
		{failing, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"get"}`, "A2A-Version: 0.9", 200, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"` + sentence + `","data":[` + info + `]}}`},
		{failing, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"watch"}`, "A: b", 200, "text/event-stream", `data: {"jsonrpc":"2.0","id":1,` + plain},
		// What cannot be told in the dialect is an internal error that reveals nothing.
		{
			sound, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"watch"}`, "A: b", 200, "text/event-stream",
			"id: 1.1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"EVENT\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"internal error; the operator finds it in the log\",\"data\":{\"details\":[]}}}",
		},
		{
			sound, "GET", "/v1/tasks/t7:watch", "", "A: b", 200, "text/event-stream",
			"id: 1.1\ndata: \"EVENT\"\n\nevent: error\ndata: {\"code\":-32603,\"message\":\"internal error; the operator finds it in the log\",\"data\":[],\"error\":{\"code\":500,\"status\":\"INTERNAL\",\"message\":\"internal error; the operator finds it in the log\",\"details\":[]}}",
		},
	} {
		got := c.r.call(t, c.verb, c.path, c.body, c.header)
		body := strings.TrimSpace(strings.ReplaceAll(got.body, `, "`, `,"`))
		if got.status != c.status || got.header.Get("Content-Type") != c.contentType || body != c.want {
			t.Errorf("%s %s %s: %d %s\n%s\nwant %d %s\n%s", c.verb, c.path, c.body, got.status, got.header.Get("Content-Type"), body, c.status, c.contentType, c.want)
		}
	}
	if !strings.Contains(sound.log.String(), errUntold.Error()) {
		t.Error("the log does not say why")
	}
	refused := serve(t, &agent{}, withDialect).call(t, "GET", "/v1/tasks/bad", "")
	if refused.status != 400 || !strings.HasPrefix(refused.body, `{"code":-32602,"message":"id: is bad"`) {
		t.Errorf("bad input: %d %s", refused.status, refused.body)
	}
}
