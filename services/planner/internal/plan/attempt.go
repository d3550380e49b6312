package plan

import (
	"fmt"
	"time"

	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// Waits before an agent that could not be heard is called again.
const (
	lostFirst = 50 * time.Millisecond
	lostMost  = 2 * time.Second
)

// silence of an agent: how often in a row it could not be heard, and until when
// it is left alone.
type silence struct {
	times int
	until time.Time
}

// take brings a report into the plan. It tells whether a step has settled, or is
// not waited for any more.
func (i *interpreter) take(rep report) bool {
	delete(i.busy, rep.key)
	delete(i.delayed, rep.key)
	stale := i.stale[rep.key]
	delete(i.stale, rep.key)
	r := i.plan.rows[rep.key]
	now := i.p.Clock.Now()
	if rep.lost {
		return i.repeat(r, rep.reason, now)
	}
	delete(i.lost, rep.key)
	if rep.child != "" && rep.child != r.ChildTask {
		r.ChildTask = rep.child
		i.mark(r)
	}
	switch rep.state {
	case playbook.Running:
		i.goesOn(r, rep, now)
		if stale && !i.busy[rep.key] {
			i.follow(r)
		}
		return !i.busy[rep.key]
	case playbook.Failed, playbook.Canceled:
		i.attemptFailed(r, rep.reason, rep.again && rep.state == playbook.Failed, rep.fresh)
		return !i.busy[rep.key]
	}
	i.complete(r, rep)
	i.hold = i.hold || rep.volatile
	return true
}

// complete settles a row with what it answered.
func (i *interpreter) complete(r *row, rep report) {
	r.Output = rep.output
	r.came(i.plan.book.Step(r.Step), rep.labels)
	i.settle(r, playbook.Completed, "")
}

func (i *interpreter) settle(r *row, state playbook.State, reason string) {
	if state == playbook.Failed || state == playbook.Canceled {
		r.Out = label.Join(r.In, untrusted) // an agent may have chosen to fail
	}
	r.State, r.Reason, r.EndedAt, r.WaitsFor, r.Answer = state, reason, i.p.Clock.Now(), "", ""
	i.p.Counts.settled(r.Agent, state, r.EndedAt.Sub(r.StartedAt))
	i.mark(r)
}

// repeat makes the same call again when its agent could not be heard. It finds the
// task that may have come of it, so this costs no attempt, only time.
func (i *interpreter) repeat(r *row, reason string, now time.Time) bool {
	if r.WaitsFor != "" {
		return true // the question stands; it is looked at again when the plan wakes
	}
	if r.late(now) {
		i.attemptFailed(r, fmt.Sprintf("%s within its budget", reason), false, false)
		return true
	}
	lost := i.lost[r.key()]
	lost.until = now.Add(min(lostFirst<<min(lost.times, 8), lostMost))
	if !r.DueAt.IsZero() && lost.until.After(r.DueAt) {
		lost.until = r.DueAt
	}
	lost.times++
	i.lost[r.key()] = lost
	if r.Reason != reason {
		r.Reason = reason
		i.mark(r)
	}
	i.follow(r)
	return false
}

// goesOn takes in a child that works or waits for people.
func (i *interpreter) goesOn(r *row, rep report, now time.Time) {
	if rep.answered && r.Answer != "" {
		r.Answer = ""
		i.mark(r)
	}
	if rep.waitsFor != r.WaitsFor {
		if r.WaitsFor != "" {
			i.resumed(r, now)
		}
		if r.WaitsFor = rep.waitsFor; r.WaitsFor != "" {
			r.AskedAt, r.AskedAfter = now, len(i.messages())
		}
		i.mark(r)
	}
	if rep.ask != nil {
		i.asks[rep.key] = rep.ask
	}
	if r.Reason != "" && r.Attempt == 0 {
		r.Reason = "" // the agent is heard again
		i.mark(r)
	}
	if r.late(now) {
		reason := "it took longer than its budget"
		if s := i.plan.book.Step(r.Step); s != nil {
			reason += " of " + s.Budget.String()
		}
		if r.ChildTask == "" {
			i.attemptFailed(r, reason, true, true)
			return
		}
		i.halt(r, reason)
	}
}

// resumed lets a step's budget run again after people were awaited.
func (i *interpreter) resumed(r *row, now time.Time) {
	if !r.DueAt.IsZero() && !r.AskedAt.IsZero() {
		r.DueAt = r.DueAt.Add(now.Sub(r.AskedAt))
	}
	r.WaitsFor = ""
	delete(i.asks, r.key())
}

// attemptFailed plans the next attempt of a step, or settles it as failed. A fresh
// one is a call of its own.
func (i *interpreter) attemptFailed(r *row, reason string, again, fresh bool) {
	s := i.plan.book.Step(r.Step)
	if !again || s == nil || r.Attempt >= s.Retries.Max {
		i.settle(r, playbook.Failed, reason)
		return
	}
	r.Attempt++
	i.p.Counts.retried(r.Agent)
	if fresh {
		r.Call, r.ChildTask = r.Attempt, ""
	}
	delete(i.lost, r.key())
	r.WaitsFor, r.Answer, r.Reason = "", "", reason
	r.RetryAt = i.p.Clock.Now().Add(s.Retries.Delay(r.Attempt, i.p.Random()))
	r.DueAt = due(s, r.RetryAt) // the budget is that of one attempt
	i.mark(r)
	i.follow(r)
}
