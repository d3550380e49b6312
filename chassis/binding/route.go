package binding

import (
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

type kind int

const (
	unaryKind kind = iota
	streamKind
	subscribeKind
	rpcKind
	cardKind
)

// operation is what one HTTP method does on a path.
type operation struct {
	method string
	kind   kind
	// query describes the message that query parameters fill; nil where the
	// input is the body.
	query protoreflect.MessageDescriptor
	// older is set where the path belongs to an older version.
	older *Operation
}

// endpoint is the operations of one path.
type endpoint []operation

var (
	sendEndpoint      = endpoint{{method: http.MethodPost}}
	streamEndpoint    = endpoint{{method: http.MethodPost, kind: streamKind}}
	listEndpoint      = endpoint{{method: http.MethodGet, query: describe(&a2apb.ListTasksRequest{})}}
	taskEndpoint      = endpoint{{method: http.MethodGet, query: describe(&a2apb.GetTaskRequest{})}}
	cancelEndpoint    = endpoint{{method: http.MethodPost}}
	subscribeEndpoint = endpoint{
		{method: http.MethodGet, kind: subscribeKind, query: describe(&a2apb.SubscribeToTaskRequest{})},
		{method: http.MethodPost, kind: subscribeKind, query: describe(&a2apb.SubscribeToTaskRequest{})},
	}
	configsEndpoint = endpoint{
		{method: http.MethodGet, query: describe(&a2apb.ListTaskPushNotificationConfigsRequest{})},
		{method: http.MethodPost},
	}
	configEndpoint = endpoint{
		{method: http.MethodGet, query: describe(&a2apb.GetTaskPushNotificationConfigRequest{})},
		{method: http.MethodDelete, query: describe(&a2apb.DeleteTaskPushNotificationConfigRequest{})},
	}
	extendedEndpoint = endpoint{{method: http.MethodGet, query: describe(&a2apb.GetExtendedAgentCardRequest{})}}
	rpcEndpoint      = endpoint{{method: http.MethodPost, kind: rpcKind}}
	cardEndpoint     = endpoint{{method: http.MethodGet, kind: cardKind}, {method: http.MethodHead, kind: cardKind}}
)

func describe(m protoreflect.ProtoMessage) protoreflect.MessageDescriptor {
	return m.ProtoReflect().Descriptor()
}

// target is a path that exists.
type target struct {
	endpoint
	tenant string
	// input is what an older version has in the path.
	input Input
}

func (t target) operation(method string) (operation, bool) {
	for _, op := range t.endpoint {
		if op.method == method {
			return op, true
		}
	}
	return operation{}, false
}

// allow is the value of the Allow header (RFC 9110 section 10.2.1).
func (t target) allow() string {
	methods := make([]string, len(t.endpoint))
	for i, op := range t.endpoint {
		methods[i] = op.method
	}
	return strings.Join(methods, ", ")
}

// match finds what a path is (specification 5.3). The generated handlers match
// it again for their parameters; here it is told apart whether a path does not
// exist or is only called with the wrong verb, and which names are reserved.
func match(path string, older *Dialect) (target, bool) {
	// Clients that join a path to the JSON-RPC address leave a slash at its end.
	if strings.HasSuffix(path, "/rpc/") {
		path = strings.TrimSuffix(path, "/")
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var t target
	if len(segments) > 1 && segments[0] != "" && !reserved(segments[0]) {
		t.tenant, segments = segments[0], segments[1:]
	}
	for _, s := range segments {
		if s == "" {
			return target{}, false
		}
	}
	switch len(segments) {
	case 1:
		t.endpoint = oneSegment(segments[0])
	case 2:
		switch {
		case segments[0] == ".well-known" && segments[1] == "agent-card.json":
			t.endpoint = cardEndpoint
		case segments[0] == "tasks":
			// The generated patterns take these two for a tenant named "tasks",
			// which is reserved. No task has such an id.
			if t.tenant == "" && (segments[1] == "tasks" || segments[1] == "extendedAgentCard") {
				return target{}, false
			}
			t.endpoint = taskSegment(segments[1])
		}
	case 3:
		if segments[0] == "tasks" && segments[2] == "pushNotificationConfigs" {
			t.endpoint = configsEndpoint
		}
	case 4:
		if segments[0] == "tasks" && segments[2] == "pushNotificationConfigs" {
			t.endpoint = configEndpoint
		}
	}
	if t.endpoint == nil && older != nil {
		t.endpoint, t.input = older.match(segments)
	}
	return t, t.endpoint != nil
}

func oneSegment(s string) endpoint {
	switch s {
	case "message:send":
		return sendEndpoint
	case "message:stream":
		return streamEndpoint
	case "tasks":
		return listEndpoint
	case "extendedAgentCard":
		return extendedEndpoint
	case "rpc":
		return rpcEndpoint
	}
	return nil
}

func taskSegment(s string) endpoint {
	id, verb, found := cutLast(s, ':')
	switch {
	case found && verb == "cancel" && id != "":
		return cancelEndpoint
	case found && verb == "subscribe" && id != "":
		return subscribeEndpoint
	case found && id == "":
		return nil
	}
	return taskEndpoint
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// reserved tells names that cannot be tenants because they are paths of the
// root agent.
func reserved(name string) bool {
	switch name {
	case "tasks", "v1", "rpc", "extendedAgentCard", ".well-known":
		return true
	}
	return strings.HasPrefix(name, "message:")
}
