package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/label"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/planner/playbook"
)

// view shows a plan to operators.
func (p *plan) view() (*plannerv1.Plan, error) {
	input, err := value(p.input)
	if err != nil {
		return nil, err
	}
	v := &plannerv1.Plan{
		TaskId: p.task, Playbook: p.book.Name, Version: string(p.book.Version), Phase: strings.ToLower(string(p.phase)), Input: input.GetStructValue(),
		Reasons: p.reasons, ForkedFrom: p.forkedFrom, ForkedAt: p.forkedAt, Labels: labelsOf(p.inputLabels),
	}
	shown := map[*row]bool{}
	for _, s := range p.book.Steps {
		step := stepOf(p.book, s)
		before, err := p.viewQuestions(s, step, shown)
		if err != nil {
			return nil, err
		}
		if r := p.current(s); r != nil {
			if err := r.show(step); err != nil {
				return nil, err
			}
		}
		v.Steps = append(append(v.Steps, before...), step)
	}
	for _, r := range p.ordered(func(r *row) bool { return !shown[r] && (r.Kind == compensationKind || p.book.Step(r.Step) == nil) }) {
		step := &plannerv1.Step{Step: r.Step, Kind: string(r.Kind)}
		if err := r.show(step); err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, step)
	}
	return v, nil
}

// viewQuestions shows what people are asked before a step, each as a step of its own that
// the next one needs.
func (p *plan) viewQuestions(s *playbook.Step, step *plannerv1.Step, shown map[*row]bool) ([]*plannerv1.Step, error) {
	questions := []struct {
		key   rowKey
		about string
	}{{approval(s, p.loops[s.Loop].Round), fmt.Sprintf("A person approves what %s acts on, which is not trusted.", s.ID)}}
	if len(step.GetNeeds()) == 0 {
		questions = slices.Insert(questions, 0, struct {
			key   rowKey
			about string
		}{confirmation, "A person confirms the request before it begins."})
	}
	var before []*plannerv1.Step
	for _, q := range questions {
		r := p.rows[q.key]
		if r == nil {
			continue
		}
		if !shown[r] {
			one := &plannerv1.Step{Step: r.Step, Kind: approvalView, Description: q.about, Needs: step.GetNeeds(), AttemptsAllowed: 1, Risk: step.GetRisk()}
			if err := r.show(one); err != nil {
				return nil, err
			}
			shown[r], before = true, append(before, one)
		}
		step.Needs = []string{r.Step}
	}
	return before, nil
}

// stepOf shows a step as its playbook has it.
func stepOf(book *playbook.Playbook, s *playbook.Step) *plannerv1.Step {
	return &plannerv1.Step{
		Step: s.ID, Kind: string(stepKind), Description: s.Description, Agent: s.Agent, Skill: s.Skill, State: string(playbook.Pending),
		Needs: book.Edges(s), AttemptsAllowed: int32(s.Retries.Max + 1), Risk: string(s.Risk), SideEffects: s.SideEffects, Optional: s.Optional,
		Purpose: s.Purpose, Consent: s.Consent,
	}
}

// show adds to a step what has happened of it.
func (r *row) show(s *plannerv1.Step) error {
	s.State, s.Agent, s.Skill, s.Round, s.Attempt = string(r.State), r.Agent, r.Skill, int32(r.Round), int32(r.Attempt)
	s.WaitsFor, s.Reason, s.ChildTaskId = r.WaitsFor, r.Reason, r.ChildTask
	s.StartedAt, s.EndedAt = stamp(r.StartedAt), stamp(r.EndedAt)
	if r.EndedAt.IsZero() {
		s.DueAt = stamp(r.DueAt)
		if r.ChildTask == "" {
			s.RetryAt = stamp(r.RetryAt)
		}
	}
	s.Labels, s.OutputLabels = labelsOf(r.In), labelsOf(r.Out)
	for _, rel := range r.Released {
		s.Released = append(s.Released, &plannerv1.Release{Field: rel.Field, By: rel.By})
	}
	var err error
	if s.Inputs, err = value(r.Inputs); err != nil {
		return err
	}
	if r.State == playbook.Completed {
		s.Output, err = value(map[string]any{"text": r.Output.Text, "data": r.Output.Data})
	}
	return err
}

// approvalView is the kind of a question to people as operators see it.
const approvalView = "approval"

// labelsOf shows labels to operators; nil for none.
func labelsOf(l label.Labels) *plannerv1.Labels {
	if l.IsZero() {
		return nil
	}
	return &plannerv1.Labels{Integrity: string(l.Integrity), Confidentiality: string(l.Confidentiality), Classes: l.Classes, Tokenised: l.Tokenised}
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// value is what JSON can hold, as protobuf has it; nil for nothing.
func value(v map[string]any) (*structpb.Value, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := &structpb.Value{}
	return out, out.UnmarshalJSON(raw)
}
