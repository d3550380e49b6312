package plan

import (
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

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
		Reasons: p.reasons, ForkedFrom: p.forkedFrom, ForkedAt: p.forkedAt,
	}
	for _, s := range p.book.Steps {
		step := stepOf(p.book, s)
		if r := p.current(s); r != nil {
			if err := r.show(step); err != nil {
				return nil, err
			}
		}
		v.Steps = append(v.Steps, step)
	}
	for _, r := range p.ordered(func(r *row) bool { return r.Kind == compensationKind || p.book.Step(r.Step) == nil }) {
		step := &plannerv1.Step{Step: r.Step, Kind: string(r.Kind)}
		if err := r.show(step); err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, step)
	}
	return v, nil
}

// stepOf shows a step as its playbook has it.
func stepOf(book *playbook.Playbook, s *playbook.Step) *plannerv1.Step {
	return &plannerv1.Step{
		Step: s.ID, Kind: string(stepKind), Description: s.Description, Agent: s.Agent, Skill: s.Skill, State: string(playbook.Pending),
		Needs: book.Edges(s), AttemptsAllowed: int32(s.Retries.Max + 1), Risk: string(s.Risk), SideEffects: s.SideEffects, Optional: s.Optional,
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
	var err error
	if s.Inputs, err = value(r.Inputs); err != nil {
		return err
	}
	if r.State == playbook.Completed {
		s.Output, err = value(map[string]any{"text": r.Output.Text, "data": r.Output.Data})
	}
	return err
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
