package playbook

import "maps"

func (r Run) state(id string) State {
	if s := r.Steps[id].State; s != "" {
		return s
	}
	return Pending
}

// clone copies what a decision changes.
func (r Run) clone() Run {
	r.Steps = maps.Clone(r.Steps)
	if r.Steps == nil {
		r.Steps = map[string]StepRun{}
	}
	return r
}

// vars are the variables of the expressions. Every step is there, so that reading one that has not
// run gives empty values and not an error.
func (p *Playbook) vars(run Run, loop *Loop) map[string]any {
	steps := make(map[string]any, len(p.Steps))
	for _, s := range p.Steps {
		steps[s.ID] = map[string]any{"state": string(run.state(s.ID)), "output": run.Steps[s.ID].Output.variable()}
	}
	input := run.Input
	if input == nil {
		input = map[string]any{}
	}
	vars := map[string]any{"input": input, "steps": steps}
	if loop != nil {
		l := run.Loops[loop.Judge]
		vars["revision"] = map[string]any{"round": l.Round, "feedback": l.Feedback.variable()}
	}
	return vars
}

func (o Output) variable() map[string]any {
	data := o.Data
	if data == nil {
		data = map[string]any{}
	}
	return map[string]any{"text": o.Text, "data": data, "state": o.State, "task": o.Task}
}
