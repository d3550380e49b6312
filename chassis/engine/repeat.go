package engine

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// Repeat makes a new task out of one that has ended: the same request of the same
// principal, admitted as it was, with a budget of its own. It stands for itself, so
// the former's parent does not hear of it. The metadata is that of the new task, whose
// rows are written with it. The error is taskstore.ErrNotFound for another agent's task.
func (e *Engine) Repeat(ctx context.Context, from *taskstore.Record, metadata map[string]*structpb.Value, rows func(id string) []taskstore.Rows) (string, error) {
	if from.Agent != e.Agent.Tenant {
		return "", taskstore.ErrNotFound
	}
	id, now, place := newID(), e.Clock.Now(), trace.CallerOf(ctx)
	info := from.Info
	info.ParentTask, info.Left = "", 0
	info.TraceID, info.SpanID, info.TraceState, info.Unrecorded = place.TraceID, place.SpanID, place.State, !place.Sampled
	rec := &taskstore.Record{
		Task: &a2apb.Task{
			Id: id, ContextId: from.Task.GetContextId(),
			Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_SUBMITTED, Timestamp: timestamppb.New(now)},
		},
		Info: info, Owner: from.Owner, Agent: from.Agent, Skill: from.Skill, RootTask: id, Deadline: now.Add(info.Budget),
	}
	rec.SetMetadata(metadata)
	for _, m := range from.Task.GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			m = proto.CloneOf(m)
			m.TaskId = id
			rec.Task.History = append(rec.Task.History, m)
		}
	}
	h, err := e.Store.Create(ctx, rec, "", rows(id)...)
	if err != nil {
		return "", err
	}
	e.countsOf(rec.Skill).Accepted.Inc()
	e.launch(h)
	return id, nil
}
