package playbook

import (
	"errors"
	"fmt"
	"maps"
)

// ErrNotObject is returned when an expression that must give an object gives something else.
var ErrNotObject = errors.New("the expression must give an object")

// Next decides what happens next in a run. It has no side effects and the same run gives the same
// answer, so a replica that takes a plan over decides as the one before would have.
func (p *Playbook) Next(run Run) Next {
	d := &decision{book: p, run: run.clone()}
	d.decide()
	return d.next
}

// CompensationInputs evaluates the inputs of a step's compensation, or returns nil for a step that has none.
func (p *Playbook) CompensationInputs(s *Step, run Run) (map[string]any, error) {
	if s.Compensation == nil {
		return nil, nil
	}
	return s.Compensation.Inputs.object(p.vars(run, nil))
}

// Ready returns the ids of the pending steps whose needs have settled, in topological order,
// whatever their conditions say. Loops hold back who waits for them; see Next.
func (p *Playbook) Ready(run Run) []string {
	var out []string
	for _, s := range p.Steps {
		if run.state(s.ID) == Pending && p.settled(s, run) {
			out = append(out, s.ID)
		}
	}
	return out
}

// settled reports whether everything a step needs has settled well enough for it to run.
func (p *Playbook) settled(s *Step, run Run) bool {
	for _, need := range s.Needs {
		switch run.state(need) {
		case Completed, Skipped:
		case Failed, Canceled:
			if !p.byID[need].Optional {
				return false
			}
		default:
			return false
		}
	}
	return true
}

type decision struct {
	book *Playbook
	run  Run // a copy, in which the decisions of this call are already applied
	next Next
	held map[string]bool // judges whose loop goes on
}

func (d *decision) decide() {
	if d.failedStep() {
		return
	}
	d.held = map[string]bool{}
	if !d.pass() {
		return
	}
	if len(d.next.Revise) > 0 {
		d.revise()
		if !d.pass() {
			return
		}
	}
	for _, s := range d.book.Steps {
		if !d.run.state(s.ID).Settled() {
			return
		}
	}
	d.finish()
}

// pass looks at every step once. The order is topological, so a step that is skipped makes others
// ready in the same pass. False means that the plan has failed.
func (d *decision) pass() bool {
	for _, s := range d.book.Steps {
		if d.run.state(s.ID) == Pending && d.book.settled(s, d.run) && !d.waits(s) && !d.begin(s) {
			return false
		}
		if d.run.state(s.ID).Settled() && !d.close(s) {
			return false
		}
	}
	return true
}

// revise applies the revisions, so that their first steps start in the same decision.
func (d *decision) revise() {
	loops := maps.Clone(d.run.Loops)
	if loops == nil {
		loops = map[string]LoopRun{}
	}
	for _, r := range d.next.Revise {
		loops[r.Loop.Judge] = LoopRun{Round: r.Round, Feedback: r.Feedback}
		for _, id := range r.Reset {
			d.run.Steps[id] = StepRun{}
		}
	}
	d.run.Loops = loops
}

// failedStep ends the plan when a step failed that it cannot do without.
func (d *decision) failedStep() bool {
	for _, s := range d.book.Steps {
		state := d.run.state(s.ID)
		if s.Optional || state != Failed && state != Canceled {
			continue
		}
		reason := d.run.Steps[s.ID].Reason
		if reason == "" {
			reason = map[State]string{Failed: "it gave no reason", Canceled: "it was cancelled"}[state]
		}
		reasons := []string{fmt.Sprintf("step %q failed: %s", s.ID, reason)}
		if t := d.book.Threshold; t != nil && t.Review == s.ID {
			reasons = append(d.underThreshold(t).Reasons, reasons...)
		}
		d.fail(s.ID, StepFailed, reasons...)
		return true
	}
	return false
}

func (d *decision) fail(step string, kind FailureKind, reasons ...string) {
	d.next = Next{Failure: &Failure{Step: step, Kind: kind, Reasons: reasons}}
}

