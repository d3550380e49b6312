package plan

import (
	"context"
	"time"

	"sabha.dev/services/planner/playbook"
)

// stopFor is how long children have to end once they are told to stop.
const stopFor = 10 * time.Second

// Pauses between looks at children that were told to stop.
const (
	stopFirst = 10 * time.Millisecond
	stopMost  = 500 * time.Millisecond
)

// stopped is the reason of a step that ended because its plan did.
const stopped = "stopped with its plan"

// stopAll asks every running child to stop and waits for each to settle.
func (i *interpreter) stopAll(u unwinding) error {
	i.stopWaiting()
	if err := i.collect(u); err != nil {
		return err
	}
	open := i.plan.open()
	if len(open) == 0 {
		return i.commit(u.ctx)
	}
	why := map[*row]string{}
	var live []*row
	for _, r := range open {
		if r.ChildTask == "" && r.Agent != playbook.LocalAgent && !i.unsent(r) {
			// Whether its message arrived before a crash is not known.
			if r.ChildTask, why[r] = i.p.find(u.calls, i.plan, r); why[r] != "" {
				why[r] = "it cannot be told whether it runs: " + why[r]
				i.settle(r, playbook.Canceled, why[r])
				continue
			}
		}
		if r.ChildTask == "" {
			i.settle(r, playbook.Canceled, stopped)
			continue
		}
		live = append(live, r)
	}
	for r, reason := range i.tell(u, live) {
		why[r] = reason
	}
	if err := i.awaitEnds(u, live, why); err != nil {
		return err
	}
	i.hold = true
	return i.commit(u.ctx)
}

// unsent tells that an attempt was still waiting for its time, so that no task can
// have come of it.
func (i *interpreter) unsent(r *row) bool {
	return r.Attempt > 0 && r.Call == r.Attempt && r.RetryAt.After(i.p.Clock.Now())
}

// collect takes in what the goroutines of this run know when they are told to
// wait no longer: the tasks that their messages became, and what ended just now.
func (i *interpreter) collect(u unwinding) error {
	limit := i.p.Clock.After(callFor)
	for len(i.busy) > 0 {
		select {
		case rep := <-i.reports:
			delete(i.busy, rep.key)
			delete(i.delayed, rep.key)
			r := i.plan.rows[rep.key]
			if rep.child != "" && rep.child != r.ChildTask {
				r.ChildTask = rep.child
				i.mark(r)
			}
			switch rep.state {
			case playbook.Completed:
				i.complete(r, rep)
			case playbook.Failed:
				i.settle(r, playbook.Failed, rep.reason)
			}
		case <-limit:
			return nil
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
	}
	return nil
}

// tell cancels children side by side. It returns why some could not be.
func (i *interpreter) tell(u unwinding, live []*row) map[*row]string {
	type answer struct {
		r   *row
		why string
	}
	answers := make(chan answer, len(live))
	for _, r := range live {
		copied := *r
		go func() { answers <- answer{r, i.p.stop(u.calls, copied)} }()
	}
	why := map[*row]string{}
	for range live {
		if a := <-answers; a.why != "" {
			why[a.r] = a.why
		}
	}
	return why
}

// awaitEnds waits until children have ended, for a bounded time.
func (i *interpreter) awaitEnds(u unwinding, live []*row, why map[*row]string) error {
	until := i.p.Clock.Now().Add(stopFor)
	pause := stopFirst
	for {
		var left []*row
		for _, r := range live {
			if !i.ended(u.calls, r) {
				left = append(left, r)
			}
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		live = nil
		for _, r := range left {
			switch late := !i.p.Clock.Now().Before(until); {
			case why[r] != "":
				i.settle(r, playbook.Canceled, why[r])
			case late:
				i.settle(r, playbook.Canceled, "it was told to stop and had not ended after "+stopFor.String())
			default:
				live = append(live, r)
			}
		}
		if len(live) == 0 {
			return nil
		}
		select {
		case <-i.p.Clock.After(pause):
		case <-i.run.Nudged():
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
		pause = min(2*pause, stopMost)
	}
}

// ended settles a step whose child has ended. What finished in spite of the stop
// counts as done and is undone like the rest.
func (i *interpreter) ended(ctx context.Context, r *row) bool {
	rep := i.p.look(ctx, *r)
	switch rep.state {
	case playbook.Completed:
		i.complete(r, rep)
	case playbook.Canceled:
		i.settle(r, playbook.Canceled, stopped)
	case playbook.Failed:
		i.settle(r, playbook.Failed, rep.reason)
	default:
		return false
	}
	return true
}
