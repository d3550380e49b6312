package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
)

// recheck is how often a waiting reader compares with the store, in case the
// news was lost on its way.
const recheck = 5 * time.Second

// settled tells whether a blocking send has its answer: the task ended or needs the client.
func settled(s a2apb.TaskState) bool { return taskstore.Terminal(s) || interrupted(s) }

// await reads the task of an accepted message, after waiting until it is settled
// unless the caller wants it at once. The caller's deadline bounds only its wait.
func (e *Engine) await(ctx context.Context, a accepted, atOnce bool) (*taskstore.Record, error) {
	if atOnce {
		return e.Store.Get(ctx, a.taskID)
	}
	if a.run != nil {
		if !a.onLine {
			a.run.waited.Add(1)
		}
		defer a.run.waited.Add(-1)
		select {
		case <-a.run.news:
			// What a run has in memory that goes on, or has lost its task, is not what is stored.
			if a.run.over.Load() && a.run.h.Err() == nil {
				if rec := a.run.h.Record(); settled(rec.Task.GetStatus().GetState()) {
					return rec, nil
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
		if settled(rec.Task.GetStatus().GetState()) {
			return rec, nil
		}
		select {
		case <-reader.C:
		case <-e.Clock.After(recheck):
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

// cursor is a place in a task's events.
type cursor struct{ epoch, version int64 }

func cursorOf(ctx context.Context) (*cursor, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	v := md.Get(ext.MetadataCursor)
	if len(v) == 0 || v[0] == "" {
		return nil, nil
	}
	epoch, version, ok := strings.Cut(v[0], ".")
	c := &cursor{}
	var err1, err2 error
	c.epoch, err1 = strconv.ParseInt(epoch, 10, 64)
	c.version, err2 = strconv.ParseInt(version, 10, 64)
	if !ok || err1 != nil || err2 != nil || c.version < 0 {
		return nil, fault.Invalid("cursor", "%q is not a cursor; send back the one of the last event you have seen", v[0])
	}
	return c, nil
}

// tail sends a task's events until closeAt says that its state ends the stream.
// A hole in the versions, whatever its cause, is mended by a snapshot.
func (e *Engine) tail(ctx context.Context, id string, after *cursor, stream grpc.ServerStreamingServer[a2apb.StreamResponse], closeAt func(a2apb.TaskState) bool) error {
	reader, err := e.hub.Subscribe(id)
	if err != nil {
		return err
	}
	defer reader.Close()
	t := &tailer{e: e, id: id, stream: stream, closeAt: closeAt}
	if err := t.catchUp(ctx, after); err != nil || t.closed {
		return err
	}
	return t.follow(ctx, reader)
}

// follow sends what a reader receives until the stream ends.
func (t *tailer) follow(ctx context.Context, reader *eventlog.Reader) error {
	e := t.e
	for {
		var err error
		select {
		case u := <-reader.C:
			err = t.next(ctx, u)
			if err == nil && !t.closed && len(reader.C) == 0 && reader.Behind() {
				err = t.recheck(ctx) // what was dropped may have been the last
			}
		case <-e.Clock.After(recheck):
			err = t.recheck(ctx)
		case <-ctx.Done():
			return ctx.Err()
		case <-e.drain:
			return errDraining
		}
		if err != nil || t.closed {
			return err
		}
	}
}

// tailer is one stream's place in its task.
type tailer struct {
	e       *Engine
	id      string
	stream  grpc.ServerStreamingServer[a2apb.StreamResponse]
	closeAt func(a2apb.TaskState) bool
	version int64
	closed  bool
}

// catchUp sends what came after a cursor, or the task as it is.
func (t *tailer) catchUp(ctx context.Context, after *cursor) error {
	if after == nil {
		return t.snapshot(ctx, false)
	}
	if after.epoch != t.e.Store.Epoch() {
		return t.snapshot(ctx, true)
	}
	rec, err := t.e.Store.Get(ctx, t.id)
	if err != nil {
		return err
	}
	if after.version > rec.Version {
		return t.snapshot(ctx, true)
	}
	t.version = after.version
	// What was committed reaches the log a moment later, by the machine's time.
	for range 20 {
		updates, err := t.e.Log.Replay(ctx, t.e.Agent.Tenant, t.id, after.epoch, t.version)
		if err != nil {
			t.e.Logger.Warn("the event log cannot be read", "task_id", t.id, "error", err)
			break
		}
		for _, u := range updates {
			if err := t.next(ctx, u); err != nil || t.closed {
				return err
			}
		}
		if t.version >= rec.Version {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return t.snapshot(ctx, true)
}

// next sends an event if it is the next one.
func (t *tailer) next(ctx context.Context, u eventlog.Update) error {
	switch {
	case u.Version <= t.version:
		return nil
	case u.Version != t.version+1 || u.Epoch != t.e.Store.Epoch():
		return t.snapshot(ctx, true)
	}
	t.version = u.Version
	if s := u.Event.GetStatusUpdate(); s != nil {
		t.closed = t.closeAt(s.GetStatus().GetState())
	}
	return t.stream.Send(withCursor(u.Event, u.Epoch, u.Version, false))
}

// recheck takes a snapshot when the store is ahead of what was received.
func (t *tailer) recheck(ctx context.Context) error {
	rec, err := t.e.Store.Get(ctx, t.id)
	if err != nil {
		return err
	}
	if rec.Version > t.version {
		return t.send(rec, true)
	}
	return nil
}

func (t *tailer) snapshot(ctx context.Context, gap bool) error {
	rec, err := t.e.Store.Get(ctx, t.id)
	if errors.Is(err, taskstore.ErrNotFound) {
		return fault.NoTask(t.id)
	}
	if err != nil {
		return err
	}
	return t.send(rec, gap)
}

func (t *tailer) send(rec *taskstore.Record, gap bool) error {
	t.version = rec.Version
	t.closed = t.closeAt(rec.Task.GetStatus().GetState())
	return t.stream.Send(withCursor(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: rec.Task}}, t.e.Store.Epoch(), rec.Version, gap))
}

// Gap in the metadata of a Task in a stream says that events between the
// cursor and this snapshot are not delivered one by one.
const gapKey = "gap"

// withCursor gives a copy of an event with its place in the metadata. The event
// itself is shared by readers and stays as it is.
func withCursor(ev *a2apb.StreamResponse, epoch, version int64, gap bool) *a2apb.StreamResponse {
	place := structpb.NewStringValue(formatCursor(epoch, version))
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_StatusUpdate:
		u := p.StatusUpdate
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
			TaskId: u.GetTaskId(), ContextId: u.GetContextId(), Status: u.GetStatus(), Metadata: extended(u.GetMetadata(), place, false),
		}}}
	case *a2apb.StreamResponse_ArtifactUpdate:
		u := p.ArtifactUpdate
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
			TaskId: u.GetTaskId(), ContextId: u.GetContextId(), Artifact: u.GetArtifact(), Append: u.GetAppend(), LastChunk: u.GetLastChunk(),
			Metadata: extended(u.GetMetadata(), place, false),
		}}}
	case *a2apb.StreamResponse_Task:
		t := proto.CloneOf(p.Task)
		t.Metadata = extended(t.GetMetadata(), place, gap)
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}}
	}
	return ev
}

func extended(md *structpb.Struct, place *structpb.Value, gap bool) *structpb.Struct {
	fields := make(map[string]*structpb.Value, len(md.GetFields())+2)
	for k, v := range md.GetFields() {
		fields[k] = v
	}
	fields[ext.Cursor] = place
	if gap {
		fields[ext.Cursor+"/"+gapKey] = structpb.NewBoolValue(true)
	}
	return &structpb.Struct{Fields: fields}
}

func formatCursor(epoch, version int64) string {
	return strconv.FormatInt(epoch, 10) + "." + strconv.FormatInt(version, 10)
}

// present gives a task as clients see it: with its cursor.
func (e *Engine) present(rec *taskstore.Record) *a2apb.Task {
	rec.Task.Metadata = extended(rec.Task.GetMetadata(), structpb.NewStringValue(formatCursor(e.Store.Epoch(), rec.Version)), false)
	return rec.Task
}
