package request

import (
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// Plan behind a task, as far as it has come.
type Plan struct {
	Playbook, Version string
	Steps             []Step
}

// Step of a plan that has begun.
type Step struct {
	Name, Agent, Skill string
	// State is one of StepPending to StepCanceled.
	State State
	// Undo says that the step undoes the one of its name.
	Undo bool
	// Attempt and Round count from 0: retries, and passes through a revision loop.
	Attempt, Round int
	Reason         string
	WaitsFor       string
	// Started, Ended and Retry are zero when they are not known.
	Started, Ended, Retry time.Time
}

// States of a step; those it shares with tasks have the same names.
const (
	StepPending   State = "pending"
	StepRunning   State = "running"
	StepSkipped   State = "skipped"
	StepCompleted       = Completed
	StepFailed          = Failed
	StepCanceled        = Canceled
)

// Current is the step that runs and began last, or nil.
func (p Plan) Current() *Step {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if p.Steps[i].State == StepRunning {
			return &p.Steps[i]
		}
	}
	return nil
}

// ofMetadata reads a plan from the planner's extension. What it does not say is
// left empty: the console shows plans, it does not judge them.
func ofMetadata(md *structpb.Struct) Plan {
	f := md.GetFields()
	p := Plan{Playbook: f["playbook"].GetStringValue(), Version: f["version"].GetStringValue()}
	for _, v := range f["steps"].GetListValue().GetValues() {
		s := v.GetStructValue().GetFields()
		text := func(name string) string { return s[name].GetStringValue() }
		p.Steps = append(p.Steps, Step{
			Name: text("step"), Agent: text("agent"), Skill: text("skill"), State: FromWire(text("state")), Undo: text("kind") == "compensation",
			Attempt: int(s["attempt"].GetNumberValue()), Round: int(s["round"].GetNumberValue()), Reason: text("reason"), WaitsFor: text("waits_for"),
			Started: parsed(text("started_at")), Ended: parsed(text("ended_at")), Retry: parsed(text("retry_at")),
		})
	}
	return p
}

func parsed(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
