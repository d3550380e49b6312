package engine

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
)

// How a reader looks for events that it misses, by the machine's time: it paces
// what goes over the network.
const (
	lookFirst = 20 * time.Millisecond
	lookMost  = time.Second
	// gapAfter is how long events may be on their way before the reader is given the
	// task as it is instead.
	gapAfter = 10 * time.Second
	// replayFor bounds the wait for the events after a client's cursor, when the log
	// says that it does not hold them.
	replayFor = time.Second
)

// maxHeld bounds the events that wait for one before them; others are looked up
// when their turn comes.
const maxHeld = 64

// tailer is one stream's place in its task.
type tailer struct {
	e       *Engine
	id      string
	stream  grpc.ServerStreamingServer[a2apb.StreamResponse]
	closeAt func(a2apb.TaskState) bool
	version int64
	closed  bool
	// stored is the newest version that is known to be committed.
	stored int64
	// held are events that came before one that is missing.
	held map[int64]eventlog.Update
	// since is when the first event was missed; pause is how long until the next look for it.
	since time.Time
	pause time.Duration
}

// tail sends a task's events until closeAt says that its state ends the stream.
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

// follow sends what a reader receives until the stream ends. A hole in the
// versions, whatever its cause, is mended from the log or the store; when neither
// has the events, by the task as it is, marked as a gap.
func (t *tailer) follow(ctx context.Context, reader *eventlog.Reader) error {
	t.e.Metrics.Streams.Inc()
	defer t.e.Metrics.Streams.Dec()
	for !t.closed {
		var look <-chan time.Time
		if t.missing() {
			look = time.After(t.pause)
		}
		var err error
		select {
		case u := <-reader.C:
			err = t.take(ctx, u)
			if err == nil && !t.closed && len(reader.C) == 0 && reader.Behind() {
				err = t.skip(ctx) // what was dropped may have been the last
			}
		case <-look:
			err = t.mend(ctx)
		case <-ctx.Done():
			return ctx.Err()
		case <-t.e.drain:
			return errDraining
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing tells whether events are committed that have not been sent.
func (t *tailer) missing() bool {
	switch {
	case t.stored <= t.version:
		t.since = time.Time{}
		return false
	case t.since.IsZero():
		t.since, t.pause = time.Now(), lookFirst
	}
	return true
}

// take sends an update if it is the next one, and what waited for it. One that
// comes too early waits.
func (t *tailer) take(ctx context.Context, u eventlog.Update) error {
	if u.Version <= t.version {
		return nil
	}
	if u.Epoch != t.e.Store.Epoch() {
		return t.snapshot(ctx, true)
	}
	t.stored = max(t.stored, u.Version)
	switch {
	case u.Event == nil:
		return nil
	case u.Version > t.version+1:
		if t.held == nil {
			t.held = map[int64]eventlog.Update{}
		}
		if len(t.held) < maxHeld {
			t.held[u.Version] = u
		}
		return nil
	}
	for ok := true; ok && !t.closed; u, ok = t.held[t.version+1] {
		delete(t.held, u.Version)
		t.version = u.Version
		if s := u.Event.GetStatusUpdate(); s != nil {
			t.closed = t.closeAt(s.GetStatus().GetState())
		}
		if err := t.stream.Send(withCursor(u.Event, u.Epoch, u.Version, false)); err != nil {
			return err
		}
	}
	t.since = time.Time{} // what is missed now is missed from now on
	return nil
}

// mend looks for the events that are missing.
func (t *tailer) mend(ctx context.Context) error {
	t.pause = min(2*t.pause, lookMost)
	if _, err := t.recover(ctx); err != nil {
		return err
	}
	if t.closed || !t.missing() || time.Since(t.since) < gapAfter {
		return nil
	}
	return t.skip(ctx)
}

// recover sends what the log holds of the events that come next, and what is
// committed that the log does not hold yet. It tells whether the log
// could be read.
func (t *tailer) recover(ctx context.Context) (bool, error) {
	epoch := t.e.Store.Epoch()
	updates, unread := t.e.Log.Replay(ctx, t.e.Agent.Tenant, t.id, epoch, t.version)
	if unread != nil && !errors.Is(unread, eventlog.ErrAway) {
		t.e.Logger.Warn("the event log cannot be read", "task_id", t.id, "error", unread)
	}
	updates = append(updates, t.e.backlog.of(ctx, t.e, t.id)...)
	for _, u := range updates {
		if t.closed {
			break
		}
		if err := t.take(ctx, u); err != nil {
			return false, err
		}
	}
	return unread == nil, nil
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
	t.version, t.stored = after.version, rec.Version
	// What was committed reaches the log a moment later; a log that cannot be read is
	// given more time.
	pause := lookFirst
	for began := time.Now(); ; pause = min(2*pause, lookMost) {
		read, err := t.recover(ctx)
		if err != nil || t.closed || t.version >= rec.Version {
			return err
		}
		waited := time.Since(began)
		if waited > gapAfter || waited > replayFor && (read || !t.e.NATS.IsConnected()) {
			return t.snapshot(ctx, true)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		case <-t.e.drain:
			return errDraining
		}
	}
}

// skip sends the task as it is when it is further than what was sent.
func (t *tailer) skip(ctx context.Context) error {
	rec, err := t.e.Store.Get(ctx, t.id)
	if err != nil {
		return err
	}
	if rec.Version <= t.version {
		return nil
	}
	return t.send(rec, true)
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
	t.version, t.stored, t.held = rec.Version, max(t.stored, rec.Version), nil
	t.closed = t.closeAt(rec.Task.GetStatus().GetState())
	return t.stream.Send(withCursor(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: rec.Task}}, t.e.Store.Epoch(), rec.Version, gap))
}
