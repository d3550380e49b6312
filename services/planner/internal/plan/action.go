package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// What people are asked that no playbook asks: whether a step may act on untrusted data,
// and whether a request may begin. Their rows stand beside those of the steps; no id of a
// step has a dot.
const approvalSuffix = ".approval"

var confirmation = rowKey{stepKind, "request.confirmation", 0}

// approval is the row of the question whether a step may act.
func approval(s *playbook.Step, round int) rowKey {
	return rowKey{stepKind, s.ID + approvalSuffix, round}
}

// decide says what happens next: what the playbook says, with people asked before it where
// that needs them. The rows that begin are new.
func (i *interpreter) decide() (playbook.Next, []*row) {
	if i.confirm != "" {
		asked := i.plan.rows[confirmation]
		switch against := refusal("the request", asked); {
		case asked == nil:
			return playbook.Next{}, []*row{i.confirming()}
		case against != nil && against.Kind == playbook.StepFailed:
			against.Reasons[0] = "a person must confirm the request, and nobody could be asked: " + against.Reasons[0]
			fallthrough
		case against != nil:
			return playbook.Next{Failure: against}, nil
		case !asked.State.Settled():
			return playbook.Next{}, nil
		}
		i.plan.inputLabels.Integrity = label.Trusted // a person has approved all of it
	}
	next := i.plan.book.Next(i.plan.run())
	var begin []*row
	for _, st := range next.Start {
		r := i.begins(st)
		if st.Step.SideEffects && !r.In.Trusts() && !i.released(st, r) {
			var rejected *playbook.Failure
			if r, rejected = i.approved(st, r); rejected != nil {
				return playbook.Next{Failure: rejected}, nil
			}
		}
		if r != nil {
			begin = append(begin, r)
		}
	}
	return next, begin
}

// begins is the row of a step that starts now.
func (i *interpreter) begins(st playbook.Start) *row {
	s, now := st.Step, i.p.Clock.Now()
	r := &row{
		Kind: stepKind, Step: s.ID, Round: st.Round, State: playbook.Running, Agent: s.Agent, Skill: s.Skill,
		Inputs: st.Inputs, StartedAt: now, DueAt: due(s, now),
	}
	r.In = label.Join(i.plan.labels(s.Sources, s.Loop, st.Round), i.plan.verdict(s, st.Round))
	if s.Purpose != "" {
		r.For = i.plan.purpose(s)
	}
	if s.Decides() {
		r.Inputs = i.snapshot(st)
	}
	return r
}

// released tells whether a review step has approved exactly what a step would be sent: all
// of its inputs, or each one that is not trusted, as the whole of the approved content or
// as what has the same name in it.
func (i *interpreter) released(st playbook.Start, r *row) bool {
	for _, s := range i.plan.book.Before(st.Step) {
		review := i.plan.current(s)
		if !s.Decides() || review == nil || review.State != playbook.Completed || playbook.Decision("", review.Output) != nil {
			continue
		}
		content := review.Output.Data["content"]
		object, _ := content.(map[string]any)
		matched, all := 0, true
		for name, src := range st.Step.InputSources {
			if i.plan.labels(src, st.Step.Loop, st.Round).Trusts() {
				continue
			}
			v, has := object[name]
			if reflect.DeepEqual(st.Inputs[name], content) || has && reflect.DeepEqual(st.Inputs[name], v) {
				matched++
			} else {
				all = false
			}
		}
		if all && matched > 0 || reflect.DeepEqual(any(st.Inputs), content) {
			r.believe()
			return true
		}
	}
	return false
}

// believe records that a person approved all that a row is sent.
func (r *row) believe() {
	r.In.Integrity, r.Released = label.Trusted, []release{{Field: sent, By: byApproval}}
}

