package binding_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

const aMessage = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"returnImmediately":true}}`

// operations is every operation in both bindings, with what the agent must be
// asked and what the client must see.
var operations = []struct {
	name             string
	verb, path, body string // HTTP+JSON
	method, params   string // JSON-RPC
	tenant           string // in the path of both
	asked            string
	result           string
}{
	{
		"send", "POST", "/message:send", aMessage, "SendMessage", aMessage, "",
		"SendMessage " + aMessage, `{"task":` + aTaskJSON + `}`,
	},
	{
		"send to a tenant", "POST", "/research/message:send", `{"message":{"messageId":"m1"}}`, "SendMessage", `{"message":{"messageId":"m1"}}`, "research",
		`SendMessage {"tenant":"research","message":{"messageId":"m1"}}`, `{"task":` + aTaskJSON + `}`,
	},
	{
		"the path's tenant wins", "POST", "/research/message:send", `{"tenant":"other"}`, "SendMessage", `{"tenant":"other"}`, "research",
		`SendMessage {"tenant":"research"}`, `{"task":` + aTaskJSON + `}`,
	},
	{
		"unknown fields are ignored", "POST", "/message:send", `{"later":{"a":[1]}}`, "SendMessage", `{"later":{"a":[1]}}`, "",
		`SendMessage {}`, `{"task":` + aTaskJSON + `}`,
	},
	{
		"null is empty", "POST", "/message:send", ` null `, "SendMessage", `null`, "",
		`SendMessage {}`, `{"task":` + aTaskJSON + `}`,
	},
	{
		"get", "GET", "/tasks/t1?historyLength=2", "", "GetTask", `{"id":"t1","historyLength":2}`, "",
		`GetTask {"id":"t1","historyLength":2}`, aTaskJSON,
	},
	{
		"get from a tenant", "GET", "/research/tasks/t1", "", "GetTask", `{"id":"t1"}`, "research",
		`GetTask {"tenant":"research","id":"t1"}`, aTaskJSON,
	},
	{
		"an id with a colon", "GET", "/tasks/a:b", "", "GetTask", `{"id":"a:b"}`, "",
		`GetTask {"id":"a:b"}`, aTaskJSON,
	},
	{
		"list, empty", "GET", "/tasks", "", "ListTasks", `{}`, "",
		`ListTasks {}`, `{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}`,
	},
	{
		"list with every parameter", "GET",
		"/research/tasks?contextId=c1&status=TASK_STATE_WORKING&pageSize=7&pageToken=n&historyLength=0&statusTimestampAfter=2026-01-02T03:04:05Z&includeArtifacts=true&A2A-Version=1.0&later=x", "",
		"ListTasks", `{"contextId":"c1","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"n","historyLength":0,"statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":true}`, "research",
		`ListTasks {"tenant":"research","contextId":"c1","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"n","historyLength":0,"statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":true}`,
		`{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}`,
	},
	{
		"cancel without a body", "POST", "/tasks/t1:cancel", "", "CancelTask", `{"id":"t1"}`, "",
		`CancelTask {"id":"t1"}`, aTaskJSON,
	},
	{
		"cancel with metadata", "POST", "/research/tasks/t1:cancel", `{"metadata":{"why":"late"}}`, "CancelTask", `{"id":"t1","metadata":{"why":"late"}}`, "research",
		`CancelTask {"tenant":"research","id":"t1","metadata":{"why":"late"}}`, aTaskJSON,
	},
	{
		"create a push configuration", "POST", "/tasks/t1/pushNotificationConfigs", `{"url":"https://hooks.example/a"}`,
		"CreateTaskPushNotificationConfig", `{"taskId":"t1","url":"https://hooks.example/a"}`, "",
		`CreateTaskPushNotificationConfig {"taskId":"t1","url":"https://hooks.example/a"}`, aConfigJSON,
	},
	{
		"get a push configuration", "GET", "/research/tasks/t1/pushNotificationConfigs/p1", "",
		"GetTaskPushNotificationConfig", `{"taskId":"t1","id":"p1"}`, "research",
		`GetTaskPushNotificationConfig {"tenant":"research","taskId":"t1","id":"p1"}`, aConfigJSON,
	},
	{
		"list push configurations", "GET", "/tasks/t1/pushNotificationConfigs?pageSize=3", "",
		"ListTaskPushNotificationConfigs", `{"taskId":"t1","pageSize":3}`, "",
		`ListTaskPushNotificationConfigs {"taskId":"t1","pageSize":3}`, `{"configs":[` + aConfigJSON + `]}`,
	},
	{
		"delete a push configuration", "DELETE", "/tasks/t1/pushNotificationConfigs/p1", "",
		"DeleteTaskPushNotificationConfig", `{"taskId":"t1","id":"p1"}`, "",
		`DeleteTaskPushNotificationConfig {"taskId":"t1","id":"p1"}`, `{}`,
	},
	{
		"extended card", "GET", "/research/extendedAgentCard", "", "GetExtendedAgentCard", `{}`, "research",
		`GetExtendedAgentCard {"tenant":"research"}`, `{"name":"extended"}`,
	},
}

