package engine

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
)

// settled tells whether a blocking send has its answer: the task ended or needs the
// client. A service has it also when the task waits for a person, who may take days;
// it is woken at the end.
func settled(ctx context.Context, t *a2apb.Task) bool {
	switch s := t.GetStatus().GetState(); {
	case taskstore.Terminal(s), interrupted(s):
		return true
	case s != a2apb.TaskState_TASK_STATE_WORKING || t.GetMetadata().GetFields()[ext.Wait] == nil:
		return false
	}
	call, known := identity.CallOf(ctx)
	return known && !call.Edge
}

// await reads the task of an accepted message, after waiting until it is settled
// unless the caller wants it at once. The caller's deadline bounds only its wait.
func (e *Engine) await(ctx context.Context, a accepted, atOnce bool) (*taskstore.Record, error) {
	if atOnce {
		return e.Store.Get(ctx, a.taskID)
	}
	onLine := a.run != nil
	leave := func() {
		if onLine {
			onLine = false
			a.run.waited.Add(-1)
		}
	}
	defer leave()
	answer := func(rec *taskstore.Record) (*taskstore.Record, error) {
		if rec.Ended() || rec.Info.ParentTask == "" {
			return rec, nil
		}
		// What happens to a child that goes on reaches its parent by a wake-up from now
		// on, so what has happened until now is read.
		leave()
		return e.Store.Get(ctx, a.taskID)
	}
	if a.run != nil {
		if !a.onLine {
			a.run.waited.Add(1)
		}
		select {
		case <-a.run.news:
			// What a run has in memory that goes on, or has lost its task, is not what is stored.
			if a.run.over.Load() && a.run.h.Err() == nil {
				if rec := a.run.h.Final(); settled(ctx, rec.Task) {
					return answer(rec)
				}
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-e.drain:
			return nil, errDraining
		}
	}
	reader, err := e.hub.Subscribe(a.taskID)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for {
		rec, err := e.Store.Get(ctx, a.taskID)
		if err != nil {
			return nil, err
		}
		if settled(ctx, rec.Task) {
			return answer(rec)
		}
		select {
		case <-reader.C: // an event, or word that the store is ahead
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-e.drain:
			return nil, errDraining
		}
	}
}

var errDraining = fault.New(fault.Unavailable, "this replica is stopping; the task goes on, ask another one for it")

// SubscribeToTask streams a task that has not ended (specification 3.1.6). With a
// cursor the stream continues after it; otherwise it begins with the task.
func (e *Engine) SubscribeToTask(req *a2apb.SubscribeToTaskRequest, stream grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	ctx := stream.Context()
	call, err := e.call(ctx)
	if err != nil {
		return err
	}
	rec, err := e.owned(ctx, call, req.GetId())
	if err != nil {
		return err
	}
	after, err := cursorOf(ctx)
	if err != nil {
		return err
	}
	if rec.Ended() && (after == nil || after.epoch != e.Store.Epoch() || after.version >= rec.Version) {
		return fault.New(fault.UnsupportedOperation, "task %s has ended as %s; get it instead", req.GetId(), rec.Task.GetStatus().GetState())
	}
	return e.tail(ctx, req.GetId(), after, stream, taskstore.Terminal)
}
