package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// maxTakeovers is how often a task may be taken over from dead replicas without
// progress before it is taken for the cause of their deaths.
const maxTakeovers = 5

// compensationGrace is what a skill that compensates has beyond its budget to
// stop and undo what it began.
const compensationGrace = time.Minute

// run is one task being executed by this replica.
type run struct {
	e      *Engine
	h      *taskstore.Handle
	skill  *agent.Skill
	id     string
	cancel context.CancelCauseFunc
	// news is closed when this replica has let go of the task, and before that when
	// its task has come to need the client.
	news chan struct{}
	told atomic.Bool
	over atomic.Bool // this replica has let go
	// canceling is closed when a cancel was requested.
	canceling chan struct{}
	nudged    chan struct{}
	// missed says that something happened which the run had not looked at when it let go.
	missed bool
	// waited counts callers on the line.
	waited   atomic.Int32
	req      *agent.Request
	info     taskstore.Info
	root     string
	attempt  int
	deadline time.Time
}

var _ agent.Run = (*run)(nil)

// errCanceled is the cause that ends the context of a run whose task was canceled.
var errCanceled = errors.New("the task was canceled")

// launch runs a task that this replica owns.
func (e *Engine) launch(h *taskstore.Handle) *run { return e.launchFor(h, 0) }

// launchFor runs a task for callers who are on the line already.
func (e *Engine) launchFor(h *taskstore.Handle, callers int32) *run {
	r := &run{e: e, h: h, news: make(chan struct{}), canceling: make(chan struct{}), nudged: make(chan struct{}, 1)}
	r.waited.Store(callers)
	h.View(func(rec *taskstore.Record) {
		r.id, r.skill, r.info, r.root = rec.Task.GetId(), e.skill(rec.Skill), rec.Info, rec.RootTask
		r.attempt, r.deadline = rec.Attempts, rec.Deadline
		if rec.CancelRequested {
			close(r.canceling)
		}
		r.req = &agent.Request{
			Message: newestMessage(rec.Task), Skill: rec.Skill, Principal: rec.Info.Principal,
			Caller: rec.Info.Caller, TraceID: rec.Info.TraceID, RootTaskID: rec.RootTask,
		}
	})
	ctx, cancel := context.WithCancelCause(e.base)
	r.cancel = cancel
	e.mu.Lock()
	e.running[r.id] = r
	e.mu.Unlock()
	e.Metrics.Running.Inc()
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		r.execute(ctx)
		e.Metrics.Running.Dec()
		cancel(nil)
		missed := r.retire()
		r.over.Store(true)
		r.tell()
		if missed {
			e.takeUp(r.id)
		}
	}()
	return r
}

// tell lets callers on the line look at the task.
func (r *run) tell() {
	if r.told.CompareAndSwap(false, true) {
		close(r.news)
	}
}

// retire takes the run off the list, unless a newer run of the task has its place
// already. It tells whether the run was nudged after it had last looked.
func (r *run) retire() bool {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	if r.e.running[r.id] == r {
		delete(r.e.running, r.id)
	}
	return r.missed || len(r.nudged) > 0
}

func newestMessage(t *a2apb.Task) *a2apb.Message {
	for i := len(t.GetHistory()) - 1; i >= 0; i-- {
		if t.GetHistory()[i].GetRole() == a2apb.Role_ROLE_USER {
			return t.GetHistory()[i]
		}
	}
	return nil
}

// execute takes the task from where it is stored to its next outcome.
func (r *run) execute(ctx context.Context) {
	ctx, span := r.span(ctx)
	defer span.End()
	log := r.e.Logger.With("task_id", r.id, "trace_id", r.info.TraceID)
	outcome, err := r.step(ctx)
	switch {
	case lost(err):
		return
	case r.e.base.Err() != nil && err != nil:
		return // the process stops; the task is stored and goes on elsewhere
	case errors.Is(context.Cause(ctx), errCanceled):
		return
	case taskstore.Interrupted(err):
		log.Warn("the database was lost; the task is taken up again", "skill", r.req.Skill, "error", err)
		return
	case err != nil:
		log.Warn("run failed", "skill", r.req.Skill, "error", err)
		outcome = agent.Failed(agent.Text(explain(err)))
	}
	err = r.settle(context.WithoutCancel(ctx), outcome)
	if errors.Is(err, taskstore.ErrCanceling) {
		err = r.settleCancel(ctx)
	}
	r.report(span)
	if err != nil && !lost(err) && r.e.base.Err() == nil {
		log.Error("outcome not stored; the task is taken up again", "error", err)
	}
}

