package request

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	plannerv1 "sabha.dev/gen/sabha/planner/v1"
)

// Plan behind a task, as far as it has come.
type Plan struct {
	Playbook, Version string
	// Phase is running, failing, cancelling or ended; empty when it is not known.
	Phase string
	Input string
	Steps []Step
	// Reasons why it fails or is canceled.
	Reasons []string
	// ForkedFrom is the task that this one was forked from, ForkedAt the step at which it
	// began; empty for none.
	ForkedFrom, ForkedAt string
	MayFork              bool
}

// Step of a plan.
type Step struct {
	Name, Description, Agent, Skill string
	// State is one of StepPending to StepCanceled.
	State State
	// Undo says that the step undoes the one of its name.
	Undo  bool
	Needs []string
	// Attempt and Round count from 0: retries, and passes through a revision loop. Allowed
	// are the attempts in all; 0 when that is not known.
	Attempt, Round, Allowed int
	Reason                  string
	WaitsFor                string
	// Child is the task that carries the step out.
	Child string
	// Started, Ended, Retry and Due are zero when they are not known.
	Started, Ended, Retry, Due time.Time
	// Inputs and Output as JSON; empty when there are none.
	Inputs, Output        string
	Risk                  string
	SideEffects, Optional bool
	// Purpose is what its data is used for, Consent the step that records the consent.
	Purpose, Consent string
	// Question says that the step is a question to people that no playbook asks.
	Question bool
	// Sent are the labels of what it was sent, Answered of what it answered, in words; the
	// best go without saying. Untrusted says that what it answered, or while it has not what
	// it was sent, must not be acted on unseen.
	Sent, Answered []string
	Untrusted      bool
	// Released are the fields that may be believed all the same, with by what.
	Released []string
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

// changes says what an event tells of a plan: the steps that it names, as they are
// after it.
func (p Plan) changes() string {
	var parts []string
	for _, s := range p.Steps {
		name, state := s.Name, string(s.State)
		if s.Undo {
			name = "undo " + name
		}
		if !s.Retry.IsZero() && s.State == StepRunning {
			state = "is tried again"
		}
		if s.Reason != "" {
			state += ": " + s.Reason
		}
		parts = append(parts, name+" "+state)
	}
	return strings.Join(parts, ", ")
}

// OfSnapshot reads the steps of a plan as it was when people were asked. needs tells
// whether it says which steps need which.
func OfSnapshot(plan *structpb.Struct) (steps []Step, needs bool) {
	steps = ofMetadata(plan).Steps
	for n, v := range plan.GetFields()["steps"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		steps[n].Description = f["description"].GetStringValue()
		needs = needs || f["needs"] != nil
		for _, need := range f["needs"].GetListValue().GetValues() {
			steps[n].Needs = append(steps[n].Needs, need.GetStringValue())
		}
	}
	return steps, needs
}

// OfPlan reads a plan from the contract.
func OfPlan(w *plannerv1.Plan) Plan {
	p := Plan{
		Playbook: w.GetPlaybook(), Version: w.GetVersion(), Phase: w.GetPhase(), Input: JSON(w.GetInput()), Reasons: w.GetReasons(),
		ForkedFrom: w.GetForkedFrom(), ForkedAt: w.GetForkedAt(), MayFork: w.GetMayFork(), Steps: OfSteps(w.GetSteps()),
	}
	return p
}

// OfSteps reads steps from the contract.
func OfSteps(list []*plannerv1.Step) []Step {
	steps := make([]Step, 0, len(list))
	for _, s := range list {
		steps = append(steps, Step{
			Name: s.GetStep(), Description: s.GetDescription(), Agent: s.GetAgent(), Skill: s.GetSkill(), State: FromWire(s.GetState()),
			Undo: s.GetKind() == "compensation", Needs: s.GetNeeds(), Attempt: int(s.GetAttempt()), Round: int(s.GetRound()), Allowed: int(s.GetAttemptsAllowed()),
			Reason: s.GetReason(), WaitsFor: s.GetWaitsFor(), Child: s.GetChildTaskId(), Started: at(s.GetStartedAt()), Ended: at(s.GetEndedAt()),
			Retry: at(s.GetRetryAt()), Due: at(s.GetDueAt()), Inputs: JSON(s.GetInputs()), Output: JSON(s.GetOutput()),
			Risk: s.GetRisk(), SideEffects: s.GetSideEffects(), Optional: s.GetOptional(), Purpose: s.GetPurpose(), Consent: s.GetConsent(), Question: s.GetKind() == "approval",
			Sent: words(s.GetLabels()), Answered: words(s.GetOutputLabels()), Untrusted: untrusted(s), Released: released(s.GetReleased()),
		})
	}
	return steps
}

// words are labels, each in a word or two.
func words(l *plannerv1.Labels) []string {
	var list []string
	for _, w := range []string{l.GetIntegrity(), l.GetConfidentiality()} {
		if w != "" {
			list = append(list, w)
		}
	}
	list = append(list, l.GetClasses()...)
	for _, c := range l.GetTokenised() {
		list = append(list, c+" as tokens")
	}
	return list
}

func untrusted(s *plannerv1.Step) bool {
	l := s.GetOutputLabels()
	if l == nil {
		l = s.GetLabels()
	}
	return l.GetIntegrity() == "untrusted"
}

func released(list []*plannerv1.Release) []string {
	by := map[string]string{"schema": "by its schema", "approval": "by a person"}
	out := make([]string, 0, len(list))
	for _, r := range list {
		out = append(out, strings.TrimSpace(r.GetField()+" "+by[r.GetBy()]))
	}
	return out
}

func parsed(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// Forward are the steps that are not there to undo another.
func (p Plan) Forward() []Step { return p.which(false) }

// Undone are the steps that undo others.
func (p Plan) Undone() []Step { return p.which(true) }

func (p Plan) which(undo bool) []Step {
	var steps []Step
	for _, s := range p.Steps {
		if s.Undo == undo {
			steps = append(steps, s)
		}
	}
	return steps
}
