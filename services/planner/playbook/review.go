package playbook

import (
	"fmt"
	"slices"
)

// ReviewAgent is people as an agent, and SkillReview its skill of deciding on what
// others have made. A step of both is a review step.
const (
	ReviewAgent = "review"
	SkillReview = "review"
)

// The decisions that a review step answers with, as data under the key decision.
const (
	Approved = "approved"
	Refused  = "rejected"
	Expired  = "expired"
)

// ReviewInputs are the input names a review step takes; content is required. What else the
// reviewer needs to see the interpreter adds where the file does not give it.
func ReviewInputs() []string {
	return []string{
		"confidence", "content", "context", "effect", "kind", "labels", "plan", "playbook", "product",
		"reasons", "request", "risk", "schema", "sources", "step", "title",
	}
}

// What a review step may be about: a result that is given out, an action that is carried
// out, a call of another organisation that asks for confirmation.
const (
	KindResult       = "result"
	KindAction       = "action"
	KindConfirmation = "confirmation"
)

// Decides reports whether the step asks people for a decision. Unless it is optional, a plan
// ends as rejected when they do not approve.
func (s *Step) Decides() bool { return s.Agent == ReviewAgent && s.Skill == SkillReview }

// Kind is what a review step is about: what its file says, else an action when a step with side
// effects comes after it, else a result.
func (p *Playbook) Kind(s *Step) string {
	if kind, ok := s.Inputs.fields["kind"].literal.(string); ok {
		return kind
	}
	if len(p.ActsAfter(s)) > 0 {
		return KindAction
	}
	return KindResult
}

// ActsAfter returns the steps with side effects that wait for a step, directly or not.
func (p *Playbook) ActsAfter(s *Step) []*Step {
	var out []*Step
	for _, x := range p.Steps {
		if x.SideEffects && p.reaches(x.ID, s.ID) {
			out = append(out, x)
		}
	}
	return out
}

// Before returns the steps that a step waits for, directly or not, in topological order.
func (p *Playbook) Before(s *Step) []*Step {
	var out []*Step
	for _, x := range p.Steps {
		if p.reaches(s.ID, x.ID) {
			out = append(out, x)
		}
	}
	return out
}

// reviewInputs checks the inputs of a review step.
func (k *compiler) reviewInputs(src source, s *Step) {
	at, ok := src.fields["inputs"]
	if !ok {
		src.step.problem("the key \"inputs\" is missing: a review needs content, which is decided on")
		return
	}
	f, ok := at.fields(ReviewInputs()...)
	if !ok {
		return
	}
	k.required(at, f, "content")
	kinds := []string{KindResult, KindAction, KindConfirmation}
	if c, ok := f["kind"]; ok {
		if kind, isText := s.Inputs.fields["kind"].literal.(string); !isText || !slices.Contains(kinds, kind) {
			c.problem("must be one of %s, %s and %s", KindResult, KindAction, KindConfirmation)
		}
	}
}

// gate puts the threshold's review step between the threshold's step and all that needs it. It
// works on the needs as they are before loops are waited for.
func (k *compiler) gate() {
	t := k.book.Threshold
	if t == nil || t.Review == "" || k.book.byID[t.Step] == nil {
		return
	}
	review, at := k.book.byID[t.Review], k.gateAt
	switch {
	case !review.Decides():
		at.problem("step %q is not a review step; it calls %s, a review step calls agent %s, skill %s", t.Review, review.call(), ReviewAgent, SkillReview)
		return
	case review.Optional:
		at.problem("step %q is optional, so the plan would go on without the decision; remove optional", t.Review)
		return
	case review.Loop != "":
		at.problem("step %q is in the revision loop of %q; a review comes after the loop, so let it read what the loop has made", t.Review, review.Loop)
		return
	}
	before := k.ancestors(t.Review)
	loop := k.book.byID[t.Step].Loop
	for _, id := range k.order {
		s := k.book.byID[id]
		gated := slices.Contains(s.Needs, t.Step) || loop != "" && slices.Contains(s.Needs, loop)
		switch {
		case !gated || s == review || loop != "" && s.Loop == loop:
		case before[id]:
			at.problem("step %q needs %q and is needed by %q: it would start before the decision", id, t.Step, t.Review)
		case !slices.Contains(s.Needs, t.Review):
			s.Needs = append(s.Needs, t.Review)
		}
	}
	if !slices.Contains(review.Needs, t.Step) {
		review.Needs = append(review.Needs, t.Step)
	}
}

// underThreshold applies the threshold, with the file's own reasons when it is missed.
func (d *decision) underThreshold(t *Threshold) *Verdict {
	verdict := t.Check(d.run.Steps[t.Step])
	if verdict.Passed || t.reasons == nil {
		return &verdict
	}
	if more, err := t.reasons.eval(d.book.vars(d.run, nil)); err == nil {
		own := sentences(more)
		if len(own) > 0 && d.run.state(t.Step) == Skipped {
			verdict.Reasons = nil // the file's own words say better why nothing was validated
		}
		verdict.Reasons = append(verdict.Reasons, own...)
	}
	return &verdict
}

func (d *decision) failUnder(t *Threshold, verdict *Verdict) {
	d.next = Next{Failure: &Failure{Step: t.Step, Kind: BelowThreshold, Reasons: verdict.Reasons, Verdict: verdict}}
}

// decided looks at what people decided. False ends the decision.
func (d *decision) decided(s *Step) bool {
	failure := Decision(fmt.Sprintf("step %q", s.ID), d.run.Steps[s.ID].Output)
	if failure != nil {
		failure.Step = s.ID
		d.next = Next{Failure: failure}
	}
	return failure == nil
}

// Decision reads what people decided on something; nil means that they approved.
func Decision(what string, output Output) *Failure {
	kind, reason := Rejected, ""
	switch output.Data["decision"] {
	case Approved:
		return nil
	case Refused:
		reason = what + ": it was rejected"
		if why := against(output.Data); why != "" {
			reason += ": " + why
		}
	case Expired:
		reason = what + ": nobody decided in time, which counts as a rejection"
	default:
		kind, reason = StepFailed, what+" gave no decision"
	}
	return &Failure{Kind: kind, Reasons: []string{reason}}
}

// against is why it was not approved: in the words of the last person who said so, whose name
// the client need not know, else as the policy puts it.
func against(data map[string]any) string {
	list, _ := data["decisions"].([]any)
	for _, x := range slices.Backward(list) {
		d, _ := x.(map[string]any)
		if approved, _ := d["approved"].(bool); !approved {
			reason, _ := d["reason"].(string)
			return reason
		}
	}
	reason, _ := data["reason"].(string)
	return reason
}
