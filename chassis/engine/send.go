package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// defaultBudget bounds a run whose skill states none.
const defaultBudget = 10 * time.Minute

// accepted is what became of a message: an answer, or a task.
type accepted struct {
	message *a2apb.Message
	taskID  string
	// run is the execution on this replica, if it is here.
	run *run
	// onLine says that the run counts its caller already.
	onLine bool
}

// SendMessage takes a message and, unless told to return at once, waits until its
// task ends or needs the client (specification 3.1.1).
func (e *Engine) SendMessage(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	a, err := e.accept(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	if a.message != nil {
		return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{Message: a.message}}, nil
	}
	rec, err := e.await(ctx, a, req.GetConfiguration().GetReturnImmediately())
	if err != nil {
		return nil, err
	}
	t := e.present(rec)
	if req.GetConfiguration() != nil {
		trim(t, req.GetConfiguration().HistoryLength)
	}
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Task{Task: t}}, nil
}

// SendStreamingMessage takes a message and streams what happens (specification 3.1.2).
func (e *Engine) SendStreamingMessage(req *a2apb.SendMessageRequest, stream grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	ctx := stream.Context()
	// A new task is watched from before it is stored, so that its stream has every event.
	var watched *eventlog.Reader
	a, err := e.accept(ctx, req, func(taskID string) error {
		var err error
		watched, err = e.hub.Subscribe(taskID)
		return err
	})
	if watched != nil {
		defer watched.Close()
	}
	if err != nil {
		return err
	}
	if a.message != nil {
		return stream.Send(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Message{Message: a.message}})
	}
	closeAt := func(s a2apb.TaskState) bool {
		return taskstore.Terminal(s) || s == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
	}
	if watched != nil && watched.TaskID() == a.taskID {
		t := &tailer{e: e, id: a.taskID, stream: stream, closeAt: closeAt}
		return t.follow(ctx, watched)
	}
	return e.tail(ctx, a.taskID, nil, stream, closeAt)
}

// accept checks a message and makes of it a direct answer, a new task, or a turn
// of a task that exists. What it accepts as a task is stored when it returns.
//
// watch, if any, is told the id of a new task before it is stored.
func (e *Engine) accept(ctx context.Context, req *a2apb.SendMessageRequest, watch func(taskID string) error) (accepted, error) {
	call, err := e.call(ctx)
	if err != nil {
		return accepted{}, err
	}
	m := req.GetMessage()
	if err := CheckMessage(m); err != nil {
		return accepted{}, err
	}
	if err := checkHistory(historyOf(req)); err != nil {
		return accepted{}, err
	}
	push, err := e.pushWith(req)
	if err != nil {
		return accepted{}, err
	}
	if call.Edge {
		strip(m)
	}
	if m.GetTaskId() != "" {
		return e.followUp(ctx, call, req, push)
	}
	skill, err := e.skillFor(req, call.Edge)
	if err != nil {
		return accepted{}, err
	}
	if err := checkModes(skill, m); err != nil {
		return accepted{}, err
	}
	if skill.Check != nil {
		r := &agent.Request{
			Message: m, Skill: skill.ID, Principal: call.Principal, Caller: call.Actor, TraceID: trace.Of(ctx).TraceID,
			AtOnce: req.GetConfiguration().GetReturnImmediately(),
		}
		if err := skill.Check(ctx, r); err != nil {
			return accepted{}, err
		}
	}
	if skill.Answer != nil {
		answer, err := e.answer(ctx, call, skill, req)
		return accepted{message: answer}, err
	}
	if call.Principal.Anonymous() && call.Edge {
		return accepted{}, fault.New(fault.Unauthenticated, "skill %s needs a caller who is known; send an API key or a token", skill.ID)
	}
	return e.create(ctx, call, skill, req, push, watch)
}

