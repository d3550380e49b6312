package conformance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
)

// Rows of the table of conditions.
var (
	taskNotFound      = want{rpc: -32001, http: 404, grpc: codes.NotFound, reason: "TASK_NOT_FOUND"}
	notCancelable     = want{rpc: -32002, http: 400, grpc: codes.FailedPrecondition, reason: "TASK_NOT_CANCELABLE"}
	noPush            = want{rpc: -32003, http: 400, grpc: codes.FailedPrecondition, reason: "PUSH_NOTIFICATION_NOT_SUPPORTED"}
	unsupported       = want{rpc: -32004, http: 400, grpc: codes.FailedPrecondition, reason: "UNSUPPORTED_OPERATION"}
	contentType       = want{rpc: -32005, http: 400, grpc: codes.InvalidArgument, reason: "CONTENT_TYPE_NOT_SUPPORTED"}
	invalidAnswer     = want{rpc: -32006, http: 500, grpc: codes.Internal, reason: "INVALID_AGENT_RESPONSE"}
	noExtendedCard    = want{rpc: -32007, http: 400, grpc: codes.FailedPrecondition, reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED"}
	extensionRequired = want{rpc: -32008, http: 400, grpc: codes.FailedPrecondition, reason: "EXTENSION_SUPPORT_REQUIRED"}
	versionRefused    = want{rpc: -32009, http: 400, grpc: codes.FailedPrecondition, reason: "VERSION_NOT_SUPPORTED"}
	conflict          = want{http: 409, grpc: codes.AlreadyExists, reason: "MESSAGE_ID_CONFLICT"}
	rateLimited       = want{http: 429, grpc: codes.ResourceExhausted, reason: "RATE_LIMITED"}
	tooLarge          = want{http: 413, grpc: codes.ResourceExhausted, reason: "TOO_LARGE"}
	unavailable       = want{http: 503, grpc: codes.Unavailable, reason: "UNAVAILABLE"}
	unauthenticated   = want{http: 401, grpc: codes.Unauthenticated, reason: "UNAUTHENTICATED"}
	forbidden         = want{http: 403, grpc: codes.PermissionDenied, reason: "PERMISSION_DENIED"}
)

func invalid(field string) want {
	return want{rpc: -32602, http: 400, grpc: codes.InvalidArgument, reason: "INVALID_ARGUMENT", field: field}
}

const missing = "00000000-0000-7000-8000-000000000000"

// onTask are the operations on one task that exist without push.
func onTask(id string) map[string]proto.Message {
	m := message("", "more")
	m.TaskId = id
	return map[string]proto.Message{
		"GetTask": &a2apb.GetTaskRequest{Id: id}, "CancelTask": &a2apb.CancelTaskRequest{Id: id},
		"SubscribeToTask": &a2apb.SubscribeToTaskRequest{Id: id}, "SendMessage": sendTo("", m), "SendStreamingMessage": sendTo("", m),
	}
}

// onPush are the push operations on one task.
func onPush(id string) map[string]proto.Message {
	return map[string]proto.Message{
		"CreateTaskPushNotificationConfig": &a2apb.TaskPushNotificationConfig{TaskId: id, Url: "https://example.com/hook"},
		"GetTaskPushNotificationConfig":    &a2apb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: "p"},
		"ListTaskPushNotificationConfigs":  &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: id},
		"DeleteTaskPushNotificationConfig": &a2apb.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: "p"},
	}
}

