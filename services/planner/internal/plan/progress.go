package plan

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// progress is the event that tells readers which steps have moved.
func (i *interpreter) progress(state a2apb.TaskState, message *a2apb.Message) *a2apb.StreamResponse {
	list := make([]*structpb.Value, 0, len(i.changed))
	for _, r := range i.changed {
		list = append(list, describe(r))
	}
	md := object(map[string]*structpb.Value{
		"playbook": structpb.NewStringValue(i.plan.book.Name),
		"version":  structpb.NewStringValue(string(i.plan.book.Version)),
		"steps":    structpb.NewListValue(&structpb.ListValue{Values: list}),
	})
	if message != nil {
		message.MessageId = uuid.NewString()
	}
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		Status:   &a2apb.TaskStatus{State: state, Message: message},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Plan: md}},
	}}}
}

// metadata is the whole plan as the task shows it.
func (i *interpreter) metadata() map[string]*structpb.Value { return i.plan.metadata() }

func (p *plan) metadata() map[string]*structpb.Value {
	rows := p.ordered(func(*row) bool { return true })
	list := make([]*structpb.Value, 0, len(rows))
	for _, r := range rows {
		list = append(list, describe(r))
	}
	md := map[string]*structpb.Value{ext.Plan: object(map[string]*structpb.Value{
		"playbook": structpb.NewStringValue(p.book.Name),
		"version":  structpb.NewStringValue(string(p.book.Version)),
		"phase":    structpb.NewStringValue(string(p.phase)),
		"steps":    structpb.NewListValue(&structpb.ListValue{Values: list}),
	})}
	if models := p.models(); models != (modelled{}) {
		md[ext.Models] = models.value()
	}
	return md
}

func object(fields map[string]*structpb.Value) *structpb.Value {
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// describe shows a row to readers.
func describe(r *row) *structpb.Value {
	f := map[string]*structpb.Value{
		"step": structpb.NewStringValue(r.Step), "state": structpb.NewStringValue(string(r.State)),
		"agent": structpb.NewStringValue(r.Agent), "skill": structpb.NewStringValue(r.Skill),
		"started_at": structpb.NewStringValue(r.StartedAt.Format(time.RFC3339Nano)),
	}
	if r.Kind != stepKind {
		f["kind"] = structpb.NewStringValue(string(r.Kind))
	}
	if r.Round > 0 {
		f["round"] = structpb.NewNumberValue(float64(r.Round))
	}
	if r.Attempt > 0 {
		f["attempt"] = structpb.NewNumberValue(float64(r.Attempt))
	}
	for name, v := range map[string]string{"reason": r.Reason, "waits_for": r.WaitsFor, "task": r.ChildTask} {
		if v != "" {
			f[name] = structpb.NewStringValue(v)
		}
	}
	if !r.EndedAt.IsZero() {
		f["ended_at"] = structpb.NewStringValue(r.EndedAt.Format(time.RFC3339Nano))
	}
	if !r.RetryAt.IsZero() && r.EndedAt.IsZero() && r.ChildTask == "" {
		f["retry_at"] = structpb.NewStringValue(r.RetryAt.Format(time.RFC3339Nano))
	}
	return object(f)
}
