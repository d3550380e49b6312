package legacy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	old "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
)

// params reads the parameters of a JSON-RPC method.
func params[T any](in binding.Input) (*T, error) {
	p := new(T)
	if len(in.Body) == 0 {
		return p, nil
	}
	err := json.Unmarshal(in.Body, p)
	if err == nil {
		return p, nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		path := "params"
		if wrong.Field != "" {
			path += "." + wrong.Field
		}
		return nil, fault.Invalid(path, "must be %s, not %s", kindName(wrong.Type), wrong.Value)
	}
	return nil, fault.Invalid("params", "cannot be read as those of A2A %s", Version).Because(err)
}

// kindName is what JSON calls a type.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "a whole number"
}

// sendParams reads those of message/send and message/stream.
func sendParams(in binding.Input) (*a2apb.SendMessageRequest, error) {
	if err := checkParts(in.Body); err != nil {
		return nil, err
	}
	p, err := params[old.MessageSendParams](in)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Message == nil:
		return nil, fault.Invalid("params.message", "is missing")
	case p.Message.Role != old.MessageRoleUser:
		return nil, fault.Invalid("params.message.role", `must be "user" in a message to an agent`)
	}
	if c := p.Config; c != nil {
		if err := checkLength("params.configuration.historyLength", c.HistoryLength); err != nil {
			return nil, err
		}
	}
	q, err := a2av0.ToV1SendMessageRequest(p)
	if err != nil {
		return nil, untranslatable(err)
	}
	return translated(pbconv.ToProtoSendMessageRequest(q))
}

// translated gives the request that a conversion made.
func translated[Q any](q Q, err error) (Q, error) {
	if err != nil {
		return q, untranslatable(err)
	}
	return q, nil
}

func untranslatable(err error) error {
	return fault.Invalid("request", "cannot be translated to A2A 1.0; send it in that version").Because(err)
}

// checkParts refuses parts that are none of 0.3's. The SDK reads what it cannot
// understand of them as something else, or says no more than that it cannot.
func checkParts(body []byte) error {
	var p struct {
		Message struct {
			Parts []struct {
				Kind string
				Data json.RawMessage
				File *struct{ URI, Bytes string }
			}
		}
	}
	if json.Unmarshal(body, &p) != nil {
		return nil // params finds out what is wrong.
	}
	for i, part := range p.Message.Parts {
		path := fmt.Sprintf("params.message.parts[%d]", i)
		switch part.Kind {
		case "text":
		case "data":
			if len(part.Data) == 0 || part.Data[0] != '{' {
				return fault.Invalid(path+".data", "must be an object")
			}
		case "file":
			if part.File == nil || (part.File.URI == "") == (part.File.Bytes == "") {
				return fault.Invalid(path+".file", "must have either bytes or uri")
			}
			if _, err := base64.StdEncoding.DecodeString(part.File.Bytes); err != nil {
				return fault.Invalid(path+".file.bytes", "must be in base64")
			}
		case "":
			return fault.Invalid(path+".kind", "is missing; it must be text, file or data. In A2A 1.0 the method is SendMessage")
		default:
			return fault.Invalid(path+".kind", "must be text, file or data, not %q", part.Kind)
		}
	}
	return nil
}

// checkLength refuses what does not fit the number that 1.0 has; a negative one is
// the agent's to refuse.
func checkLength(path string, n *int) error {
	if n != nil && (*n > math.MaxInt32 || *n < math.MinInt32) {
		return fault.Invalid(path, "must be from 0 to %d", math.MaxInt32)
	}
	return nil
}

func queryParams(in binding.Input) (*a2apb.GetTaskRequest, error) {
	p, err := params[old.TaskQueryParams](in)
	if err == nil {
		err = checkLength("params.historyLength", p.HistoryLength)
	}
	if err != nil {
		return nil, err
	}
	return translated(pbconv.ToProtoGetTaskRequest(a2av0.ToV1GetTaskRequest(p)))
}

func cancelParams(in binding.Input) (*a2apb.CancelTaskRequest, error) {
	p, err := params[old.TaskIDParams](in)
	if err != nil {
		return nil, err
	}
	return translated(pbconv.ToProtoCancelTaskRequest(a2av0.ToV1CancelTaskRequest(p)))
}

func subscribeParams(in binding.Input) (*a2apb.SubscribeToTaskRequest, error) {
	p, err := params[old.TaskIDParams](in)
	if err != nil {
		return nil, err
	}
	return translated(pbconv.ToProtoSubscribeToTaskRequest(a2av0.ToV1SubscribeToTaskRequest(p)))
}

// Servers of 0.3 give a config without an id that of its task, and clients leave it
// out again when they ask for it.

func setPushParams(in binding.Input) (*a2apb.TaskPushNotificationConfig, error) {
	p, err := params[old.TaskPushConfig](in)
	if err != nil {
		return nil, err
	}
	q, err := translated(pbconv.ToProtoTaskPushConfig(a2av0.ToV1PushConfig(p)))
	if err == nil && q.GetId() == "" {
		q.Id = q.GetTaskId()
	}
	return q, err
}

func getPushParams(in binding.Input) (*a2apb.GetTaskPushNotificationConfigRequest, error) {
	p, err := params[old.GetTaskPushConfigParams](in)
	if err != nil {
		return nil, err
	}
	if p.ConfigID == "" {
		p.ConfigID = string(p.TaskID)
	}
	return translated(pbconv.ToProtoGetTaskPushConfigRequest(a2av0.ToV1GetTaskPushConfigRequest(p)))
}

func listPushParams(in binding.Input) (*a2apb.ListTaskPushNotificationConfigsRequest, error) {
	p, err := params[old.ListTaskPushConfigParams](in)
	if err != nil {
		return nil, err
	}
	return translated(pbconv.ToProtoListTaskPushConfigRequest(a2av0.ToV1ListTaskPushConfigRequest(p)))
}

func deletePushParams(in binding.Input) (*a2apb.DeleteTaskPushNotificationConfigRequest, error) {
	p, err := params[old.DeleteTaskPushConfigParams](in)
	if err != nil {
		return nil, err
	}
	return translated(pbconv.ToProtoDeleteTaskPushConfigRequest(a2av0.ToV1DeleteTaskPushConfigRequest(p)))
}

func noParams(in binding.Input) (*a2apb.GetExtendedAgentCardRequest, error) {
	_, err := params[struct{}](in)
	return &a2apb.GetExtendedAgentCardRequest{}, err
}