func TestConditionsAreTheSameOnEveryBinding(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		done := send(t, b, message("complete", "go"))
		asked := send(t, b, message("ask", "go"))
		used := message("complete", "first")
		send(t, b, used)
		changed := proto.CloneOf(used)
		changed.Parts = []*a2apb.Part{agent.Text("second")}
		data, err := agent.Data(map[string]any{"a": 1})
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			name string
			call call
			want want
		}
		var rows []row
		add := func(name, method string, request proto.Message, w want, change ...func(*call)) {
			c := call{method: method, request: request, as: "alice"}
			for _, f := range change {
				f(&c)
			}
			rows = append(rows, row{name + ": " + method, c, w})
		}
		sends := func(name string, req *a2apb.SendMessageRequest, w want, change ...func(*call)) {
			add(name, "SendMessage", req, w, change...)
			add(name, "SendStreamingMessage", proto.CloneOf(req), w, change...)
		}
		edited := func(skill string, edit func(*a2apb.Message)) *a2apb.SendMessageRequest {
			m := message(skill, "go")
			edit(m)
			return sendTo("", m)
		}
		version := func(v string) func(*call) { return func(c *call) { c.version = v } }
		caller := func(who string) func(*call) { return func(c *call) { c.as = who } }

		for method, req := range onTask(missing) {
			add("missing task", method, req, taskNotFound)
		}
		add("finished task", "CancelTask", &a2apb.CancelTaskRequest{Id: done.GetId()}, notCancelable)
		for method, req := range onPush(missing) {
			add("missing task", method, req, taskNotFound)
			add("push is not declared", method, toTenant("teller", req), noPush)
		}
		add("unknown push configuration", "GetTaskPushNotificationConfig", onPush(done.GetId())["GetTaskPushNotificationConfig"], taskNotFound)
		sends("push is not declared", withPush("teller", "tell", &a2apb.TaskPushNotificationConfig{Url: "https://example.com/hook"}), noPush)
		for field, list := range badPushes {
			for _, bad := range list {
				add("push "+field, "CreateTaskPushNotificationConfig", ofTask(bad, done.GetId()), invalid(field))
				sends("push "+field, withPush("", "complete", bad), invalid("configuration.taskPushNotificationConfig."+field))
			}
		}
		for _, size := range []int32{-1, 101} {
			add("page size", "ListTaskPushNotificationConfigs", &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: done.GetId(), PageSize: size}, invalid("pageSize"))
		}
		add("page token", "ListTaskPushNotificationConfigs", &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: done.GetId(), PageToken: "%%%"}, invalid("pageToken"))
		for _, method := range []string{"SendMessage", "SendStreamingMessage", "SubscribeToTask"} {
			add("finished task", method, onTask(done.GetId())[method], unsupported)
		}
		add("not declared", "GetExtendedAgentCard", &a2apb.GetExtendedAgentCardRequest{Tenant: "plain"}, unsupported)
		sends("data for a skill that takes text", edited("text", func(m *a2apb.Message) { m.Parts = []*a2apb.Part{data} }), contentType)
		sends("an unknown media type", edited("complete", func(m *a2apb.Message) { m.Parts[0].MediaType = "image/png" }), contentType)
		sends("an empty answer", sendTo("", message("mute", "go")), invalidAnswer)
		add("declared, not configured", "GetExtendedAgentCard", &a2apb.GetExtendedAgentCardRequest{Tenant: "bare"}, noExtendedCard)
		sends("required extension", sendTo("strict", message("complete", "go")), extensionRequired)
		add("required extension", "GetTask", &a2apb.GetTaskRequest{Tenant: "strict", Id: missing}, extensionRequired)
		for _, v := range []string{"none", "empty", "0.3", "0.9", "1", "1.1", "2.0", "1.0x", "nonsense"} {
			add("version "+v, "SendMessage", sendTo("", message("complete", "go")), versionRefused, version(v))
			add("version "+v, "SubscribeToTask", &a2apb.SubscribeToTaskRequest{Id: asked.GetId()}, versionRefused, version(v))
			add("version "+v, "ListTasks", &a2apb.ListTasksRequest{}, versionRefused, version(v))
		}
		sends("no message", &a2apb.SendMessageRequest{}, invalid("message"))
		sends("no parts", edited("", func(m *a2apb.Message) { m.Parts = nil }), invalid("message.parts"))
		sends("no messageId", edited("", func(m *a2apb.Message) { m.MessageId = "" }), invalid("message.messageId"))
		sends("an empty part", edited("", func(m *a2apb.Message) { m.Parts = []*a2apb.Part{{}} }), invalid("message.parts[0]"))
		sends("another context", edited("", func(m *a2apb.Message) { m.TaskId, m.ContextId = asked.GetId(), "another" }), invalid("message.contextId"))
		negative := sendTo("", message("complete", "go"))
		negative.Configuration = &a2apb.SendMessageConfiguration{HistoryLength: proto.Int32(-1)}
		sends("negative history", negative, invalid("historyLength"))
		add("negative history", "GetTask", &a2apb.GetTaskRequest{Id: done.GetId(), HistoryLength: proto.Int32(-1)}, invalid("historyLength"))
		add("negative history", "ListTasks", &a2apb.ListTasksRequest{HistoryLength: proto.Int32(-1)}, invalid("historyLength"))
		for _, size := range []int32{0, -1, 101} {
			add("page size", "ListTasks", &a2apb.ListTasksRequest{PageSize: proto.Int32(size)}, invalid("pageSize"))
		}
		for _, token := range []string{"x", "%%%", "AAAA", strings.Repeat("A", 4000)} {
			add("page token", "ListTasks", &a2apb.ListTasksRequest{PageToken: token}, invalid("pageToken"))
		}
		for _, cursor := range []string{"x", "1", "1.x", "1.-1"} {
			add("cursor "+cursor, "SubscribeToTask", &a2apb.SubscribeToTaskRequest{Id: asked.GetId()}, invalid("cursor"), func(c *call) { c.cursor = cursor })
		}
		sends("the id of another message", sendTo("", changed), conflict)
		for reason, w := range map[string]want{"RATE_LIMITED": rateLimited, "TOO_LARGE": tooLarge, "UNAVAILABLE": unavailable, "PERMISSION_DENIED": forbidden} {
			sends(strings.ToLower(reason), sendTo("", message("refuse", reason)), w)
		}
		sends("nobody starts a task", sendTo("", message("complete", "go")), unauthenticated, caller(""))
		sends("an unknown key", sendTo("", message("complete", "go")), unauthenticated, caller("unknown"))
		add("an unknown key", "GetTask", &a2apb.GetTaskRequest{Id: done.GetId()}, unauthenticated, caller("unknown"))
		add("nobody", "GetExtendedAgentCard", &a2apb.GetExtendedAgentCardRequest{}, unauthenticated, caller(""))

		before := countTasks(t, b)
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				got := fails(t, b, r.call)
				r.want.check(t, b, got)
				if r.want.reason == "RATE_LIMITED" {
					if delay := map[string]string{"grpc": "7s", "rest": "7", "jsonrpc": "7"}[b.name()]; got.retryAfter != delay {
						t.Errorf("retry after %q, want %q", got.retryAfter, delay)
					}
				}
				if r.want.grpc == codes.Unauthenticated && b.name() != "grpc" && got.challenge == "" {
					t.Error("no challenge tells how to authenticate")
				}
			})
		}
		if after := countTasks(t, b); after != before {
			t.Errorf("what was refused has left tasks behind: %d were there, now %d", before, after)
		}
	})
}