// create stores a new task, with its push configuration if any, and runs it.
func (e *Engine) create(ctx context.Context, call identity.Call, skill *agent.Skill, req *a2apb.SendMessageRequest, push *a2apb.TaskPushNotificationConfig, watch func(string) error) (accepted, error) {
	m := req.GetMessage()
	now := e.Clock.Now()
	place := trace.CallerOf(ctx)
	id := newID()
	digest := taskstore.Digest(m)
	mark(ctx, call, req)
	m.TaskId = id
	if m.GetContextId() == "" {
		m.ContextId = newID()
	}
	budget := cmp.Or(skill.Budget, defaultBudget)
	if skill.BudgetOf != nil {
		budget = cmp.Or(skill.BudgetOf(&agent.Request{Message: m, Skill: skill.ID, Principal: call.Principal, Caller: call.Actor, TraceID: place.TraceID}), budget)
	}
	deadline := now.Add(budget)
	if d := callerDeadline(ctx); !skill.OwnClock && !d.IsZero() && d.Before(deadline) {
		deadline = d
	}
	rec := &taskstore.Record{
		Task: &a2apb.Task{
			Id: id, ContextId: m.GetContextId(), History: []*a2apb.Message{m},
			Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_SUBMITTED, Timestamp: timestamppb.New(now)},
		},
		Info: taskstore.Info{
			Principal: call.Principal, Grant: call.Grant, Caller: call.Actor, ParentTask: call.TaskID,
			TraceID: place.TraceID, SpanID: place.SpanID, TraceState: place.State, Unrecorded: !place.Sampled, Protocol: protocolOf(ctx), Digest: digest, Budget: budget,
		},
		Owner: taskstore.Key(call), Agent: e.Agent.Tenant, Skill: skill.ID, RootTask: call.RootTaskID, Deadline: deadline,
	}
	if rec.RootTask == "" {
		rec.RootTask = id
	}
	if call.Edge && e.Screener != nil {
		rec.Info.Admission = taskstore.Pending
	}
	messageID := m.GetMessageId()
	if e.AllowRepeatedMessageIDs {
		messageID = ""
	}
	if watch != nil {
		if err := watch(id); err != nil {
			return accepted{}, err
		}
	}
	var rows []taskstore.Rows
	if push != nil {
		push.TaskId, rec.Push = id, true
		put, err := e.Store.PutPush(push, 0, false)
		if err != nil {
			return accepted{}, err
		}
		rows = []taskstore.Rows{put}
	}
	a, err := e.begin(ctx, rec, skill, messageID, watch == nil && !req.GetConfiguration().GetReturnImmediately(), rows)
	var known *taskstore.Existing
	if errors.As(err, &known) {
		return e.repeated(known, m.GetMessageId())
	}
	if err != nil {
		return accepted{}, err
	}
	e.countsOf(skill.ID).Accepted.Inc()
	e.copyOut(call, place.TraceID, m.GetMessageId(), skill.ID, id, digest)
	return a, nil
}

// begin stores a task and runs it. Where the caller waits for the end, a skill that
// only reads runs while its task is on the way to the disk, and an instant one is
// stored with its end at once; either way the task is stored when begin returns.
func (e *Engine) begin(ctx context.Context, rec *taskstore.Record, skill *agent.Skill, messageID string, waits bool, rows []taskstore.Rows) (accepted, error) {
	if !waits || !skill.ReadOnly || rec.Info.Admission == taskstore.Pending {
		h, err := e.Store.Create(ctx, rec, messageID, rows...)
		if err != nil {
			return accepted{}, err
		}
		return accepted{taskID: rec.Task.GetId(), run: e.launch(h)}, nil
	}
	if messageID != "" && rec.Owner != "" {
		known, err := e.Store.Known(ctx, rec.Owner, messageID, rec.Info.Digest)
		if err != nil {
			return accepted{}, err
		}
		if known != nil {
			return accepted{}, known
		}
	}
	h, stored := e.Store.Begin(rec, messageID, rows...)
	r := e.launchFor(h, 1)
	if err := e.Store.Stored(stored); err != nil {
		r.cancel(errCanceled)
		return accepted{}, err
	}
	return accepted{taskID: r.id, run: r, onLine: true}, nil
}

