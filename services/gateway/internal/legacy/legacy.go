// Package legacy serves clients of A2A 0.3. It translates their calls to those of
// 1.0 and the answers back, with the conversions of the official SDK, so an old
// client meets the same agents, the same limits and the same tasks as a new one.
//
// JSON-RPC and HTTP+JSON are a dialect of package binding. gRPC is the SDK's own
// binding over an a2asrv.RequestHandler that calls the gateway's A2A service.
package legacy

import (
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/binding"
)

// Version of the protocol that the package translates from.
const Version = "0.3"

// Dialect is A2A 0.3 over HTTP: the methods of JSON-RPC (its specification,
// section 7), the paths under /v1 (section 3.5.3) and the card.
func Dialect() *binding.Dialect {
	return &binding.Dialect{Version: Version, Methods: methods, Routes: routes, Card: Card}
}

// operation puts a decoder and an encoder of particular messages together.
func operation[Q, R proto.Message](name string, decode func(binding.Input) (Q, error), encode func(R) ([]byte, error)) binding.Operation {
	return binding.Operation{
		Name: name,
		Decode: func(in binding.Input) (proto.Message, error) {
			q, err := decode(in)
			if err != nil {
				return nil, err
			}
			return q, nil
		},
		Encode: func(m proto.Message) ([]byte, error) { return encode(m.(R)) },
	}
}

var methods = map[string]binding.Operation{
	"message/send":      operation("SendMessage", sendParams, sent),
	"message/stream":    operation("SendStreamingMessage", sendParams, event),
	"tasks/get":         operation("GetTask", queryParams, task),
	"tasks/cancel":      operation("CancelTask", cancelParams, task),
	"tasks/resubscribe": operation("SubscribeToTask", subscribeParams, event),

	"tasks/pushNotificationConfig/set":    operation("CreateTaskPushNotificationConfig", setPushParams, push),
	"tasks/pushNotificationConfig/get":    operation("GetTaskPushNotificationConfig", getPushParams, push),
	"tasks/pushNotificationConfig/list":   operation("ListTaskPushNotificationConfigs", listPushParams, pushes),
	"tasks/pushNotificationConfig/delete": operation("DeleteTaskPushNotificationConfig", deletePushParams, nothing),

	"agent/getAuthenticatedExtendedCard": operation("GetExtendedAgentCard", noParams, Card),
}

var routes = []binding.Route{
	{Verb: http.MethodPost, Path: "v1/message:send", Operation: operation("SendMessage", sendBody, restSent)},
	{Verb: http.MethodPost, Path: "v1/message:stream", Operation: operation("SendStreamingMessage", sendBody, restEvent)},
	{Verb: http.MethodGet, Path: "v1/tasks", Operation: operation("ListTasks", listQuery, restTasks)},
	{Verb: http.MethodPost, Path: "v1/tasks/{task}:cancel", Operation: operation("CancelTask", cancelPath, restTask)},
	// The clients do not agree on the verb.
	{Verb: http.MethodGet, Path: "v1/tasks/{task}:subscribe", Operation: operation("SubscribeToTask", subscribePath, restEvent)},
	{Verb: http.MethodPost, Path: "v1/tasks/{task}:subscribe", Operation: operation("SubscribeToTask", subscribePath, restEvent)},
	{Verb: http.MethodGet, Path: "v1/tasks/{task}", Operation: operation("GetTask", taskPath, restTask)},

	{Verb: http.MethodPost, Path: "v1/tasks/{task}/pushNotificationConfigs", Operation: operation("CreateTaskPushNotificationConfig", pushBody, restPush)},
	{Verb: http.MethodGet, Path: "v1/tasks/{task}/pushNotificationConfigs", Operation: operation("ListTaskPushNotificationConfigs", pushesPath, restPushes)},
	{Verb: http.MethodGet, Path: "v1/tasks/{task}/pushNotificationConfigs/{config}", Operation: operation("GetTaskPushNotificationConfig", getPushPath, restPush)},
	{Verb: http.MethodDelete, Path: "v1/tasks/{task}/pushNotificationConfigs/{config}", Operation: operation("DeleteTaskPushNotificationConfig", deletePushPath, nothing)},

	{Verb: http.MethodGet, Path: "v1/card", Operation: operation("GetExtendedAgentCard", cardPath, Card)},
}

// requests that have nothing in them but names.

func cancelPath(in binding.Input) (*a2apb.CancelTaskRequest, error) {
	return &a2apb.CancelTaskRequest{Id: in.Task}, nil
}

func subscribePath(in binding.Input) (*a2apb.SubscribeToTaskRequest, error) {
	return &a2apb.SubscribeToTaskRequest{Id: in.Task}, nil
}

func pushesPath(in binding.Input) (*a2apb.ListTaskPushNotificationConfigsRequest, error) {
	return &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: in.Task}, nil
}

func getPushPath(in binding.Input) (*a2apb.GetTaskPushNotificationConfigRequest, error) {
	return &a2apb.GetTaskPushNotificationConfigRequest{TaskId: in.Task, Id: in.Config}, nil
}

func deletePushPath(in binding.Input) (*a2apb.DeleteTaskPushNotificationConfigRequest, error) {
	return &a2apb.DeleteTaskPushNotificationConfigRequest{TaskId: in.Task, Id: in.Config}, nil
}

func cardPath(binding.Input) (*a2apb.GetExtendedAgentCardRequest, error) {
	return &a2apb.GetExtendedAgentCardRequest{}, nil
}