// countTasks is how many tasks alice has.
func countTasks(t testing.TB, b binding) int32 {
	t.Helper()
	list := &a2apb.ListTasksResponse{}
	if f := b.unary(t, call{method: "ListTasks", request: &a2apb.ListTasksRequest{}, as: "alice"}, list); f != nil {
		t.Fatal(f)
	}
	return list.GetTotalSize()
}

func TestWhatIsNoRequestIsToldSo(t *testing.T) {
	s := start(t)
	c := call{as: "alice"}
	for _, r := range []struct {
		name, verb, path, body string
		status, code           int
	}{
		{"JSON-RPC: not JSON", "POST", "/rpc", `{"jsonrpc"`, 0, -32700},
		{"JSON-RPC: nothing", "POST", "/rpc", ` `, 0, -32700},
		{"JSON-RPC: no request", "POST", "/rpc", `{"id":"q"}`, 0, -32600},
		{"JSON-RPC: a list", "POST", "/rpc", `[]`, 0, -32600},
		{"JSON-RPC: another version", "POST", "/rpc", `{"jsonrpc":"1.0","id":"q","method":"GetTask"}`, 0, -32600},
		{"JSON-RPC: no such method", "POST", "/rpc", `{"jsonrpc":"2.0","id":"q","method":"tasks/fly"}`, 0, -32601},
		{"JSON-RPC: parameters of another form", "POST", "/rpc", `{"jsonrpc":"2.0","id":"q","method":"GetTask","params":[1]}`, 0, -32602},
		{"JSON-RPC: a parameter of another type", "POST", "/rpc", `{"jsonrpc":"2.0","id":"q","method":"GetTask","params":{"id":5}}`, 0, -32602},
		{"JSON-RPC: an unknown enum", "POST", "/rpc", `{"jsonrpc":"2.0","id":"q","method":"ListTasks","params":{"status":"TASK_STATE_LOST"}}`, 0, -32602},
		{"REST: not JSON", "POST", "/message:send", `{`, 400, 0},
		{"REST: nothing", "POST", "/message:send", ` `, 400, 0},
		{"REST: a list", "POST", "/message:send", `[]`, 400, 0},
		{"REST: a field of another type", "POST", "/message:send", `{"message":{"messageId":7}}`, 400, 0},
		{"REST: no such path", "POST", "/message:fly", `{}`, 404, 0},
		{"REST: no such tenant", "POST", "/nobody/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`, 404, 0},
		{"REST: wrong verb", "DELETE", "/tasks", ``, 405, 0},
		{"REST: a query that is no number", "GET", "/tasks?pageSize=many", ``, 400, 0},
		{"REST: an unknown enum", "GET", "/tasks?status=TASK_STATE_LOST", ``, 400, 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			resp := s.exchange(t, c, r.verb, r.path, r.body)
			text := bodyOf(t, resp)
			var body struct {
				Error struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal(text, &body); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if r.status != 0 && (resp.StatusCode != r.status || body.Error.Code != r.status) {
				t.Errorf("status %d: %s; want %d", resp.StatusCode, text, r.status)
			}
			if r.code != 0 && body.Error.Code != r.code {
				t.Errorf("%s; want code %d", text, r.code)
			}
			if body.Error.Message == "" {
				t.Errorf("no sentence that helps: %s", text)
			}
		})
	}
}

func TestPatchVersionsAndQueriesNameTheVersion(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		for _, v := range []string{"1.0", "1.0.0", "1.0.7"} {
			if f := b.unary(t, call{method: "ListTasks", request: &a2apb.ListTasksRequest{}, as: "alice", version: v}, &a2apb.ListTasksResponse{}); f != nil {
				t.Errorf("version %s: %v", v, f)
			}
		}
	})
	for _, path := range []string{"/tasks?A2A-Version=1.0", "/tasks?pageSize=5&A2A-Version=1.0"} {
		if resp := s.exchange(t, call{as: "alice", version: "none"}, "GET", path, ""); resp.StatusCode != 200 {
			t.Errorf("GET %s: %d %s", path, resp.StatusCode, bodyOf(t, resp))
		}
	}
	if resp := s.exchange(t, call{as: "alice", version: "none"}, "POST", "/rpc?A2A-Version=1.0", `{"jsonrpc":"2.0","id":"q","method":"ListTasks"}`); open(t, bodyOf(t, resp)).Error != nil {
		t.Error("JSON-RPC does not take the version from the query")
	}
}

