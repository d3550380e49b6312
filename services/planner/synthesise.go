package planner

import (
	"context"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/internal/synthesis"
	"sabha.dev/services/planner/playbook"
)

// synthesiser is the planner's own skill as plans call it.
type synthesiser struct{ writer *synthesis.Writer }

// Synthesise writes an answer out of the inputs of a step.
func (s synthesiser) Synthesise(ctx context.Context, task string, inputs map[string]any, labels label.Labels) (playbook.Output, error) {
	req, err := synthesis.ParseRequest(inputs)
	if err != nil {
		return playbook.Output{}, fault.New(fault.InvalidArgument, "synthesise: %s", err)
	}
	req.Task, req.Labels = task, labels
	answer, err := s.writer.Write(ctx, req)
	if err != nil {
		return playbook.Output{}, err
	}
	return playbook.Output{Text: answer.Text, Data: answer.Data()}, nil
}
