// Package load is the clients of a chaos test: each sends a plan, watches it over
// every cut, answers or cancels it where that belongs to it, and keeps account of
// what it was told.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/e2e/chaos/caller"
)

// Times of a client.
const (
	// callWithin is how long a client waits for an answer before it asks elsewhere.
	callWithin = 10 * time.Second
	// quietFor is how long a stream may be silent before a client opens another.
	quietFor = 15 * time.Second
	// between two tries.
	pauseLeast, pauseMost = 50 * time.Millisecond, 500 * time.Millisecond
)

// Plan is one request of a client and all that the client saw of it.
type Plan struct {
	N       int
	Message string
	Task    string
	Binding string

	kind    kind
	callers []caller.Caller // of each gateway, over the plan's binding
	at      int             // the gateway that is asked now
	random  *rand.Rand
	watcher watcher

	// Accepted is when the platform answered with a task.
	Accepted time.Time
	// State is the terminal state that the stream ended with, and Read the one that
	// was read afterwards.
	State, Read a2apb.TaskState
	// Note is the closing message.
	Note string
	// Recorded are the ends of finished steps as the plan has them.
	Recorded map[string]time.Time
	// Tries counts all calls that were made again.
	Tries int
	// Internal counts answers that the platform gave as internal errors.
	Internal int
	// Duplicates counts messages sent once more, which gave the same task.
	Duplicates int
	// Wrong is what must not be.
	Wrong []string
}

// Seen are the steps that the client saw finished, and when.
func (p *Plan) Seen() map[string]time.Time { return p.watcher.finished }

// Cuts are the streams that ended before the task.
func (p *Plan) Cuts() []Cut { return p.watcher.cuts }

// Arrivals are the times at which events came. They may be read once the plan has ended.
func (p *Plan) Arrivals() []time.Time { return p.watcher.arrivals }

// Events counts what the client saw: events, gaps said aloud, gaps unsaid, repeats.
func (p *Plan) Events() (events, explicit, gaps, repeats int) {
	w := &p.watcher
	return w.events, w.explicit, w.gaps, w.repeats
}

// Unexpected says how the plan ended otherwise than it should, or "".
func (p *Plan) Unexpected() string {
	if p.Read == p.kind.end || p.kind.late && p.Read == a2apb.TaskState_TASK_STATE_FAILED {
		return ""
	}
	return fmt.Sprintf("plan %d (%s, task %s) ended as %s: %s", p.N, p.kind.book, p.Task, p.Read, p.Note)
}

func (p *Plan) wrong(format string, args ...any) {
	p.Wrong = append(p.Wrong, fmt.Sprintf("plan %d (%s over %s, task %s): ", p.N, p.kind.book, p.Binding, p.Task)+fmt.Sprintf(format, args...))
}

// again waits before the next try, which goes to the other gateway. It is false
// when there is no more time.
func (p *Plan) again(ctx context.Context, err error) bool {
	if caller.Internal(err) {
		p.Internal++
	}
	p.Tries++
	p.at = (p.at + 1) % len(p.callers)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pauseLeast + time.Duration(p.random.Int64N(int64(pauseMost-pauseLeast)))):
		return true
	}
}

// try makes a call until it is answered, by the platform and for good.
func try[T any](ctx context.Context, p *Plan, call func(context.Context, caller.Caller) (T, error)) (T, error) {
	for {
		once, cancel := context.WithTimeout(ctx, callWithin)
		res, err := call(once, p.callers[p.at])
		cancel()
		if err == nil {
			return res, nil
		}
		if _, final := caller.Final(err); final || !p.again(ctx, err) {
			return res, err
		}
	}
}

// run carries the plan from its message to its end, for as long as ctx lasts.
func (p *Plan) run(ctx context.Context, r *Receiver, accepted func()) {
	req, err := p.kind.request(p.Message, p.N)
	if err != nil {
		p.wrong("%v", err)
		return
	}
	req.Configuration.TaskPushNotificationConfig = r.config(p.N)
	if !p.accept(ctx, req) {
		return
	}
	accepted()
	if p.N%5 == 0 {
		p.duplicate(ctx, req)
	}
	p.watch(ctx)
	p.audit(ctx)
}

// accept has the message taken, whatever happens on the way: it is sent again under
// its id until there is a task.
func (p *Plan) accept(ctx context.Context, req *a2apb.SendMessageRequest) bool {
	t, err := try(ctx, p, func(ctx context.Context, c caller.Caller) (*a2apb.Task, error) { return c.Send(ctx, req) })
	if err != nil {
		if ctx.Err() == nil {
			p.wrong("not accepted: %v", err)
		}
		return false
	}
	p.Task, p.Accepted = t.GetId(), time.Now()
	p.watcher.begin(t)
	return true
}

