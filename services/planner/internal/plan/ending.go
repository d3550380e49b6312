package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// unwindFor is what the stopping and undoing of a plan has at least, whatever is
// left of its budget: a plan is undone even when it fails because its time is up.
const unwindFor = 50 * time.Second

// finish ends a plan with its answer.
func (i *interpreter) finish(result *playbook.Result) (agent.Outcome, error) {
	text, data := i.plan.book.Output.Sources()
	parts := []*a2apb.Part{i.plan.labels(text, "", 0).Put(agent.Text(result.Text))}
	if len(result.Data) > 0 {
		part, err := agent.Data(result.Data)
		if err != nil {
			return agent.Outcome{}, err
		}
		parts = append(parts, i.plan.labels(data, "", 0).Put(part))
	}
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return agent.Outcome{}, err
	}
	var events []*a2apb.StreamResponse
	if len(i.changed) > 0 {
		events = append(events, i.progress(a2apb.TaskState_TASK_STATE_WORKING, nil))
	}
	events = append(events, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
		Artifact: &a2apb.Artifact{ArtifactId: "answer", Name: "answer", Parts: parts}, LastChunk: true,
	}}})
	if err := i.run.Note(agent.Change{Metadata: i.metadata(), Events: events}); err != nil {
		return agent.Outcome{}, err
	}
	o := agent.Completed()
	o.Rows = rows
	return o, nil
}

// cancel stops what runs, undoes what was done, and ends the task as canceled
// with a report.
func (i *interpreter) cancel(ctx context.Context) (agent.Outcome, error) {
	if err := i.unwind(ctx); err != nil {
		return agent.Outcome{}, err
	}
	head := "Canceled."
	if reason := i.canceledFor(); reason != "" {
		head = "Canceled by an operator: " + reason
	}
	return i.end(head, agent.Canceled)
}

// canceledFor is the reason that an operator gave; empty when the client cancels.
func (i *interpreter) canceledFor() string {
	return i.run.Task().GetMetadata().GetFields()[ext.Canceled].GetStringValue()
}

// fail stops what still runs, undoes what was done, and ends the task as failed, or
// as rejected when people did not approve, with its reasons.
func (i *interpreter) fail(ctx context.Context) (agent.Outcome, error) {
	if err := i.unwind(ctx); err != nil {
		return agent.Outcome{}, err
	}
	outcome := agent.Failed
	if i.plan.phase == rejecting {
		outcome = agent.Rejected
	}
	return i.end(strings.Join(i.plan.reasons, "\n"), outcome)
}

func (i *interpreter) end(head string, outcome func(...*a2apb.Part) agent.Outcome) (agent.Outcome, error) {
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return agent.Outcome{}, err
	}
	parts, err := i.plan.account().parts(head)
	if err != nil {
		return agent.Outcome{}, err
	}
	if err := i.run.Note(agent.Change{Metadata: i.metadata()}); err != nil {
		return agent.Outcome{}, err
	}
	o := outcome(parts...)
	o.Rows = rows
	return o, nil
}

// unwinding is the time in which a plan stops and undoes.
type unwinding struct {
	// ctx ends with the run, but not because the plan's time is up.
	ctx context.Context
	// calls carries the task's identity and the deadline of the unwinding.
	calls context.Context
	until time.Time
}

// unwind stops running children, takes in what still finishes meanwhile, and
// compensates completed steps in reverse order of their completion.
func (i *interpreter) unwind(ctx context.Context) error {
	u, done := i.grace(ctx)
	defer done()
	if err := i.stopAll(u); err != nil {
		return err
	}
	for _, r := range i.plan.toUndo() {
		if err := i.undo(u, r); err != nil {
			return err
		}
	}
	return nil
}

