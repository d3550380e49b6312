package legacy

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	oldconv "github.com/a2aproject/a2a-go/v2/a2apb/v0/pbconv"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
)

// HTTP+JSON of 0.3 has the Protobuf messages of 0.3 in JSON.

// sendBody reads the body of message:send and message:stream.
func sendBody(in binding.Input) (*a2apb.SendMessageRequest, error) {
	m := &oldpb.SendMessageRequest{}
	if err := body(in.Body, m, "message", "request"); err != nil {
		return nil, err
	}
	if err := prepare(m); err != nil {
		return nil, err
	}
	q, err := oldconv.FromProtoSendMessageRequest(m)
	if err != nil {
		return nil, untranslatable(err)
	}
	return translated(pbconv.ToProtoSendMessageRequest(q))
}

// body reads a message. The parts of the messages in the named fields may be called
// content, as the specification and most clients have it; the SDK's type calls them
// parts.
func body(text []byte, m proto.Message, messages ...string) error {
	if len(text) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return fault.Invalid("body", "must be a JSON object")
	}
	for _, name := range messages {
		var inner map[string]json.RawMessage
		if json.Unmarshal(fields[name], &inner) != nil || inner["content"] == nil {
			continue
		}
		inner["parts"] = inner["content"]
		delete(inner, "content")
		renamed, err := json.Marshal(inner)
		if err != nil {
			return fault.Invalid("body", "cannot be read").Because(err)
		}
		fields[name] = renamed
	}
	text, err := json.Marshal(fields)
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
	}
	if err == nil {
		return nil
	}
	if f := unreadable.FindStringSubmatch(err.Error()); f != nil {
		return fault.Invalid("body", "cannot be read as one of A2A %s: %s", Version, f[1]).Because(err)
	}
	return fault.Invalid("body", "cannot be read as one of A2A %s", Version).Because(err)
}

// unreadable is what protojson says of a field, without its name and the position,
// which is that in a text the client has not written.
var unreadable = regexp.MustCompile(`(invalid value for .*)$`)

func taskPath(in binding.Input) (*a2apb.GetTaskRequest, error) {
	n, err := number(in.Query, "historyLength")
	return &a2apb.GetTaskRequest{Id: in.Task, HistoryLength: n}, err
}

// number reads a number of the query; nil is absent.
func number(q url.Values, name string) (*int32, error) {
	text := q.Get(name)
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, fault.Invalid(name, "must be a whole number, not %q", text)
	}
	return proto.Int32(int32(n)), nil
}

// listQuery reads the query of a list of tasks. The specification of 0.3 has no
// such operation over HTTP; this is what the SDK's client sends.
func listQuery(in binding.Input) (*a2apb.ListTasksRequest, error) {
	q := &a2apb.ListTasksRequest{ContextId: in.Query.Get("contextId"), PageToken: in.Query.Get("pageToken"), IncludeArtifacts: proto.Bool(in.Query.Get("includeArtifacts") == "true")}
	var err error
	if q.HistoryLength, err = number(in.Query, "historyLength"); err != nil {
		return nil, err
	}
	if q.PageSize, err = number(in.Query, "pageSize"); err != nil {
		return nil, err
	}
	if s := in.Query.Get("status"); s != "" {
		state, ok := a2apb.TaskState_value[string(pbjson.DecodeTaskState(pbjson.TaskState(s)))]
		if !ok {
			return nil, fault.Invalid("status", "must be a task state, such as TASK_STATE_WORKING, not %q", s)
		}
		q.Status = a2apb.TaskState(state)
	}
	return q, nil
}

// pushBody reads a config: alone, as the specification has it, or in a request to
// create it, as the SDK sends it.
func pushBody(in binding.Input) (*a2apb.TaskPushNotificationConfig, error) {
	m := &oldpb.CreateTaskPushNotificationConfigRequest{}
	if err := body(in.Body, m); err != nil {
		return nil, err
	}
	if m.GetConfig() == nil {
		m.Config = &oldpb.TaskPushNotificationConfig{}
		if err := body(in.Body, m.Config); err != nil {
			return nil, err
		}
	}
	if m.GetConfig().GetPushNotificationConfig() == nil {
		return nil, fault.Invalid("pushNotificationConfig", "is missing")
	}
	m.Parent = oldconv.MakeTaskName(a2a.TaskID(in.Task))
	p, err := oldconv.FromProtoCreateTaskPushConfigRequest(m)
	if err != nil {
		return nil, untranslatable(err)
	}
	if p.ID == "" {
		p.ID = m.GetConfigId()
	}
	if p.ID == "" {
		p.ID = in.Task
	}
	return translated(pbconv.ToProtoTaskPushConfig(p))
}

func restSent(m *a2apb.SendMessageResponse) ([]byte, error) {
	wrapData(m.GetTask(), m.GetMessage())
	r, err := pbconv.FromProtoSendMessageResponse(m)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return pbjson.ToProtoSendMessageResult(r)
}

// restEvent also marks as final what ends a send stream without ending the task.
func restEvent(m *a2apb.StreamResponse) ([]byte, error) {
	e, err := fromEvent(m)
	if err != nil {
		return nil, err
	}
	text, err := pbjson.ToProtoStreamEvent(e)
	if err != nil || m.GetStatusUpdate().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		return text, err
	}
	var wire pbjson.StreamResponse
	if err := json.Unmarshal(text, &wire); err != nil {
		return nil, err
	}
	wire.StatusUpdate.Final = true
	return json.Marshal(wire)
}

func restTask(t *a2apb.Task) ([]byte, error) {
	wrapData(t)
	r, err := pbconv.FromProtoTask(t)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return pbjson.ToProtoTask(r)
}

func restTasks(l *a2apb.ListTasksResponse) ([]byte, error) {
	for _, t := range l.GetTasks() {
		wrapData(t)
	}
	r, err := pbconv.FromProtoListTasksResponse(l)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return pbjson.ToProtoListTasksResponse(r)
}

func restPush(c *a2apb.TaskPushNotificationConfig) ([]byte, error) {
	p, err := pbconv.FromProtoTaskPushConfig(c)
	if err != nil {
		return nil, fmt.Errorf("push config: %w", err)
	}
	return pbjson.ToProtoPushConfigResponse(p)
}

func restPushes(l *a2apb.ListTaskPushNotificationConfigsResponse) ([]byte, error) {
	p, err := pbconv.FromProtoListTaskPushConfigResponse(l)
	if err != nil {
		return nil, fmt.Errorf("push configs: %w", err)
	}
	return pbjson.ToProtoListPushConfigsResponse(p.Configs)
}
