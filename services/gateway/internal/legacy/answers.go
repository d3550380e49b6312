package legacy

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// The answers of the JSON-RPC methods.

func sent(m *a2apb.SendMessageResponse) ([]byte, error) {
	wrapData(m.GetTask(), m.GetMessage())
	e, err := pbconv.FromProtoSendMessageResponse(m)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return encode(e)
}

func event(m *a2apb.StreamResponse) ([]byte, error) {
	e, err := fromEvent(m)
	if err != nil {
		return nil, err
	}
	return encode(e)
}

func task(t *a2apb.Task) ([]byte, error) {
	wrapData(t)
	e, err := pbconv.FromProtoTask(t)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return encode(e)
}

func encode(e a2a.Event) ([]byte, error) {
	o, err := a2av0.FromV1Event(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

func push(c *a2apb.TaskPushNotificationConfig) ([]byte, error) {
	p, err := pbconv.FromProtoTaskPushConfig(c)
	if err != nil {
		return nil, fmt.Errorf("push config: %w", err)
	}
	return json.Marshal(a2av0.FromV1PushConfig(p))
}

func pushes(l *a2apb.ListTaskPushNotificationConfigsResponse) ([]byte, error) {
	p, err := pbconv.FromProtoListTaskPushConfigResponse(l)
	if err != nil {
		return nil, fmt.Errorf("push configs: %w", err)
	}
	if len(p.Configs) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(a2av0.FromV1PushConfigs(p.Configs))
}

func nothing(*emptypb.Empty) ([]byte, error) { return nil, nil }

// fromEvent converts an event of a stream.
func fromEvent(m *a2apb.StreamResponse) (a2a.Event, error) {
	wrapData(m.GetTask(), m.GetMessage(), m.GetStatusUpdate().GetStatus().GetMessage(), m.GetArtifactUpdate().GetArtifact())
	e, err := pbconv.FromProtoStreamResponse(m)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return e, nil
}

// holder is something with parts.
type holder interface{ GetParts() []*a2apb.Part }

// wrapData puts data that is no object into one, as the SDK does for clients of
// 0.3, and marks it as it does. The SDK's own conversion would make it empty.
func wrapData(all ...any) {
	for _, v := range all {
		switch v := v.(type) {
		case *a2apb.Task:
			wrapData(v.GetStatus().GetMessage())
			for _, m := range v.GetHistory() {
				wrapData(m)
			}
			for _, a := range v.GetArtifacts() {
				wrapData(a)
			}
		case holder:
			for _, p := range v.GetParts() {
				wrap(p)
			}
		}
	}
}

func wrap(p *a2apb.Part) {
	d, ok := p.GetContent().(*a2apb.Part_Data)
	if !ok || d.Data.GetStructValue() != nil {
		return
	}
	d.Data = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"value": d.Data}})
	if p.GetMetadata() == nil {
		p.Metadata = &structpb.Struct{}
	}
	if p.Metadata.Fields == nil {
		p.Metadata.Fields = map[string]*structpb.Value{}
	}
	p.Metadata.Fields["data_part_compat"] = structpb.NewBoolValue(true)
}