// repeated answers a message that was sent before: the same message gives the
// same task, another one under its id is a conflict.
func (e *Engine) repeated(known *taskstore.Existing, messageID string) (accepted, error) {
	if !known.Same {
		return accepted{}, fault.New(fault.MessageIDConflict,
			"messageId %q was used for another message; choose a new id, or send the same message to get its task", messageID).With("taskId", known.TaskID)
	}
	return accepted{taskID: known.TaskID, run: e.runOf(known.TaskID)}, nil
}

func (e *Engine) runOf(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running[id]
}

// answer gives a direct answer. Its audit row joins the next commit.
func (e *Engine) answer(ctx context.Context, call identity.Call, skill *agent.Skill, req *a2apb.SendMessageRequest) (*a2apb.Message, error) {
	if call.Principal.Anonymous() && call.Edge && !skill.Anonymous {
		return nil, fault.New(fault.Unauthenticated, "skill %s needs a caller who is known; send an API key or a token", skill.ID)
	}
	m := req.GetMessage()
	started := e.Clock.Now()
	place := trace.Of(ctx)
	hop := taskstore.Hop{
		RootTaskID: call.RootTaskID, ParentTaskID: call.TaskID, TraceID: place.TraceID, Caller: call.Actor, Principal: call.Principal.Key(),
		Agent: e.Agent.Tenant, Skill: skill.ID, Protocol: protocolOf(ctx), StartedAt: started, Outcome: "MESSAGE", RequestDigest: taskstore.Digest(m),
	}
	mark(ctx, call, req)
	reply, err := e.reply(ctx, call, skill, m, &hop)
	hop.EndedAt = e.Clock.Now()
	counts := e.countsOf(skill.ID)
	answered := counts.AnsweredWell
	if err != nil {
		answered = counts.AnsweredBadly
		hop.Outcome, hop.Reason = "ERROR", explain(err)
	} else {
		hop.ResponseDigest = taskstore.Digest(reply)
	}
	answered.Inc()
	counts.AnswerSeconds.Observe(hop.EndedAt.Sub(started).Seconds())
	e.Store.Record(hop)
	return reply, err
}

func (e *Engine) reply(ctx context.Context, call identity.Call, skill *agent.Skill, m *a2apb.Message, hop *taskstore.Hop) (*a2apb.Message, error) {
	if call.Edge {
		verdict, err := e.screenNow(ctx, call, m)
		if err != nil {
			if verdict.PolicyVersion != "" {
				hop.Admission = "refused by policy " + verdict.PolicyVersion
			}
			return nil, err
		}
		hop.Admission = "allowed by policy " + verdict.PolicyVersion
	}
	ctx = identity.WithOutgoing(ctx, call)
	reply, err := skill.Answer(ctx, &agent.Request{
		Message: m, Skill: skill.ID, Principal: call.Principal, Caller: call.Actor, TraceID: hop.TraceID, Digest: hop.RequestDigest,
	})
	if err != nil {
		if fault.As(err) == nil && fault.FromStatus(err) == nil {
			e.Logger.ErrorContext(ctx, "a direct answer failed", "skill", skill.ID, "error", err)
		}
		return nil, err
	}
	if reply == nil || len(reply.GetParts()) == 0 {
		return nil, fault.New(fault.InvalidAgentResponse, "the agent gave an empty answer")
	}
	reply.Role = a2apb.Role_ROLE_AGENT
	if reply.GetMessageId() == "" {
		reply.MessageId = newID()
	}
	if reply.GetContextId() == "" {
		reply.ContextId = m.GetContextId()
	}
	return reply, nil
}

// call gives the verified caller after the checks that every operation shares.
func (e *Engine) call(ctx context.Context) (identity.Call, error) {
	if err := CheckVersion(ctx); err != nil {
		return identity.Call{}, err
	}
	if err := e.checkExtensions(ctx); err != nil {
		return identity.Call{}, err
	}
	c, ok := identity.CallOf(ctx)
	if !ok {
		return identity.Call{}, fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	return c, nil
}
