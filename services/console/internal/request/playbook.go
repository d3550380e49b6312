package request

import (
	"time"

	plannerv1 "sabha.dev/gen/sabha/planner/v1"
)

// Playbook with what has been run of it.
type Playbook struct {
	Name, Version, Description, Product, Risk string
	StepCount                                 int
	Runs                                      map[State]int64
	LastRun                                   time.Time
	// Budgets of the steps that call an agent whose time runs.
	Budgets []Budget
	// The following only of one playbook: the file, its steps, what its check says, and
	// the versions of which there are requests, the newest first.
	Source   string
	Steps    []Step
	Problems []string
	Versions []string
}

// Budget is how long one attempt of a step may take.
type Budget struct {
	Playbook, Step, Agent, Skill string
	Most                         time.Duration
}

// Total of the runs.
func (p Playbook) Total() int64 {
	var n int64
	for _, c := range p.Runs {
		n += c
	}
	return n
}

// OfPlaybook reads a playbook in short from the contract.
func OfPlaybook(w *plannerv1.PlaybookSummary) Playbook {
	p := Playbook{
		Name: w.GetName(), Version: w.GetVersion(), Description: w.GetDescription(), Product: w.GetProduct(), Risk: w.GetRisk(),
		StepCount: int(w.GetSteps()), Runs: map[State]int64{}, LastRun: at(w.GetLastRunAt()),
	}
	for name, n := range w.GetRuns() {
		p.Runs[FromWire(name)] = n
	}
	for _, b := range w.GetBudgets() {
		p.Budgets = append(p.Budgets, Budget{p.Name, b.GetStep(), b.GetAgent(), b.GetSkill(), time.Duration(b.GetSeconds() * float64(time.Second))})
	}
	return p
}
