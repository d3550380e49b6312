package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/planner/playbook"
)

// Polling of children while a plan is parked, should their wake-up be lost.
const parkFor = 30 * time.Second

// interpreter is one run of a plan on one replica.
type interpreter struct {
	p    *Planner
	run  agent.Run
	plan *plan
	// reports come from the goroutines that wait for steps.
	reports chan report
	// busy are the rows that a goroutine of this run waits for.
	busy map[rowKey]bool
	// asks are the questions of children that wait for the client.
	asks map[rowKey]*a2apb.Message
	// changed are rows that the next commit writes.
	changed []*row
	// hold is set when the next commit must be durable before anything starts that
	// builds on it: an output that exists nowhere else.
	hold bool
	// calls ends the goroutines of this run.
	calls context.Context
	// overdue receives when the plan's budget is spent.
	overdue <-chan time.Time
}

// loop advances the plan until it ends, parks or needs the client.
func (i *interpreter) loop(ctx context.Context) (agent.Outcome, error) {
	calls, cancel := context.WithCancel(i.run.Outgoing(ctx))
	defer cancel()
	i.calls = calls
	i.asks = map[rowKey]*a2apb.Message{}
	select {
	case <-i.run.Canceling():
		i.plan.phase = cancelling
	default:
	}
	if i.plan.phase == running {
		i.resume()
	}
	i.overdue = i.p.Clock.After(i.run.Deadline().Sub(i.p.Clock.Now()))
	for {
		if i.plan.phase == cancelling {
			return i.cancel(ctx)
		}
		if i.plan.phase == failing {
			return i.fail(ctx)
		}
		next := i.plan.book.Next(i.plan.run())
		if next.Done != nil {
			return i.finish(next.Done)
		}
		if next.Failure != nil {
			i.plan.phase, i.plan.reasons = failing, next.Failure.Reasons
			continue
		}
		if err := i.apply(ctx, next); err != nil {
			return agent.Outcome{}, err
		}
		outcome, err := i.wait(ctx)
		if outcome != nil || err != nil {
			if err != nil {
				return agent.Outcome{}, err
			}
			return *outcome, nil
		}
	}
}

// resume looks after the steps that were running when the plan was last let go.
func (i *interpreter) resume() {
	answer := i.run.Request().Message
	for _, r := range i.plan.rows {
		if r.State != playbook.Running {
			continue
		}
		switch {
		case r.WaitsFor == "input" && i.answers(r, answer):
			i.forward(r, answer)
		case r.ChildTask != "":
			i.start(r, func(ctx context.Context, r row) report { return i.p.look(ctx, r) })
		case !r.RetryAt.IsZero():
			i.startAt(r)
		default:
			i.startCall(r)
		}
	}
}

// apply stores a decision and starts its steps.
func (i *interpreter) apply(ctx context.Context, next playbook.Next) error {
	now := i.p.Clock.Now()
	for _, rev := range next.Revise {
		i.plan.loops[rev.Loop.Judge] = playbook.LoopRun{Round: rev.Round, Feedback: rev.Feedback}
	}
	for _, id := range next.Skip {
		s := i.plan.book.Step(id)
		i.put(&row{Kind: stepKind, Step: id, Round: i.plan.loops[s.Loop].Round, State: playbook.Skipped, Agent: s.Agent, Skill: s.Skill, StartedAt: now, EndedAt: now})
	}
	var started []*row
	for _, st := range next.Start {
		r := &row{
			Kind: stepKind, Step: st.Step.ID, Round: st.Round, State: playbook.Running, Agent: st.Step.Agent, Skill: st.Step.Skill,
			Inputs: st.Inputs, StartedAt: now,
		}
		i.put(r)
		started = append(started, r)
	}
	if err := i.commit(ctx); err != nil {
		return err
	}
	for _, r := range started {
		i.startCall(r)
	}
	return nil
}

// put makes a row current and marks it for the next commit.
func (i *interpreter) put(r *row) {
	i.plan.rows[r.key()] = r
	i.changed = append(i.changed, r)
}

// commit writes the changed rows and tells readers. It waits for the disk only
// when an output exists nowhere else: what children answered they keep, and a
// step that is sent again finds its task.
func (i *interpreter) commit(ctx context.Context) error {
	if len(i.changed) == 0 {
		return nil
	}
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return err
	}
	change := agent.Change{Rows: rows, Events: []*a2apb.StreamResponse{i.progress(i.changed)}, Metadata: i.metadata()}
	i.changed = nil
	if !i.hold {
		return i.run.Note(change)
	}
	i.hold = false
	return i.run.Commit(ctx, change)
}

// startCall sends a step to its agent, or runs it here when it is the planner's own.
func (i *interpreter) startCall(r *row) {
	if r.Agent == playbook.LocalAgent {
		i.start(r, i.local)
		return
	}
	limit := min(blockFor, i.left(r))
	i.start(r, func(ctx context.Context, r row) report { return i.p.send(ctx, i.plan.task, r, limit) })
}

// startAt sends a step when its retry is due.
func (i *interpreter) startAt(r *row) {
	wait := r.RetryAt.Sub(i.p.Clock.Now())
	limit := min(blockFor, i.left(r))
	i.start(r, func(ctx context.Context, r row) report {
		select {
		case <-i.p.Clock.After(wait):
			return i.p.send(ctx, i.plan.task, r, limit)
		case <-ctx.Done():
			return report{key: r.key(), state: playbook.Running}
		}
	})
}

