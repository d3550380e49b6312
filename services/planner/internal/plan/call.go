package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// Peers finds the A2A connection of an agent.
type Peers func(agent string) (grpc.ClientConnInterface, error)

// callFor bounds a call that waits for nothing but the agent's attention.
const callFor = 10 * time.Second

// messageID is derived from what it stands for, so that a step that is sent again
// after a crash finds the task it has already started.
func messageID(task string, r *row) string {
	id := fmt.Sprintf("%s/%s/%d/%d", task, r.Step, r.Round, r.Call)
	if r.Kind == compensationKind {
		id += "/undo"
	}
	return id
}

// answerID is derived likewise from the client's message; clients choose ids of
// any length, each for themselves.
func answerID(task string, r *row, m *a2apb.Message) string {
	sum := sha256.Sum256([]byte(m.GetMessageId()))
	return fmt.Sprintf("%s/%s/%d/answer/%s", task, r.Step, r.Round, hex.EncodeToString(sum[:16]))
}

func (p *plan) message(r *row) (*a2apb.Message, error) {
	inputs, err := agent.Data(r.Inputs)
	if err != nil {
		return nil, err
	}
	return &a2apb.Message{
		MessageId: messageID(p.task, r), ContextId: p.context, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{inputs},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			ext.Skill: structpb.NewStringValue(r.Skill), ext.Step: structpb.NewStringValue(r.Step),
		}},
	}, nil
}

// request states the labels of a step's inputs, and their purpose, beside the message:
// whichever release of the planner sends it again, and whatever that knows of them, the
// message is the same. What a client answers has labels of its own.
func request(r *row, m *a2apb.Message, atOnce bool) *a2apb.SendMessageRequest {
	req := &a2apb.SendMessageRequest{
		Tenant: r.Agent, Message: m, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: atOnce, HistoryLength: new(int32)},
	}
	if m.GetTaskId() == "" && !r.In.IsZero() {
		req.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Labels: r.In.Value()}}
		if !r.For.IsZero() {
			req.Metadata.Fields[ext.Purpose] = r.For.Value()
		}
	}
	return req
}

func (p *Planner) client(r *row) (a2apb.A2AServiceClient, string) {
	conn, err := p.Peers(r.Agent)
	if err != nil {
		p.Logger.Error("no connection to an agent", "agent", r.Agent, "error", err)
		return nil, "agent " + r.Agent + " is not connected"
	}
	return a2apb.NewA2AServiceClient(conn), ""
}

