package engine

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
)

// CancelFor cancels a task of any caller for an operator, who gives a reason: the
// client sees it, and an audit row keeps it with who the operator is. A task that
// is canceled already, or being, is given as it is, and no row is written. The
// errors are TASK_NOT_FOUND's taskstore.ErrNotFound and TASK_NOT_CANCELABLE.
func (e *Engine) CancelFor(ctx context.Context, call identity.Call, id, reason string) (*taskstore.Record, error) {
	return e.stop(ctx, id, stopping{
		ended: "canceled by an operator: " + reason, ending: "cancelling for an operator: " + reason, reason: reason,
		rows: func(rec *taskstore.Record) taskstore.Rows {
			now := e.Clock.Now()
			return e.Store.Note(taskstore.Hop{
				TaskID: id, RootTaskID: rec.RootTask, ParentTaskID: rec.Info.ParentTask, TraceID: rec.Info.TraceID, Caller: call.Actor,
				Principal: call.Principal.Key(), Agent: rec.Agent, Skill: rec.Skill, Protocol: Protocol,
				StartedAt: now, EndedAt: now, Outcome: taskstore.CancelRequested, Reason: reason,
			})
		},
	})
}

// History reads the events of a task that the event log holds, oldest first.
func (e *Engine) History(ctx context.Context, rec *taskstore.Record) ([]eventlog.Stored, error) {
	return e.Log.History(ctx, rec.Agent, rec.Task.GetId(), e.Store.Epoch())
}

// Happened is when an event happened: as its status says, else when the log took it.
func Happened(ev eventlog.Stored) *timestamppb.Timestamp {
	var st *a2apb.TaskStatus
	switch p := ev.Event.GetPayload().(type) {
	case *a2apb.StreamResponse_StatusUpdate:
		st = p.StatusUpdate.GetStatus()
	case *a2apb.StreamResponse_Task:
		st = p.Task.GetStatus()
	}
	if t := st.GetTimestamp(); t != nil {
		return t
	}
	return timestamppb.New(ev.At)
}

// Watch begins to watch the tasks of the agent.
func (e *Engine) Watch() (*eventlog.Watcher, error) {
	return e.Log.Watch(e.Agent.Tenant)
}

// Draining is closed when the replica is about to stop.
func (e *Engine) Draining() <-chan struct{} { return e.drain }
