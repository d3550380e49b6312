package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

// call is one call as a test writes it, for whatever binding.
type call struct {
	method  string
	request proto.Message
	// as is the caller; empty sends no credentials.
	as string
	// version is sent as A2A-Version; "none" sends no such header.
	version    string
	extensions string
	cursor     string
}

// binding makes calls in one of the three ways.
type binding interface {
	name() string
	// unary gives the answer, or what the error says. answer is what is expected.
	unary(t testing.TB, c call, answer proto.Message) *failure
	// stream opens a stream. A failure before its first event shows as its end.
	stream(t testing.TB, c call) *events
}

// onAll runs a test on each binding.
func onAll(t *testing.T, s *system, test func(*testing.T, binding)) {
	for _, b := range []binding{newGRPC(t, s), &rest{s}, &jsonRPC{s}} {
		t.Run(b.name(), func(t *testing.T) { test(t, b) })
	}
}

// failure is an error as a client sees it.
type failure struct {
	// number is the gRPC code, the HTTP status or the JSON-RPC code.
	number int
	// code by its name, where the binding tells it.
	code           string
	message        string
	reason, domain string
	fields         []string
	retryAfter     string
	challenge      string
}

func (f *failure) String() string {
	if f == nil {
		return "no error"
	}
	return fmt.Sprintf("%d %s %s/%s %v: %s", f.number, f.code, f.domain, f.reason, f.fields, f.message)
}

// detail is an entry of an error's details in JSON.
type detail struct {
	Type            string `json:"@type"`
	Reason, Domain  string
	FieldViolations []struct{ Field, Description string }
	RetryDelay      string
}

func (f *failure) read(t testing.TB, details []detail) {
	t.Helper()
	for _, d := range details {
		switch d.Type {
		case "type.googleapis.com/google.rpc.ErrorInfo":
			f.reason, f.domain = d.Reason, d.Domain
		case "type.googleapis.com/google.rpc.BadRequest":
			for _, v := range d.FieldViolations {
				f.fields = append(f.fields, v.Field)
			}
		case "type.googleapis.com/google.rpc.RetryInfo":
			f.retryAfter = d.RetryDelay
		default:
			t.Errorf("unknown detail %q", d.Type)
		}
	}
}

// event is one event of a stream with its place.
type event struct {
	id string
	*a2apb.StreamResponse
}

// events is the receiving end of a stream.
type events struct {
	next  func() (event, bool)
	ended func() *failure
	close func()
}

// all reads a stream to its end.
func (e *events) all(t testing.TB) ([]event, *failure) {
	t.Helper()
	defer e.close()
	var list []event
	for {
		ev, ok := e.next()
		if !ok {
			return list, e.ended()
		}
		list = append(list, ev)
	}
}

// must reads the next event.
func (e *events) must(t testing.TB) event {
	t.Helper()
	ev, ok := e.next()
	if !ok {
		t.Fatalf("the stream ended: %v", e.ended())
	}
	return ev
}

// route is a method in HTTP+JSON (specification 5.3).
type route struct {
	verb, path string // the path with the fields it takes in braces
	body       bool
}

var routes = map[string]route{
	"SendMessage":                      {"POST", "/message:send", true},
	"SendStreamingMessage":             {"POST", "/message:stream", true},
	"GetTask":                          {"GET", "/tasks/{id}", false},
	"ListTasks":                        {"GET", "/tasks", false},
	"CancelTask":                       {"POST", "/tasks/{id}:cancel", true},
	"SubscribeToTask":                  {"POST", "/tasks/{id}:subscribe", false},
	"CreateTaskPushNotificationConfig": {"POST", "/tasks/{taskId}/pushNotificationConfigs", true},
	"GetTaskPushNotificationConfig":    {"GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", false},
	"ListTaskPushNotificationConfigs":  {"GET", "/tasks/{taskId}/pushNotificationConfigs", false},
	"DeleteTaskPushNotificationConfig": {"DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", false},
	"GetExtendedAgentCard":             {"GET", "/extendedAgentCard", false},
}