func TestOperationsAgreeInBothBindings(t *testing.T) {
	a := &agent{list: &a2apb.ListTasksResponse{}}
	r := serve(t, a)
	for _, c := range operations {
		t.Run(c.name+" over HTTP+JSON", func(t *testing.T) {
			got := r.call(t, c.verb, c.path, c.body)
			if got.status != 200 || got.body != c.result || got.header.Get("Content-Type") != "application/a2a+json" {
				t.Errorf("answer %d %s %s\nwant 200 %s", got.status, got.header.Get("Content-Type"), got.body, c.result)
			}
			if asked := a.lastAsked(); asked != c.asked {
				t.Errorf("agent was asked %s\nwant            %s", asked, c.asked)
			}
		})
		t.Run(c.name+" over JSON-RPC", func(t *testing.T) {
			path := "/rpc"
			if c.tenant != "" {
				path = "/" + c.tenant + "/rpc"
			}
			got := r.call(t, "POST", path, `{"jsonrpc":"2.0","id":"é1","method":"`+c.method+`","params":`+c.params+`}`)
			want := `{"jsonrpc":"2.0","id":"é1","result":` + c.result + `}`
			if got.status != 200 || got.body != want || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("answer %d %s %s\nwant 200 %s", got.status, got.header.Get("Content-Type"), got.body, want)
			}
			if asked := a.lastAsked(); asked != c.asked {
				t.Errorf("agent was asked %s\nwant            %s", asked, c.asked)
			}
		})
	}
}

func TestListedTasksStayWithoutFieldsThatAreNotSet(t *testing.T) {
	a := &agent{list: &a2apb.ListTasksResponse{Tasks: []*a2apb.Task{aTask, aTask}, NextPageToken: `a"b`, PageSize: 2, TotalSize: 5}}
	got := serve(t, a).call(t, "GET", "/tasks", "")
	want := `{"tasks":[` + aTaskJSON + `,` + aTaskJSON + `],"nextPageToken":"a\"b","pageSize":2,"totalSize":5}`
	if got.body != want {
		t.Errorf("answer %s\nwant   %s", got.body, want)
	}
}

func TestMediaTypeOfAnAnswer(t *testing.T) {
	r := serve(t, &agent{})
	for _, c := range []struct{ name, header, want string }{
		{"no preference", "X-Other: 1", "application/a2a+json"},
		{"anything", "Accept: */*", "application/a2a+json"},
		{"JSON", "Accept: application/json", "application/json"},
		{"both", "Accept: application/json, application/a2a+json", "application/a2a+json"},
		{"weighted", "Accept: application/a2a+json;q=0.1, application/json;q=0.9", "application/json"},
		{"weight zero refuses", "Accept: application/a2a+json;q=0, application/json;q=0.1", "application/json"},
		{"a stream", "Accept: text/event-stream", "application/json"},
		{"neither", "Accept: text/html", "application/a2a+json"},
		{"the request's own", "Content-Type: application/json; charset=utf-8", "application/json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.call(t, "POST", "/message:send", `{}`, c.header)
			if got.status != 200 || got.header.Get("Content-Type") != c.want {
				t.Errorf("answer %d %q, want 200 %q", got.status, got.header.Get("Content-Type"), c.want)
			}
		})
	}
}