// lost tells whether a run has no task any more: another replica owns it, it has
// ended, or its first message turned out to be a repeated one.
func lost(err error) bool {
	var known *taskstore.Existing
	return errors.Is(err, taskstore.ErrFenced) || errors.Is(err, taskstore.ErrEnded) || errors.As(err, &known)
}

// settleCancel ends a run that was about to end otherwise when a cancel was
// requested: a skill that compensates is asked again, now knowing it. Whatever it
// says then, the task can only end as canceled.
func (r *run) settleCancel(ctx context.Context) error {
	r.closeCanceling()
	outcome, err := r.step(ctx)
	switch {
	case lost(err):
		return err
	case err != nil && r.e.base.Err() != nil:
		return nil
	case err != nil:
		r.e.Logger.Warn("a cancel was not completed by its skill", "task_id", r.id, "skill", r.req.Skill, "error", err)
		outcome = agent.Canceled(agent.Text("canceled; what had been begun could not be undone: " + explain(err)))
	case taskstore.Terminal(outcome.State):
		outcome.State = a2apb.TaskState_TASK_STATE_CANCELED
	}
	return r.settle(context.WithoutCancel(ctx), outcome)
}

// explain is the sentence a client reads about a failed run.
func explain(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	if f := fault.FromStatus(err); f != nil {
		return f.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the task ran longer than its budget"
	}
	return "internal error; the operator finds it in the log by trace id"
}

// step screens the task if that is due and calls the skill.
func (r *run) step(ctx context.Context) (outcome agent.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.e.Logger.Error("a skill panicked", "task_id", r.id, "skill", r.req.Skill, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic in skill %s", r.req.Skill)
		}
	}()
	if r.skill == nil || r.skill.Run == nil {
		return agent.Elsewhere(agent.Text("this release of the agent does not have the skill " + r.req.Skill)), nil
	}
	takeovers := 0
	r.h.View(func(rec *taskstore.Record) { takeovers = rec.Takeovers })
	if takeovers > maxTakeovers {
		return agent.Failed(agent.Text(fmt.Sprintf("quarantined: taken over %d times from replicas that died without progress", takeovers))), nil
	}
	if refusal, err := r.admit(ctx); err != nil || refusal != nil {
		if err != nil {
			return agent.Outcome{}, err
		}
		return *refusal, nil
	}
	if err := r.begin(); err != nil {
		return agent.Outcome{}, err
	}
	left := r.deadline.Sub(r.e.Clock.Now())
	if r.skill.Compensates {
		// The grace counts from now: a task that is found long after its deadline still
		// has things to stop and undo.
		left = max(left, 0) + compensationGrace
	}
	if left <= 0 {
		return agent.Outcome{}, context.DeadlineExceeded
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	outcome, err = r.skill.Run(ctx, r)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = context.DeadlineExceeded
	}
	return outcome, err
}

// begin tells readers that work has begun.
func (r *run) begin() error {
	submitted := false
	r.h.View(func(rec *taskstore.Record) {
		submitted = rec.Task.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_SUBMITTED
	})
	if !submitted {
		return nil
	}
	return r.Working(nil)
}

// settle commits an outcome and lets go of the task.
func (r *run) settle(ctx context.Context, o agent.Outcome) error {
	switch {
	case o.Elsewhere:
		o = r.elsewhere(o)
	case o.State == a2apb.TaskState_TASK_STATE_UNSPECIFIED:
		o = agent.Failed(agent.Text("the agent gave no outcome"))
	}
	nudged := false // something happened that this run has not looked at
	select {
	case <-r.nudged:
		nudged = true
	default:
	}
	r.missed = nudged && !taskstore.Terminal(o.State)
	return r.h.Commit(ctx, func(rec *taskstore.Record) (taskstore.Change, error) {
		o := o
		rec.RunOwner, rec.Takeovers = "", 0
		ch := taskstore.Change{Rows: o.Rows}
		now := r.e.Clock.Now()
		switch unseen := !rec.WakeAt.IsZero(); {
		case !unseen:
			rec.WakeAt = o.WakeAt
		case interrupted(o.State):
			// A message came that this run has not seen; it may be the answer to what the
			// run was about to ask. The run is called again instead.
			o.State, o.Message = a2apb.TaskState_TASK_STATE_WORKING, nil
		}
		switch {
		case taskstore.Terminal(o.State), o.Message != nil, o.State != rec.Task.GetStatus().GetState():
			ch.Events = []*a2apb.StreamResponse{r.e.status(o.State, o.Message)}
		}
		if interrupted(o.State) {
			rec.Info.Left = max(rec.Deadline.Sub(now), 0)
		} else if !taskstore.Terminal(o.State) && (rec.WakeAt.IsZero() || rec.WakeAt.After(rec.Deadline)) {
			rec.WakeAt = rec.Deadline
		}
		if o.Retry {
			rec.Attempts++
		}
		if nudged && !rec.WakeAt.IsZero() {
			rec.WakeAt = now
		}
		return ch, nil
	})
}

