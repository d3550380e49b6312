package plan

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/trace"
	"sabha.dev/services/planner/internal/model"
	"sabha.dev/services/planner/playbook"
)

// Polling of children while a plan is parked, should their wake-up be lost: of
// those that work, and of those that wait for people.
const (
	parkFor = 30 * time.Second
	askFor  = 10 * time.Minute
)

// interpreter is one run of a plan on one replica.
type interpreter struct {
	p    *Planner
	run  agent.Run
	plan *plan
	// reports come from the goroutines that wait for steps. It has room for one from each.
	reports chan report
	// busy are the rows that a goroutine of this run waits for.
	busy map[rowKey]bool
	// asks are the questions of children that wait for the client.
	asks map[rowKey]*a2apb.Message
	// stale are the rows whose report may be older than a wake-up that came meanwhile.
	stale map[rowKey]bool
	// delayed are the rows whose next attempt waits for its time; closing one's channel
	// ends its wait.
	delayed map[rowKey]chan struct{}
	// lost are the calls whose agent could not be heard.
	lost map[rowKey]silence
	// changed are rows that the next commit writes.
	changed []*row
	// hold is set when the next commit must be durable before anything starts that
	// builds on it: an output that exists nowhere else, or what people are shown.
	hold bool
	// told is the interruption that readers were told last.
	told string
	// confirm is why a person must confirm the request before it begins; empty for no need.
	confirm string
	// calls ends the goroutines of this run; waits only their waiting.
	calls, waits context.Context
	stopWaiting  context.CancelFunc
	// overdue receives when the plan's budget is spent.
	overdue <-chan time.Time
}

func newInterpreter(p *Planner, run agent.Run, pl *plan, status *a2apb.TaskStatus) *interpreter {
	return &interpreter{
		hold: pl.modelled.Drafted && len(pl.rows) == 0, // asked again, a model plans otherwise
		told: showing(status.GetState(), status.GetMessage()), confirm: toConfirm(run.Task()),
		p: p, run: run, plan: pl, reports: make(chan report, len(pl.book.Steps)+1), busy: map[rowKey]bool{},
		asks: map[rowKey]*a2apb.Message{}, lost: map[rowKey]silence{}, delayed: map[rowKey]chan struct{}{}, stale: map[rowKey]bool{},
	}
}

// loop advances the plan until it ends, parks or needs the client.
func (i *interpreter) loop(ctx context.Context) (agent.Outcome, error) {
	calls, cancel := context.WithCancel(i.run.Outgoing(ctx))
	defer cancel()
	i.calls = calls
	i.waits, i.stopWaiting = context.WithCancel(calls)
	defer i.stopWaiting()
	if canceling(i.run) {
		i.plan.phase = cancelling
	}
	if i.plan.phase == running {
		i.hear()
		i.lookAfter(func(*row) bool { return true })
	}
	i.overdue = i.p.Clock.After(i.run.Deadline().Sub(i.p.Clock.Now()))
	for {
		if i.plan.phase == cancelling {
			return i.cancel(ctx)
		}
		if i.plan.phase != running {
			return i.fail(ctx)
		}
		next, begin := i.decide()
		if next.Done != nil {
			return i.finish(next.Done)
		}
		if next.Failure != nil {
			i.plan.phase, i.plan.reasons = failing, nil
			if next.Failure.Kind == playbook.Rejected {
				i.plan.phase = rejecting
			}
			for _, reason := range next.Failure.Reasons { // which agents wrote
				i.plan.reasons = append(i.plan.reasons, storable(reason))
			}
			continue
		}
		if idle := len(next.Revise)+len(next.Skip)+len(begin) == 0; !idle || len(i.busy) > 0 {
			if err := i.apply(ctx, next, begin); err != nil {
				return agent.Outcome{}, err
			}
			if slices.ContainsFunc(begin, func(r *row) bool { return r.State.Settled() }) {
				continue // it could not begin
			}
		}
		if len(i.busy) == 0 {
			return i.pause(ctx)
		}
		if err := i.wait(ctx); err != nil {
			return agent.Outcome{}, err
		}
	}
}

func canceling(run agent.Run) bool {
	select {
	case <-run.Canceling():
		return true
	default:
		return false
	}
}