// fieldsOf is a request as JSON by field.
func fieldsOf(t testing.TB, m proto.Message) map[string]json.RawMessage {
	t.Helper()
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func take(fields map[string]json.RawMessage, name string) string {
	v := strings.Trim(string(fields[name]), `"`)
	delete(fields, name)
	return v
}

// answerOf makes an empty answer of a method.
func answerOf(method string) proto.Message {
	switch method {
	case "SendMessage":
		return &a2apb.SendMessageResponse{}
	case "GetTask", "CancelTask":
		return &a2apb.Task{}
	case "ListTasks":
		return &a2apb.ListTasksResponse{}
	case "GetExtendedAgentCard":
		return &a2apb.AgentCard{}
	case "ListTaskPushNotificationConfigs":
		return &a2apb.ListTaskPushNotificationConfigsResponse{}
	case "DeleteTaskPushNotificationConfig":
		return &emptypb.Empty{}
	}
	return &a2apb.TaskPushNotificationConfig{}
}

func streams(method string) bool {
	return method == "SendStreamingMessage" || method == "SubscribeToTask"
}

// fails makes a call that must fail and gives its error.
func fails(t testing.TB, b binding, c call) *failure {
	t.Helper()
	var got *failure
	if streams(c.method) {
		list, end := b.stream(t, c).all(t)
		if len(list) > 0 {
			t.Fatalf("%s: the stream has events: %v", c.method, list)
		}
		got = end
	} else {
		got = b.unary(t, c, answerOf(c.method))
	}
	if got == nil {
		t.Fatalf("%s: no error", c.method)
	}
	return got
}

// want is a row of the table of conditions.
type want struct {
	rpc, http int
	grpc      codes.Code
	reason    string
	// field that BadRequest must name, if any.
	field string
}

// a2aReasons are the conditions of the specification; all others are the platform's.
var a2aReasons = []string{
	"TASK_NOT_FOUND", "TASK_NOT_CANCELABLE", "PUSH_NOTIFICATION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION", "CONTENT_TYPE_NOT_SUPPORTED",
	"INVALID_AGENT_RESPONSE", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "EXTENSION_SUPPORT_REQUIRED", "VERSION_NOT_SUPPORTED",
}

var codeNames = map[codes.Code]string{
	codes.NotFound: "NOT_FOUND", codes.FailedPrecondition: "FAILED_PRECONDITION", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.Internal: "INTERNAL", codes.AlreadyExists: "ALREADY_EXISTS", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.Unavailable: "UNAVAILABLE", codes.Unauthenticated: "UNAUTHENTICATED", codes.PermissionDenied: "PERMISSION_DENIED",
}

func (w want) check(t testing.TB, b binding, got *failure) {
	t.Helper()
	number := map[string]int{"grpc": int(w.grpc), "rest": w.http, "jsonrpc": w.rpc}[b.name()]
	if number != 0 && got.number != number {
		t.Errorf("number %d, want %d (%s)", got.number, number, got)
	}
	if b.name() != "jsonrpc" && got.code != codeNames[w.grpc] {
		t.Errorf("code %q, want %q", got.code, codeNames[w.grpc])
	}
	domain := "sabha"
	if slices.Contains(a2aReasons, w.reason) {
		domain = "a2a-protocol.org"
	}
	if got.reason != w.reason || got.domain != domain {
		t.Errorf("reason %s of %s, want %s of %s", got.reason, got.domain, w.reason, domain)
	}
	if w.field != "" && !slices.Contains(got.fields, w.field) {
		t.Errorf("fields %v, want %s (%s)", got.fields, w.field, got.message)
	}
	if got.message == "" {
		t.Error("no sentence that helps")
	}
}

// Requests as tests write them.

func message(skill, says string) *a2apb.Message {
	m := &a2apb.Message{MessageId: newID(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(says)}}
	if skill != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}}
	}
	return m
}

func sendTo(tenant string, m *a2apb.Message) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Tenant: tenant, Message: m}
}

// send sends a message as alice and gives her task.
func send(t testing.TB, b binding, m *a2apb.Message, conf ...*a2apb.SendMessageConfiguration) *a2apb.Task {
	t.Helper()
	req := sendTo("", m)
	if len(conf) > 0 {
		req.Configuration = conf[0]
	}
	res := &a2apb.SendMessageResponse{}
	if f := b.unary(t, call{method: "SendMessage", request: req, as: "alice"}, res); f != nil {
		t.Fatalf("send: %v", f)
	}
	return res.GetTask()
}

func get(t testing.TB, b binding, id string) *a2apb.Task {
	t.Helper()
	task := &a2apb.Task{}
	if f := b.unary(t, call{method: "GetTask", request: &a2apb.GetTaskRequest{Id: id}, as: "alice"}, task); f != nil {
		t.Fatalf("get: %v", f)
	}
	return task
}