// status makes a status event; the message gets an id.
func (e *Engine) status(state a2apb.TaskState, m *a2apb.Message) *a2apb.StreamResponse {
	if m != nil && m.GetMessageId() == "" {
		m.MessageId = newID()
	}
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		Status: &a2apb.TaskStatus{State: state, Message: m},
	}}}
}

// newID gives a UUID that sorts by time, which keeps the index of tasks compact.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString()
	}
	return id.String()
}

// Task is a copy of the stored task.
func (r *run) Task() *a2apb.Task { return r.h.Record().Task }

// Request is the message that is answered.
func (r *run) Request() *agent.Request { return r.req }

// Attempt counts failed attempts before this one.
func (r *run) Attempt() int { return r.attempt }

// Deadline is when the budget ends.
func (r *run) Deadline() time.Time { return r.deadline }

// Canceling is closed when a cancel was requested.
func (r *run) Canceling() <-chan struct{} { return r.canceling }

// Nudged receives when something happened that the run may wait for.
func (r *run) Nudged() <-chan struct{} { return r.nudged }

func (r *run) closeCanceling() {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	select {
	case <-r.canceling:
	default:
		close(r.canceling)
	}
}

// hasHeard tells whether the run knows that its cancel was requested.
func (r *run) hasHeard() bool {
	select {
	case <-r.canceling:
		return true
	default:
		return false
	}
}

// Working reports progress.
func (r *run) Working(m *a2apb.Message) error {
	return r.Note(agent.Change{Events: []*a2apb.StreamResponse{r.e.status(a2apb.TaskState_TASK_STATE_WORKING, m)}})
}

// Artifact adds or replaces an artifact.
func (r *run) Artifact(a *a2apb.Artifact) error { return r.artifact(a, false, true) }

// Append adds parts to an artifact.
func (r *run) Append(a *a2apb.Artifact, last bool) error { return r.artifact(a, true, last) }

func (r *run) artifact(a *a2apb.Artifact, more, last bool) error {
	if a.GetArtifactId() == "" {
		a.ArtifactId = newID()
	}
	return r.Note(agent.Change{Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_ArtifactUpdate{
		ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{Artifact: a, Append: more, LastChunk: last},
	}}}})
}

// Note puts a change in the order of commits.
func (r *run) Note(ch agent.Change) error { return r.h.Note(mutation(ch)) }

// Commit makes a change durable.
func (r *run) Commit(ctx context.Context, ch agent.Change) error {
	return r.h.Commit(ctx, mutation(ch))
}

func mutation(ch agent.Change) taskstore.Mutation {
	return func(rec *taskstore.Record) (taskstore.Change, error) {
		if progress(ch) {
			rec.Takeovers = 0
		}
		rec.SetMetadata(ch.Metadata)
		return taskstore.Change{Events: ch.Events, Rows: ch.Rows}, nil
	}
}

// progress tells whether a change keeps something that the next run need not do
// again. A status alone is a word: a run that dies of its task says it every time.
func progress(ch agent.Change) bool {
	if ch.Rows != nil {
		return true
	}
	for _, ev := range ch.Events {
		if ev.GetArtifactUpdate() != nil {
			return true
		}
	}
	return false
}

// Outgoing gives the context for calls made for the task.
func (r *run) Outgoing(ctx context.Context) context.Context {
	ctx = identity.WithOutgoing(ctx, identity.Call{
		Principal: r.info.Principal, Grant: r.info.Grant, TaskID: r.id, RootTaskID: r.root,
	})
	if !trace.Known(ctx) {
		ctx = trace.With(ctx, r.info.Place())
	}
	return metadata.AppendToOutgoingContext(ctx, ext.MetadataVersion, Protocol, DeadlineHeader, formatDeadline(r.deadline))
}