// Another caller's task and a missing one cannot be told apart, whatever is asked.
func TestAnothersTaskIsAsGoodAsMissing(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		alices := send(t, b, message("ask", "go"))
		walked := map[string]bool{}
		for _, requests := range []func(string) map[string]proto.Message{onTask, onPush} {
			for method, request := range requests(alices.GetId()) {
				walked[method] = true
				foreign := fails(t, b, call{method: method, request: request, as: "bob"})
				none := fails(t, b, call{method: method, request: requests(missing)[method], as: "bob"})
				if got, want := strings.ReplaceAll(foreign.String(), alices.GetId(), missing), none.String(); got != want {
					t.Errorf("%s of a foreign task: %s\nof a missing one: %s", method, got, want)
				}
				taskNotFound.check(t, b, foreign)
			}
		}
		list := &a2apb.ListTasksResponse{}
		if f := b.unary(t, call{method: "ListTasks", request: &a2apb.ListTasksRequest{ContextId: alices.GetContextId()}, as: "bob"}, list); f != nil || list.GetTotalSize() != 0 {
			t.Errorf("bob lists %v, %v", list, f)
		}
		walked["ListTasks"], walked["GetExtendedAgentCard"] = true, true // the card is nobody's task
		desc := a2apb.A2AService_ServiceDesc
		for _, m := range desc.Methods {
			if !walked[m.MethodName] {
				t.Errorf("method %s was not tried", m.MethodName)
			}
		}
		for _, m := range desc.Streams {
			if !walked[m.StreamName] {
				t.Errorf("method %s was not tried", m.StreamName)
			}
		}
		if got := get(t, b, alices.GetId()); got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || len(got.GetHistory()) != 1 {
			t.Errorf("alice's task has changed: %v", got)
		}
	})
}