// within ends the context after d on the planner's clock.
func (p *Planner) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := p.Clock.After(d)
	go func() {
		select {
		case <-timer:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// ask sends a message and waits for its task while wait lasts. The wait may end
// before the work: then the same message, sent again, names the task it became.
func ask(ctx, wait context.Context, client a2apb.A2AServiceClient, r *row, m *a2apb.Message) (*a2apb.SendMessageResponse, error) {
	res, err := client.SendMessage(wait, request(r, m, false))
	if err == nil || wait.Err() == nil || ctx.Err() != nil {
		return res, err
	}
	return again(ctx, client, r, m)
}

func again(ctx context.Context, client a2apb.A2AServiceClient, r *row, m *a2apb.Message) (*a2apb.SendMessageResponse, error) {
	brief, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	return client.SendMessage(brief, request(r, m, true))
}

// line is the context of a call that starts a step.
type line struct {
	context.Context
	// direct says that no task had come of the message when it was looked for: the
	// agent answers with a direct Message, which exists on the line only.
	direct atomic.Bool
}

// onLine gives the line of a step that is due at a time. After the limit the line
// is given up if the step has become a task, which is heard of without it. Else it
// is held until the step is due.
func (p *Planner) onLine(ctx, wait context.Context, pl *plan, r *row, limit time.Duration) (*line, context.CancelFunc) {
	inner, cancel := context.WithCancel(wait)
	l := &line{Context: inner}
	timer := p.Clock.After(limit)
	go func() {
		for {
			select {
			case <-l.Done():
				return
			case <-timer:
			}
			child, why := p.find(ctx, pl, r)
			l.direct.Store(child == "" && why == "")
			if child != "" || r.late(p.Clock.Now()) {
				cancel()
				return
			}
			next := limit
			if !r.DueAt.IsZero() {
				next = min(next, r.DueAt.Sub(p.Clock.Now()))
			}
			timer = p.Clock.After(next)
		}
	}()
	return l, cancel
}

// send starts a step, or finds it started, and waits for it: for its task up to
// the limit, for a direct answer until the step is due.
func (p *Planner) send(ctx, wait context.Context, pl *plan, r row, limit time.Duration) report {
	rep := report{key: r.key(), state: playbook.Failed, child: r.ChildTask}
	if wait.Err() != nil { // the plan lets go before anything was sent
		rep.state = playbook.Running
		return rep
	}
	client, why := p.client(&r)
	if client == nil {
		rep.reason = why
		return rep
	}
	m, err := pl.message(&r)
	if err != nil {
		rep.reason = "its inputs cannot be sent as JSON"
		return rep
	}
	line, cancel := p.onLine(ctx, wait, pl, &r, limit)
	defer cancel()
	res, err := client.SendMessage(line, request(&r, m, false))
	if err != nil && line.Err() != nil && ctx.Err() == nil {
		if line.direct.Load() {
			rep.state = playbook.Running // over its budget, or let go of
			return rep
		}
		res, err = again(ctx, client, &r, m)
	} else if f := fault.FromStatus(err); f != nil && f.Reason == fault.UnsupportedOperation {
		res, err = again(ctx, client, &r, m) // the agent lets nobody wait on the line
	}
	if err != nil {
		return failed(rep, err)
	}
	if msg := res.GetMessage(); msg != nil {
		rep.state, rep.volatile = playbook.Completed, true
		rep.output, rep.labels = outputOf("", "", msg.GetParts()), label.Of(msg.GetParts()...)
		return rep
	}
	return observe(rep, res.GetTask())
}

// look reads the child of a step that was started before.
func (p *Planner) look(ctx context.Context, r row) report {
	rep := report{key: r.key(), state: playbook.Failed, child: r.ChildTask}
	client, why := p.client(&r)
	if client == nil {
		rep.reason = why
		return rep
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	t, err := client.GetTask(ctx, &a2apb.GetTaskRequest{Tenant: r.Agent, Id: r.ChildTask, HistoryLength: new(int32)})
	if err != nil {
		return failed(rep, err)
	}
	return observe(rep, t)
}

// answer passes a client's message on to the child that asked, once.
func (p *Planner) answer(ctx, wait context.Context, task string, r row, m *a2apb.Message, limit time.Duration) report {
	rep := report{key: r.key(), state: playbook.Failed, child: r.ChildTask}
	client, why := p.client(&r)
	if client == nil {
		rep.reason = why
		return rep
	}
	wait, cancel := p.within(wait, limit)
	defer cancel()
	res, err := ask(ctx, wait, client, &r, &a2apb.Message{
		MessageId: answerID(task, &r, m), TaskId: r.ChildTask, Role: a2apb.Role_ROLE_USER, Parts: m.GetParts(),
	})
	if err != nil {
		if rep = failed(rep, err); rep.lost {
			return rep
		}
		rep = p.look(ctx, r) // refused, or the child has ended meanwhile: it says itself how it stands
	} else {
		rep = observe(rep, res.GetTask())
	}
	rep.answered = !rep.lost
	return rep
}

// halt ends an attempt whose budget is spent. Should its child have made it in
// time, that counts.
func (p *Planner) halt(ctx context.Context, r row, reason string) report {
	why := p.stop(ctx, r)
	if r.ChildTask != "" {
		if rep := p.look(ctx, r); rep.state == playbook.Completed {
			return rep
		}
	}
	if why != "" {
		reason += "; it could not be stopped: " + why
	}
	return report{key: r.key(), state: playbook.Failed, child: r.ChildTask, reason: reason, again: true, fresh: true}
}

// stop cancels the child of a step. It reports why it could not, or "".
func (p *Planner) stop(ctx context.Context, r row) string {
	if r.ChildTask == "" {
		return ""
	}
	client, why := p.client(&r)
	if client == nil {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	_, err := client.CancelTask(ctx, &a2apb.CancelTaskRequest{Tenant: r.Agent, Id: r.ChildTask})
	if f := fault.FromStatus(err); f != nil && f.Reason == fault.TaskNotCancelable {
		return "" // it has ended by itself
	}
	if err != nil {
		return sentence(err)
	}
	return ""
}

// find looks for the task of a step whose message may or may not have arrived
// before a crash. It starts nothing. The second result says why it cannot know.
func (p *Planner) find(ctx context.Context, pl *plan, r *row) (child, why string) {
	client, why := p.client(r)
	if client == nil {
		return "", why
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	id, size, one := messageID(pl.task, r), int32(100), int32(1)
	req := &a2apb.ListTasksRequest{Tenant: r.Agent, ContextId: pl.context, PageSize: &size, HistoryLength: &one}
	for {
		res, err := client.ListTasks(ctx, req)
		if err != nil {
			return "", sentence(err)
		}
		for _, t := range res.GetTasks() {
			if h := t.GetHistory(); len(h) == 1 && h[0].GetMessageId() == id {
				return t.GetId(), ""
			}
		}
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			return "", ""
		}
	}
}
