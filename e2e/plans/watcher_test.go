//go:build slow

package plans_test

import (
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/ext"
)

// watcher follows one task over every restart with the cursor of the last event it
// has seen.
type watcher struct {
	p              *process
	task           string
	cursor         string
	epoch, version int64
	events, gaps   int
	err            error
}

// run returns when the task has ended, or when an event was lost without a word.
func (w *watcher) run() {
	for end := time.Now().Add(3 * patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if w.p.read(addressFile) == "" {
			continue
		}
		if done := w.follow(); done || w.err != nil {
			return
		}
	}
	w.err = fmt.Errorf("no end in sight after cursor %s", w.cursor)
}

// follow subscribes once.
func (w *watcher) follow() bool {
	client, hangUp := w.p.client()
	defer hangUp()
	var more []string
	if w.cursor != "" {
		more = []string{ext.MetadataCursor, w.cursor}
	}
	ctx, cancel := w.p.ctx(more...)
	defer cancel()
	stream, err := client.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: w.task})
	if err != nil {
		return false
	}
	for {
		ev, err := stream.Recv()
		if status.Code(err) == codes.FailedPrecondition {
			// The task has ended and the cursor is of a time before a crash: the client is
			// told to get the task, which is a gap said aloud.
			w.gaps++
			task, err := w.p.get(client, w.task)
			if err == nil && task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
				w.err = fmt.Errorf("told that it has ended, it is %v", task)
			}
			return err == nil
		}
		if err != nil {
			if status.Code(err) != codes.Unavailable && status.Code(err) != codes.DeadlineExceeded {
				w.err = err
			}
			return false
		}
		if done := w.see(ev); done || w.err != nil {
			return done
		}
	}
}

// see checks that an event follows the one before, or that a snapshot says why not.
func (w *watcher) see(ev *a2apb.StreamResponse) bool {
	w.events++
	md, state, snapshot := ev.GetStatusUpdate().GetMetadata(), ev.GetStatusUpdate().GetStatus().GetState(), false
	switch {
	case ev.GetTask() != nil:
		md, state, snapshot = ev.GetTask().GetMetadata(), ev.GetTask().GetStatus().GetState(), true
	case ev.GetArtifactUpdate() != nil:
		md = ev.GetArtifactUpdate().GetMetadata()
	}
	cursor := md.GetFields()[ext.Cursor].GetStringValue()
	var epoch, version int64
	if _, err := fmt.Sscanf(cursor, "%d.%d", &epoch, &version); err != nil {
		w.err = fmt.Errorf("event without a cursor: %v", ev)
		return false
	}
	gap := md.GetFields()[ext.Cursor+"/gap"].GetBoolValue()
	switch {
	case gap && snapshot:
		w.gaps++
	case snapshot && w.cursor == "":
	case epoch != w.epoch || version != w.version+1:
		w.err = fmt.Errorf("event %s came after %s", cursor, w.cursor)
		return false
	}
	w.cursor, w.epoch, w.version = cursor, epoch, version
	switch state {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}