// apply stores a decision and starts its steps.
func (i *interpreter) apply(ctx context.Context, next playbook.Next, begin []*row) error {
	now := i.p.Clock.Now()
	for _, rev := range next.Revise {
		i.plan.loops[rev.Loop.Judge] = playbook.LoopRun{Round: rev.Round, Feedback: rev.Feedback}
	}
	for _, id := range next.Skip {
		s := i.plan.book.Step(id)
		i.p.Counts.settled(s.Agent, playbook.Skipped, 0)
		r := &row{Kind: stepKind, Step: id, Round: i.plan.loops[s.Loop].Round, State: playbook.Skipped, Agent: s.Agent, Skill: s.Skill, StartedAt: now, EndedAt: now}
		r.Out = label.Join(i.plan.labels(s.Condition, s.Loop, r.Round), i.plan.verdict(s, r.Round))
		i.put(r)
	}
	for _, r := range begin {
		// What people are shown must be what is sent again after a crash, or they are asked
		// twice.
		i.hold = i.hold || r.Agent == playbook.ReviewAgent && r.Skill == playbook.SkillReview
		i.put(r)
	}
	if err := i.commit(ctx); err != nil {
		return err
	}
	for _, r := range begin {
		if r.State == playbook.Running {
			i.follow(r)
		}
	}
	return nil
}

// due is when an attempt that begins at a time has spent its budget.
func due(s *playbook.Step, begin time.Time) time.Time {
	if s == nil || s.Budget == 0 {
		return time.Time{}
	}
	return begin.Add(s.Budget)
}

// put makes a row current and marks it for the next commit.
func (i *interpreter) put(r *row) {
	i.plan.rows[r.key()] = r
	i.mark(r)
}

// mark has the next commit write a row.
func (i *interpreter) mark(r *row) {
	if !slices.Contains(i.changed, r) {
		i.changed = append(i.changed, r)
	}
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
	change := agent.Change{Rows: rows, Metadata: i.metadata()}
	state, message := i.status()
	if shown := showing(state, message); shown == "" || shown != i.told {
		change.Events = []*a2apb.StreamResponse{i.progress(state, message)}
		i.told = shown
	}
	i.changed = nil
	if !i.hold {
		return i.run.Note(change)
	}
	i.hold = false
	return i.run.Commit(ctx, change)
}

// follow has a goroutine take a running step to its next report.
func (i *interpreter) follow(r *row) {
	limit := i.onLine(r)
	switch {
	case r.Answer != "":
		if m := i.message(r.Answer); m != nil {
			i.start(r, func(ctx, wait context.Context, r row) report { return i.p.answer(ctx, wait, i.plan.task, r, m, limit) })
			return
		}
		fallthrough
	case r.ChildTask != "":
		i.start(r, func(ctx, _ context.Context, r row) report { return i.p.look(ctx, r) })
	case r.Agent == playbook.LocalAgent:
		i.start(r, func(_, wait context.Context, r row) report { return i.local(wait, r, limit) })
	default:
		i.start(r, func(ctx, wait context.Context, r row) report { return i.p.send(ctx, wait, i.plan, r, limit) })
	}
}

// start runs a call in the background, not before the row's retry is due.
func (i *interpreter) start(r *row, call func(ctx, wait context.Context, r row) report) {
	i.busy[r.key()] = true
	copied, calls, waits := *r, i.calls, i.waits
	delay := i.notBefore(r).Sub(i.p.Clock.Now())
	var hurry chan struct{}
	if delay > 0 {
		hurry = make(chan struct{})
		i.delayed[r.key()] = hurry
	}
	go func() {
		if delay > 0 {
			select {
			case <-i.p.Clock.After(delay):
			case <-hurry:
			case <-waits.Done():
				i.reports <- report{key: copied.key(), state: playbook.Running, child: copied.ChildTask}
				return
			}
		}
		calls, span := stepSpan(calls, "step", &copied)
		rep := call(calls, trace.Copy(waits, calls), copied)
		ended(span, rep)
		i.reports <- rep
	}()
}

// notBefore is when a call of a step may be made.
func (i *interpreter) notBefore(r *row) time.Time {
	if until := i.lost[r.key()].until; until.After(r.RetryAt) {
		return until
	}
	return r.RetryAt
}

// local runs the planner's own skill.
func (i *interpreter) local(wait context.Context, r row, limit time.Duration) report {
	wait, cancel := i.p.within(wait, limit)
	defer cancel()
	out, err := i.p.Synthesiser.Synthesise(model.WithSpend(wait, i.plan.spend), i.plan.task, r.Inputs, r.In)
	if wait.Err() != nil {
		return report{key: r.key(), state: playbook.Running} // over its budget, or let go of
	}
	if err == nil {
		_, err = json.Marshal(out)
	}
	if err != nil {
		return failed(report{key: r.key()}, err)
	}
	return report{key: r.key(), state: playbook.Completed, volatile: true, output: out, labels: r.In}
}

