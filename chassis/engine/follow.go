package engine

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
)

// owned reads a task that the caller may see. A missing task and another
// caller's cannot be told apart.
func (e *Engine) owned(ctx context.Context, call identity.Call, id string) (*taskstore.Record, error) {
	if id == "" {
		return nil, fault.Invalid("id", "is missing; name the task")
	}
	rec, err := e.Store.Get(ctx, id)
	if errors.Is(err, taskstore.ErrNotFound) {
		return nil, fault.NoTask(id)
	}
	if err != nil {
		return nil, err
	}
	key := taskstore.Key(call)
	if rec.Owner != key || key == "" || rec.Agent != e.Agent.Tenant {
		return nil, fault.NoTask(id)
	}
	return rec, nil
}

// followUp adds a client's further message to its task. Deduplication, history
// and wake-up are one transaction, with a push configuration if one comes along.
func (e *Engine) followUp(ctx context.Context, call identity.Call, req *a2apb.SendMessageRequest, push *a2apb.TaskPushNotificationConfig) (accepted, error) {
	m := req.GetMessage()
	digest := taskstore.Digest(m)
	mark(ctx, call, req)
	rec, err := e.owned(ctx, call, m.GetTaskId())
	if err != nil {
		return accepted{}, err
	}
	if !e.AllowRepeatedMessageIDs {
		known, err := e.Store.Known(ctx, rec.Owner, m.GetMessageId(), digest)
		if err != nil {
			return accepted{}, err
		}
		if known != nil {
			return e.repeated(known, m.GetMessageId())
		}
	}
	if rec.Ended() {
		return accepted{}, errFinished(rec)
	}
	if m.GetContextId() != "" && m.GetContextId() != rec.Task.GetContextId() {
		return accepted{}, fault.Invalid("message.contextId", "is not the context of task %s; leave it out or send %s", rec.Task.GetId(), rec.Task.GetContextId())
	}
	if skill := e.skill(rec.Skill); skill != nil {
		if err := checkModes(skill, m); err != nil {
			return accepted{}, err
		}
	}
	if _, err := e.screenNow(ctx, call, m); err != nil {
		return accepted{}, err
	}
	if push != nil {
		push.TaskId = rec.Task.GetId()
		if err := e.checkPushRoom(ctx, push); err != nil {
			return accepted{}, err
		}
	}
	m.ContextId = rec.Task.GetContextId()
	messageID := m.GetMessageId()
	if e.AllowRepeatedMessageIDs {
		messageID = ""
	}
	claimed := false
	rec, err = e.Store.Update(ctx, m.GetTaskId(), func(rec *taskstore.Record) (taskstore.Change, error) {
		claimed = false
		ch := taskstore.Change{MessageID: messageID, Digest: digest}
		if rec.Ended() {
			return ch, errFinished(rec)
		}
		if push != nil {
			var err error
			if ch.Rows, err = e.Store.PutPush(push, rec.Version, false); err != nil {
				return ch, err
			}
			rec.Push = true
		}
		if rec.RunOwner == "" {
			if interrupted(rec.Task.GetStatus().GetState()) {
				// The clock stood while the client was awaited.
				rec.Deadline = e.Clock.Now().Add(rec.Info.Left)
			}
			rec.RunOwner, rec.RunEpoch = e.Store.Replica(), rec.RunEpoch+1
			rec.WakeAt = time.Time{}
			claimed = true
		} else {
			rec.WakeAt = e.Clock.Now() // should its run end without having seen the message
		}
		if old := rec.Task.GetStatus(); interrupted(old.GetState()) {
			if old.GetMessage() != nil {
				rec.Task.History = append(rec.Task.History, old.GetMessage())
			}
			rec.Task.Status = &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}
			ch.Events = []*a2apb.StreamResponse{e.status(a2apb.TaskState_TASK_STATE_WORKING, nil)}
		}
		rec.Task.History = append(rec.Task.History, m)
		return ch, nil
	})
	var known *taskstore.Existing
	if errors.As(err, &known) {
		return e.repeated(known, m.GetMessageId())
	}
	if err != nil {
		return accepted{}, err
	}
	if claimed {
		return accepted{taskID: rec.Task.GetId(), run: e.launch(e.Store.Adopt(rec))}, nil
	}
	e.look(rec.Task.GetId())
	e.wake(e.Agent.Tenant, rec.Task.GetId(), changed)
	return accepted{taskID: rec.Task.GetId(), run: e.runOf(rec.Task.GetId())}, nil
}

func errFinished(rec *taskstore.Record) error {
	return fault.New(fault.UnsupportedOperation, "task %s has ended as %s; start a new one in the same context", rec.Task.GetId(), rec.Task.GetStatus().GetState()).
		With("taskId", rec.Task.GetId())
}
