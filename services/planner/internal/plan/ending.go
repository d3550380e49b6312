package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/planner/playbook"
)

// finish ends a plan with its answer.
func (i *interpreter) finish(result *playbook.Result) (agent.Outcome, error) {
	parts := []*a2apb.Part{agent.Text(result.Text)}
	if len(result.Data) > 0 {
		data, err := agent.Data(result.Data)
		if err != nil {
			return agent.Outcome{}, err
		}
		parts = append(parts, data)
	}
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return agent.Outcome{}, err
	}
	if err := i.run.Note(agent.Change{
		Metadata: i.metadata(),
		Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
			Artifact: &a2apb.Artifact{ArtifactId: "answer", Name: "answer", Parts: parts}, LastChunk: true,
		}}}},
	}); err != nil {
		return agent.Outcome{}, err
	}
	o := agent.Completed()
	o.Rows = rows
	return o, nil
}

// undoing is what a plan reports about its steps when it does not complete.
type undoing struct {
	Stopped    []string          `json:"stopped"`
	NotStopped map[string]string `json:"not_stopped"`
	Undone     []string          `json:"undone"`
	NotUndone  map[string]string `json:"not_undone"`
}

// cancel stops what runs, undoes what was done, and ends the task as canceled
// with a report.
func (i *interpreter) cancel(ctx context.Context) (agent.Outcome, error) {
	u, err := i.unwind(ctx)
	if err != nil {
		return agent.Outcome{}, err
	}
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return agent.Outcome{}, err
	}
	parts, err := u.parts("Canceled.")
	if err != nil {
		return agent.Outcome{}, err
	}
	o := agent.Canceled(parts...)
	o.Rows = rows
	return o, nil
}

// fail stops what still runs, undoes what was done, and ends the task as failed
// with its reasons.
func (i *interpreter) fail(ctx context.Context) (agent.Outcome, error) {
	u, err := i.unwind(ctx)
	if err != nil {
		return agent.Outcome{}, err
	}
	rows, err := i.p.Rows.write(i.plan, i.changed...)
	if err != nil {
		return agent.Outcome{}, err
	}
	parts, err := u.parts(strings.Join(i.plan.reasons, "\n"))
	if err != nil {
		return agent.Outcome{}, err
	}
	o := agent.Failed(parts...)
	o.Rows = rows
	return o, nil
}

func (u undoing) empty() bool {
	return len(u.Stopped)+len(u.NotStopped)+len(u.Undone)+len(u.NotUndone) == 0
}