// approved is the row of a step that acts on untrusted data as people have left it: the
// question to them, while it has not been put; nothing, while they have not answered; the
// step, with exactly what they have approved; or its failure. A rejection ends the plan
// that cannot do without the step.
func (i *interpreter) approved(st playbook.Start, r *row) (*row, *playbook.Failure) {
	asked := i.plan.rows[approval(st.Step, st.Round)]
	against := refusal(fmt.Sprintf("step %q", st.Step.ID), asked)
	switch {
	case asked == nil:
		return i.ask(st, r), nil
	case against != nil && against.Kind == playbook.StepFailed:
		i.settle(r, playbook.Failed, "it acts on data that is not trusted, so a person must approve it, and nobody could be asked: "+against.Reasons[0])
		return r, nil
	case against != nil && st.Step.Optional:
		i.settle(r, playbook.Failed, against.Reasons[0])
		return r, nil
	case against != nil:
		return nil, against
	case !asked.State.Settled():
		return nil, nil
	}
	content, ok := asked.Output.Data["content"].(map[string]any)
	if !ok {
		i.settle(r, playbook.Failed, "what was approved is no set of inputs")
		return r, nil
	}
	r.Inputs = content
	r.believe()
	return r, nil
}

// refusal is why what people were asked may not go on; nil while nothing is against it.
func refusal(what string, asked *row) *playbook.Failure {
	switch {
	case asked == nil:
		return nil
	case asked.State == playbook.Completed:
		return playbook.Decision(what, asked.Output)
	case asked.State.Settled():
		return &playbook.Failure{Kind: playbook.StepFailed, Reasons: []string{asked.Reason}}
	}
	return nil
}

// question is the row of a question to people. Its key says what about. The budget is for
// reaching them; while they think it stands still.
func (i *interpreter) question(key rowKey, budget time.Duration, in map[string]any) *row {
	now := i.p.Clock.Now()
	return &row{
		Kind: key.kind, Step: key.step, Round: key.round, State: playbook.Running, Agent: playbook.ReviewAgent, Skill: playbook.SkillReview,
		Inputs: in, StartedAt: now, DueAt: now.Add(budget),
	}
}

// ask puts the question whether a step may act.
func (i *interpreter) ask(st playbook.Start, of *row) *row {
	s := st.Step
	in := i.shown(s)
	in["kind"], in["content"], in["schema"], in["labels"] = playbook.KindAction, st.Inputs, form(st.Inputs), asObject(of.In)
	in["effect"] = fmt.Sprintf("Step %s (%s/%s) runs with exactly this.", s.ID, s.Agent, s.Skill)
	if s.Description != "" {
		in["effect"] = fmt.Sprintf("Step %s (%s/%s) runs with exactly this: %s", s.ID, s.Agent, s.Skill, s.Description)
	}
	in["reasons"] = i.plan.why(st)
	r := i.question(approval(s, st.Round), s.Budget, in)
	r.In = of.In
	return r
}

// toConfirm is why a person must confirm a request before it begins; empty for no need.
func toConfirm(t *a2apb.Task) string {
	for _, m := range t.GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			return m.GetMetadata().GetFields()[ext.Confirm].GetStringValue()
		}
	}
	return ""
}

// confirming puts the question whether the request may begin. It is answered with yes or
// no: a request is not edited.
func (i *interpreter) confirming() *row {
	book := i.plan.book
	in := i.shown(nil)
	in["kind"], in["content"], in["schema"], in["labels"] = playbook.KindConfirmation, i.plan.input, map[string]any{"const": i.plan.input}, asObject(i.plan.inputLabels)
	in["effect"] = fmt.Sprintf("Playbook %s begins: %s", book.Name, orElse(book.Description, "it has no description."))
	in["reasons"] = []any{cut(storable(i.confirm), mostText)}
	r := i.question(confirmation, min(playbook.DefaultStepBudget, book.Budget/2), in)
	r.In = i.plan.inputLabels
	return r
}

// form is the schema that an edit of a step's inputs keeps to: the same names, each with a
// value of the same type.
func form(inputs map[string]any) map[string]any {
	properties, names := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		names = append(names, name)
		properties[name] = map[string]any{}
		if t := typeOf(inputs[name]); t != "" {
			properties[name] = map[string]any{"type": t}
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": names, "additionalProperties": false}
}

// typeOf is the type of a JSON value as schemas name it; empty for null.
func typeOf(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}