// waits reports whether a need has settled but its loop goes on.
func (d *decision) waits(s *Step) bool {
	for _, need := range s.Needs {
		if d.held[need] {
			return true
		}
	}
	return false
}

// begin starts or skips a ready step. False ends the decision.
func (d *decision) begin(s *Step) bool {
	loop := d.book.loops[s.Loop]
	vars := d.book.vars(d.run, loop)
	yes, err := s.When.test(vars)
	if err != nil {
		d.fail(s.ID, BadExpression, err.Error())
		return false
	}
	var verdict *Verdict
	if t := d.book.Threshold; t != nil && t.Review == s.ID {
		if verdict = d.underThreshold(t); !verdict.Passed && !yes { // this is not one for people
			d.failUnder(t, verdict)
			return false
		}
		yes = !verdict.Passed
	}
	if !yes {
		d.next.Skip = append(d.next.Skip, s.ID)
		d.run.Steps[s.ID] = StepRun{State: Skipped}
		return true
	}
	inputs, err := s.Inputs.object(vars)
	if err != nil {
		d.fail(s.ID, BadExpression, err.Error())
		return false
	}
	d.run.Steps[s.ID] = StepRun{State: Running}
	d.next.Start = append(d.next.Start, Start{Step: s, Inputs: inputs, Round: d.run.Loops[s.Loop].Round, Verdict: verdict})
	return true
}

// close looks at a settled step: does its loop send work back, is the threshold met? False ends the decision.
func (d *decision) close(s *Step) bool {
	if l := s.Revise; l != nil && d.run.state(s.ID) == Completed && !d.judge(l) {
		return false
	}
	if s.Decides() && d.run.state(s.ID) == Completed && !s.Optional && !d.decided(s) {
		return false
	}
	t := d.book.Threshold
	if t == nil || !d.decisive(s, t) || d.held[s.ID] {
		return true
	}
	if t.Review != "" {
		return true // its review step says what comes of it
	}
	verdict := d.underThreshold(t)
	if !verdict.Passed {
		d.failUnder(t, verdict)
	}
	return verdict.Passed
}

// decisive reports whether s settles the threshold: it is the step itself, or the judge that ends the loop around it.
func (d *decision) decisive(s *Step, t *Threshold) bool {
	judge := d.book.byID[t.Step].Loop
	return s.ID == judge || judge == "" && s.ID == t.Step
}

// judge decides whether a loop goes on. False ends the decision.
func (d *decision) judge(l *Loop) bool {
	vars := d.book.vars(d.run, l)
	enough, err := l.Until.test(vars)
	if err != nil {
		d.fail(l.Judge, BadExpression, err.Error())
		return false
	}
	if enough {
		return true
	}
	round := d.run.Loops[l.Judge].Round
	if round >= l.Max {
		if l.ContinueWhenExhausted {
			return true
		}
		output := d.run.Steps[l.Judge].Output
		reasons := []string{fmt.Sprintf("after %s step %q was still not satisfied", count(l.Max, "revision"), l.Judge)}
		d.fail(l.Judge, Unrevised, append(reasons, sentences(output.Data["reasons"])...)...)
		return false
	}
	d.held[l.Judge] = true
	d.next.Revise = append(d.next.Revise, Revision{Loop: l, Reset: l.Body, Round: round + 1, Feedback: d.run.Steps[l.Judge].Output})
	return true
}

// finish makes the answer.
func (d *decision) finish() {
	vars := d.book.vars(d.run, nil)
	text, err := d.book.Output.text.eval(vars)
	if err != nil {
		d.fail("", BadExpression, err.Error())
		return
	}
	data, err := d.book.Output.data.eval(vars)
	if err != nil {
		d.fail("", BadExpression, err.Error())
		return
	}
	result := &Result{}
	result.Text, _ = text.(string)
	if data != nil {
		object, ok := data.(map[string]any)
		if !ok {
			d.fail("", BadExpression, d.book.Output.data.expr.fail(ErrNotObject).Error())
			return
		}
		result.Data = object
	}
	d.next.Done = result
}