func (i *interpreter) grace(ctx context.Context) (unwinding, func()) {
	left := max(unwindFor, i.run.Deadline().Sub(i.p.Clock.Now()))
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
		}
	})
	u := unwinding{ctx: own, until: i.p.Clock.Now().Add(left)}
	u.calls = i.run.Outgoing(own)
	if md, ok := metadata.FromOutgoingContext(u.calls); ok {
		md = md.Copy()
		md.Set(engine.DeadlineHeader, fmt.Sprint(u.until.UnixMilli()))
		u.calls = metadata.NewOutgoingContext(u.calls, md)
	}
	return u, func() { stop(); cancel() }
}

// toUndo lists the steps that this plan has completed and that have a compensation,
// last completed first.
func (p *plan) toUndo() []*row {
	list := p.ordered(func(r *row) bool {
		s := p.book.Step(r.Step)
		return r.Kind == stepKind && r.State == playbook.Completed && !r.Kept && s != nil && s.Compensation != nil
	})
	slices.SortStableFunc(list, func(a, b *row) int { return a.EndedAt.Compare(b.EndedAt) })
	slices.Reverse(list)
	return list
}

// undo runs the compensation of one completed step, as an ordinary step with retries.
func (i *interpreter) undo(u unwinding, done *row) error {
	r, err := i.compensation(u.ctx, done)
	if err != nil {
		return err
	}
	retries := playbook.DefaultRetries(false)
	lost := 0
	for r.State == playbook.Running {
		left := u.until.Sub(i.p.Clock.Now())
		if left <= 0 {
			i.settle(r, playbook.Failed, orElse(r.Reason, "there was no time left for it"))
			break
		}
		calls, span := stepSpan(u.calls, "undo", r)
		rep := i.p.send(calls, calls, i.plan, *r, min(undoFor, left))
		ended(span, rep)
		if err := u.ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if rep.child != "" {
			r.ChildTask = rep.child
		}
		wait := time.Duration(0)
		switch {
		case rep.lost:
			wait = min(lostFirst<<min(lost, 8), lostMost, left)
			r.Reason = rep.reason
			lost++
		case rep.state == playbook.Completed:
			r.Output, r.Out = rep.output, label.Join(r.In, known(rep.labels))
			i.settle(r, playbook.Completed, "")
		case rep.waitsFor != "":
			i.settle(r, playbook.Failed, "it waits for an answer: "+showText(rep.ask))
		case rep.state == playbook.Running:
			i.settle(r, playbook.Failed, "it has not ended within "+min(undoFor, left).Round(time.Millisecond).String())
		case rep.again && r.Attempt < retries.Max:
			r.Attempt++
			if rep.fresh {
				r.Call, r.ChildTask = r.Attempt, ""
			}
			wait = min(retries.Delay(r.Attempt, i.p.Random()), left)
		default:
			i.settle(r, playbook.Failed, rep.reason)
		}
		if wait > 0 {
			select {
			case <-i.p.Clock.After(wait):
			case <-u.ctx.Done():
			}
		}
	}
	return i.commit(u.ctx)
}

func showText(m *a2apb.Message) string {
	return orElse(agent.TextOf(m.GetParts()), "it does not say to what")
}

// undoFor bounds one attempt to undo a step.
const undoFor = 30 * time.Second

// compensation is the row of a step's undoing; it is stored before it is sent.
func (i *interpreter) compensation(ctx context.Context, done *row) (*row, error) {
	s := i.plan.book.Step(done.Step)
	r := i.plan.rows[rowKey{compensationKind, done.Step, done.Round}]
	if r != nil {
		return r, nil
	}
	r = &row{
		Kind: compensationKind, Step: done.Step, Round: done.Round, State: playbook.Running, Agent: s.Compensation.Agent,
		Skill: s.Compensation.Skill, StartedAt: i.p.Clock.Now(),
	}
	inputs, err := i.plan.book.CompensationInputs(s, i.plan.at(s.Loop, done.Round))
	r.In = i.plan.labels(s.Compensation.Sources, s.Loop, done.Round)
	if r.Inputs = inputs; err != nil {
		i.settle(r, playbook.Failed, err.Error())
	}
	i.put(r)
	return r, i.commit(ctx)
}