func (u undoing) parts(head string) ([]*a2apb.Part, error) {
	if u.empty() {
		return []*a2apb.Part{agent.Text(head)}, nil
	}
	var b strings.Builder
	b.WriteString(head)
	list := func(what string, ids []string) {
		if len(ids) > 0 {
			fmt.Fprintf(&b, "\n%s: %s.", what, strings.Join(ids, ", "))
		}
	}
	reasons := func(what string, of map[string]string) {
		for _, id := range sorted(of) {
			fmt.Fprintf(&b, "\n%s: %s (%s).", what, id, of[id])
		}
	}
	list("Stopped", u.Stopped)
	reasons("Could not be stopped", u.NotStopped)
	list("Undone", u.Undone)
	reasons("Could not be undone", u.NotUndone)
	data, err := agent.Data(u)
	if err != nil {
		return nil, err
	}
	return []*a2apb.Part{agent.Text(b.String()), data}, nil
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// unwind stops running children, takes in what still finishes meanwhile, and
// compensates completed steps in reverse order of their completion.
func (i *interpreter) unwind(ctx context.Context) (undoing, error) {
	u := undoing{Stopped: []string{}, NotStopped: map[string]string{}, Undone: []string{}, NotUndone: map[string]string{}}
	if err := i.stopAll(ctx, &u); err != nil {
		return u, err
	}
	for _, s := range i.toUndo() {
		if err := i.undo(ctx, s, &u); err != nil {
			return u, err
		}
	}
	return u, nil
}

// stopAll asks every running child to stop and waits for each to settle.
func (i *interpreter) stopAll(ctx context.Context, u *undoing) error {
	for key, r := range i.plan.rows {
		if r.State != playbook.Running || r.Kind != stepKind {
			continue
		}
		child := *r
		if r.ChildTask == "" && r.Agent != playbook.LocalAgent {
			// The child is known by its message only. Sent again it names its task, and an
			// agent that never had it starts nothing that is not canceled at once.
			if rep := i.p.find(i.calls, i.plan.task, child); rep.child != "" {
				child.ChildTask, r.ChildTask = rep.child, rep.child
			}
		}
		if why := i.p.stop(i.calls, child); why != "" {
			u.NotStopped[r.Step] = why
		}
		rep := report{key: key, state: playbook.Canceled}
		if child.ChildTask != "" {
			rep = i.p.look(i.calls, child)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.EndedAt = i.p.Clock.Now()
		switch rep.state {
		case playbook.Completed:
			r.State, r.Output = playbook.Completed, rep.output
		case playbook.Running:
			if _, known := u.NotStopped[r.Step]; !known {
				u.NotStopped[r.Step] = "it was told to stop and has not ended yet"
			}
			r.State, r.Reason = playbook.Canceled, u.NotStopped[r.Step]
		default:
			r.State, r.Reason = playbook.Canceled, "stopped with its plan"
			if _, known := u.NotStopped[r.Step]; !known {
				u.Stopped = append(u.Stopped, r.Step)
			}
		}
		i.changed = append(i.changed, r)
	}
	slices.Sort(u.Stopped)
	i.busy = map[rowKey]bool{}
	i.hold = true
	return i.commit(ctx)
}

// toUndo lists the completed steps that have a compensation, last completed first.
func (i *interpreter) toUndo() []*row {
	var list []*row
	for _, r := range i.plan.rows {
		if s := i.plan.book.Step(r.Step); r.Kind == stepKind && r.State == playbook.Completed && s != nil && s.Compensation != nil {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *row) int {
		if c := b.EndedAt.Compare(a.EndedAt); c != 0 {
			return c
		}
		return strings.Compare(b.Step, a.Step)
	})
	return list
}

// undo runs the compensation of one completed step, as an ordinary step with retries.
func (i *interpreter) undo(ctx context.Context, done *row, u *undoing) error {
	s := i.plan.book.Step(done.Step)
	r := i.plan.rows[rowKey{compensationKind, done.Step, done.Round}]
	if r == nil {
		inputs, err := i.plan.book.CompensationInputs(s, i.plan.run())
		if err != nil {
			u.NotUndone[done.Step] = err.Error()
			return nil
		}
		r = &row{
			Kind: compensationKind, Step: done.Step, Round: done.Round, State: playbook.Running, Agent: s.Compensation.Agent,
			Skill: s.Compensation.Skill, Inputs: inputs, StartedAt: i.p.Clock.Now(),
		}
		i.put(r)
		if err := i.commit(ctx); err != nil {
			return err
		}
	}
	for r.State == playbook.Running {
		rep := i.p.send(i.calls, i.plan.task, *r, blockFor)
		if err := ctx.Err(); err != nil {
			return err
		}
		if rep.child != "" {
			r.ChildTask = rep.child
		}
		retries := playbook.DefaultRetries(false)
		switch {
		case rep.state == playbook.Completed:
			r.State, r.Output = playbook.Completed, rep.output
		case rep.state == playbook.Running:
			r.State, r.Reason = playbook.Failed, "it has not ended within "+blockFor.String()
		case rep.again && r.Attempt < retries.Max:
			r.Attempt++
			r.ChildTask = ""
			select {
			case <-i.p.Clock.After(retries.Delay(r.Attempt, i.p.Random())):
			case <-ctx.Done():
				return ctx.Err()
			}
		default:
			r.State, r.Reason = playbook.Failed, rep.reason
		}
	}
	if r.EndedAt.IsZero() {
		r.EndedAt = i.p.Clock.Now()
		i.changed = append(i.changed, r)
	}
	if r.State == playbook.Completed {
		u.Undone = append(u.Undone, done.Step)
	} else {
		u.NotUndone[done.Step] = r.Reason
	}
	return i.commit(ctx)
}