func (i *interpreter) start(r *row, call func(context.Context, row) report) {
	i.busy[r.key()] = true
	copied, calls := *r, i.calls
	go func() { i.reports <- call(calls, copied) }()
}

func (i *interpreter) local(ctx context.Context, r row) report {
	rep := report{key: r.key(), state: playbook.Completed, volatile: true}
	out, err := i.p.Synthesiser.Synthesise(ctx, r.Inputs)
	if err != nil {
		return failed(report{key: r.key()}, err)
	}
	rep.output = out
	return rep
}

// left is what remains of a step's budget.
func (i *interpreter) left(r *row) time.Duration {
	s := i.plan.book.Step(r.Step)
	if s == nil || s.Budget == 0 {
		return blockFor
	}
	return max(r.StartedAt.Add(s.Budget).Sub(i.p.Clock.Now()), time.Millisecond)
}

// wait takes the next report. It parks the plan when nothing is left to wait for
// on the line, and pauses it when a child needs the client.
func (i *interpreter) wait(ctx context.Context) (*agent.Outcome, error) {
	if len(i.busy) == 0 {
		o := i.pause()
		return &o, i.commit(ctx)
	}
	select {
	case rep := <-i.reports:
		return nil, i.take(rep)
	case <-i.run.Canceling():
		i.plan.phase = cancelling
		return nil, nil
	case <-i.overdue:
		i.plan.phase, i.plan.reasons = failing, []string{"the plan took longer than its budget of " + i.plan.book.Budget.String()}
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take brings a report into the plan.
func (i *interpreter) take(rep report) error {
	delete(i.busy, rep.key)
	r := i.plan.rows[rep.key]
	if rep.child != "" {
		r.ChildTask = rep.child
	}
	r.WaitsFor = rep.waitsFor
	now := i.p.Clock.Now()
	switch rep.state {
	case playbook.Running:
		if rep.ask != nil {
			i.asks[rep.key] = rep.ask
		}
		if s := i.plan.book.Step(r.Step); rep.waitsFor == "" && s != nil && s.Budget > 0 && !now.Before(r.StartedAt.Add(s.Budget)) {
			if why := i.p.stop(i.calls, *r); why != "" {
				i.p.Logger.Warn("a step over its budget could not be stopped", "task_id", i.plan.task, "step", r.Step, "reason", why)
			}
			return i.attemptFailed(r, fmt.Sprintf("it took longer than its budget of %s", s.Budget), true)
		}
		i.changed = append(i.changed, r)
		return nil
	case playbook.Failed, playbook.Canceled:
		return i.attemptFailed(r, rep.reason, rep.again && rep.state == playbook.Failed)
	}
	r.State, r.Output, r.EndedAt, r.Reason = rep.state, rep.output, now, ""
	i.hold = i.hold || rep.volatile
	i.changed = append(i.changed, r)
	return nil
}

// attemptFailed plans the next attempt of a step, or settles it as failed.
func (i *interpreter) attemptFailed(r *row, reason string, again bool) error {
	now := i.p.Clock.Now()
	r.Reason = reason
	i.changed = append(i.changed, r)
	s := i.plan.book.Step(r.Step)
	if again && i.plan.phase == running && s != nil && r.Attempt < s.Retries.Max {
		r.Attempt++
		r.ChildTask, r.WaitsFor = "", ""
		r.RetryAt = now.Add(s.Retries.Delay(r.Attempt, i.p.Random()))
		r.StartedAt = r.RetryAt // the budget is that of one attempt
		i.startAt(r)
		return nil
	}
	r.State, r.EndedAt = playbook.Failed, now
	return nil
}

// pause lets go of the plan while its children work or wait for people.
func (i *interpreter) pause() agent.Outcome {
	wake := i.p.Clock.Now().Add(parkFor)
	for key, r := range i.plan.rows {
		if r.State != playbook.Running {
			continue
		}
		if r.WaitsFor == "input" {
			if m := i.asks[key]; m != nil {
				return agent.InputRequired(m.GetParts()...)
			}
			return agent.InputRequired(agent.Text("step " + r.Step + " waits for your answer"))
		}
	}
	for key, r := range i.plan.rows {
		if r.State == playbook.Running && r.WaitsFor == "auth" {
			text := "step " + r.Step + " waits for an authorisation"
			if m := i.asks[key]; m != nil {
				text = orElse(agent.TextOf(m.GetParts()), text)
			}
			return agent.AuthRequired(wake, agent.Text(text))
		}
	}
	return agent.Parked(wake)
}

// answers tells whether the newest message is an answer that a waiting step has
// not had yet.
func (i *interpreter) answers(r *row, m *a2apb.Message) bool {
	if m == nil {
		return false
	}
	if step, ok := m.GetMetadata().GetFields()["step"]; ok && step.GetStringValue() != r.Step {
		return false
	}
	return true
}

// forward passes the client's answer on to the child that asked.
func (i *interpreter) forward(r *row, m *a2apb.Message) {
	limit := min(blockFor, i.left(r))
	i.start(r, func(ctx context.Context, r row) report { return i.p.answer(ctx, r, m, limit) })
}