// onLine is how long a step is waited for before it is only heard of: what is left
// of its budget, at most a time that costs no replica dear.
func (i *interpreter) onLine(r *row) time.Duration {
	limit := i.p.OnLine
	if r.Agent == playbook.LocalAgent {
		limit = playbook.MaxBudget // it lives in this run only
	}
	if r.DueAt.IsZero() {
		return limit
	}
	from := i.p.Clock.Now()
	if at := i.notBefore(r); at.After(from) {
		from = at
	}
	return max(min(limit, r.DueAt.Sub(from)), time.Millisecond)
}

// wait returns when something has happened that the plan depends on.
func (i *interpreter) wait(ctx context.Context) error {
	for i.plan.phase == running && len(i.busy) > 0 {
		var next <-chan time.Time
		if at := i.nextDue(); !at.IsZero() {
			next = i.p.Clock.After(at.Sub(i.p.Clock.Now()))
		}
		select {
		case rep := <-i.reports:
			if err := ctx.Err(); err != nil {
				return err // the report may be of calls that ended with this run
			}
			if i.take(rep) {
				return nil
			}
		case <-i.run.Nudged():
			if err := i.hurry(ctx); err != nil {
				return err
			}
			for key := range i.busy {
				i.stale[key] = true
			}
			i.hear()
			i.lookAfter(func(*row) bool { return true })
		case <-next:
			now := i.p.Clock.Now()
			i.lookAfter(func(r *row) bool { return r.late(now) })
		case <-i.run.Canceling():
			i.plan.phase = cancelling
		case <-i.overdue:
			i.plan.phase, i.plan.reasons = failing, []string{i.overBudget()}
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(i.changed) > 0 {
			if err := i.commit(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// overBudget says that the plan's time is up, and whose time it was.
func (i *interpreter) overBudget() string {
	if rows := i.plan.ordered(func(*row) bool { return true }); len(rows) > 0 &&
		i.run.Deadline().Sub(rows[0].StartedAt) < i.plan.book.Budget-time.Second {
		return "the plan took longer than the time that its caller gave it"
	}
	return "the plan took longer than its budget of " + i.plan.book.Budget.String()
}

// lookAfter follows running steps that no goroutine waits for.
func (i *interpreter) lookAfter(which func(*row) bool) {
	for _, r := range i.plan.open() {
		if !i.busy[r.key()] && which(r) {
			i.follow(r)
		}
	}
}

// nextDue is when the first step that no goroutine waits for has spent its budget.
func (i *interpreter) nextDue() time.Time {
	var first time.Time
	for _, r := range i.plan.rows {
		if r.Kind != stepKind || r.State != playbook.Running || i.busy[r.key()] || r.WaitsFor != "" || r.DueAt.IsZero() {
			continue
		}
		if first.IsZero() || r.DueAt.Before(first) {
			first = r.DueAt
		}
	}
	return first
}

// pause lets go of the plan while its children work or wait for people.
func (i *interpreter) pause(ctx context.Context) (agent.Outcome, error) {
	state, message := i.status()
	if showing(state, message) == "" {
		wake := i.p.Clock.Now().Add(parkFor)
		if at := i.nextDue(); !at.IsZero() && at.Before(wake) {
			wake = at
		}
		return agent.Parked(wake), i.commit(ctx)
	}
	// The question and the letting go are one commit, so that an answer always finds
	// the plan free.
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return agent.Outcome{}, err
	}
	i.changed = nil
	if err := i.run.Note(agent.Change{Metadata: i.metadata()}); err != nil {
		return agent.Outcome{}, err
	}
	o := agent.Outcome{State: state, Message: message, Rows: rows, WakeAt: i.lookAgain()}
	if i.told == showing(state, message) {
		o.Message = nil
	}
	return o, nil
}

// lookAgain is when children that wait for people are looked at again, should the
// news of them be lost: sooner while they have just begun to wait.
func (i *interpreter) lookAgain() time.Time {
	now := i.p.Clock.Now()
	pause := askFor
	for _, r := range i.waiting() {
		if r.WaitsFor == waitAuth {
			pause = min(pause, max(now.Sub(r.AskedAt), parkFor))
		}
	}
	return now.Add(pause)
}