// duplicate sends the message once more: it must give the same task.
func (p *Plan) duplicate(ctx context.Context, req *a2apb.SendMessageRequest) {
	p.at = (p.at + 1) % len(p.callers)
	t, err := try(ctx, p, func(ctx context.Context, c caller.Caller) (*a2apb.Task, error) { return c.Send(ctx, req) })
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.wrong("sent again: %v", err)
	case t.GetId() != p.Task:
		p.wrong("sent again, it became task %s", t.GetId())
	default:
		p.Duplicates++
	}
}

// watch follows the task to its end, and answers or cancels it on the way.
func (p *Plan) watch(ctx context.Context) {
	for ctx.Err() == nil && !p.watcher.ended() {
		err := p.act(ctx) // what was seen before the cut may still have to be acted on
		if err == nil {
			err = p.follow(ctx)
		}
		if err != nil && !p.again(ctx, err) {
			return
		}
	}
}

// follow subscribes once. nil means that the task has ended.
func (p *Plan) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(quietFor, cancel)
	defer quiet.Stop()
	stream, err := p.callers[p.at].Subscribe(ctx, p.Task, p.watcher.cursor)
	for err == nil {
		var ev *a2apb.StreamResponse
		if ev, err = stream.Next(); err != nil {
			break
		}
		quiet.Reset(quietFor)
		p.watcher.see(ev)
		if err := p.act(ctx); err != nil {
			return err
		}
	}
	if p.watcher.ended() && errors.Is(err, io.EOF) {
		return nil
	}
	if reason, final := caller.Final(err); final {
		if reason == caller.UnsupportedOperation {
			return p.told(ctx)
		}
		p.wrong("subscription: %v", err)
	}
	p.watcher.cut()
	return err
}

// told reads a task that the platform will not stream any more: it has ended, which
// is a gap said aloud.
func (p *Plan) told(ctx context.Context) error {
	t, err := p.callers[p.at].Get(ctx, p.Task)
	if err != nil {
		return err
	}
	p.watcher.snapshot(t)
	if !p.watcher.ended() {
		p.wrong("told that it has ended, it is %s", t.GetStatus().GetState())
	}
	return nil
}

// act answers a question, and cancels where the plan is one that is cancelled.
func (p *Plan) act(ctx context.Context) error {
	w := &p.watcher
	if w.asked && !w.answered {
		m := &a2apb.SendMessageRequest{
			Message:       &a2apb.Message{MessageId: p.Message + "-answer", TaskId: p.Task, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "this one"}}}},
			Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
		}
		_, err := try(ctx, p, func(ctx context.Context, c caller.Caller) (*a2apb.Task, error) { return c.Send(ctx, m) })
		if _, final := caller.Final(err); final {
			p.wrong("its answer: %v", err)
		} else if err != nil {
			return err
		}
		w.answered = true
	}
	if at := p.kind.cancelAt; at != "" && !w.canceled && w.runs[at] {
		_, err := try(ctx, p, func(ctx context.Context, c caller.Caller) (*a2apb.Task, error) { return c.Cancel(ctx, p.Task) })
		if reason, final := caller.Final(err); final && reason != caller.TaskNotCancelable {
			p.wrong("cancel: %v", err)
		} else if err != nil && !final {
			return err
		}
		w.canceled = true
	}
	return nil
}

// audit reads the task after its end.
func (p *Plan) audit(ctx context.Context) {
	if !p.watcher.ended() {
		return
	}
	p.State = p.watcher.state
	if p.watcher.terminals != 1 {
		p.wrong("%d terminal events were seen", p.watcher.terminals)
	}
	t, err := try(ctx, p, func(ctx context.Context, c caller.Caller) (*a2apb.Task, error) { return c.Get(ctx, p.Task) })
	if err != nil {
		p.wrong("read after its end: %v", err)
		return
	}
	p.Read, p.Recorded = t.GetStatus().GetState(), recorded(t)
	for _, part := range t.GetStatus().GetMessage().GetParts() {
		p.Note += part.GetText()
	}
	if p.Read != p.State {
		p.wrong("it was told to have ended as %s, and reads as %s", p.State, p.Read)
	}
	if place := cursorOf(t.GetMetadata()); place != p.watcher.cursor {
		p.wrong("its last event was %s, and it reads as of %s", p.watcher.cursor, place)
	}
	p.Wrong = append(p.Wrong, p.watcher.wrong...)
}
