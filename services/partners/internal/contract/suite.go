// Package contract holds the golden tasks of partners: what an agent of another
// organisation is asked again and again, what its answers must be, and what of them is
// measured so that another behaviour behind the same card is noticed.
package contract

import (
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sabha.dev/services/partners/internal/drift"
)

// Action is what follows when answers are wrong or have drifted.
type Action string

// The actions; each includes those before it.
const (
	Tell    Action = "tell"    // an event, a metric, a verdict that people see
	Lower   Action = "lower"   // and the trust score falls
	Suspend Action = "suspend" // and the partner is not called until a person approves it again
)

// Bounds of a suite.
const (
	MinEvery    = time.Minute
	MaxEvery    = 7 * 24 * time.Hour
	MinBaseline = 50
	MaxBaseline = 1000
	MaxTasks    = 100
	MaxRepeats  = 50
	MaxMeasures = 20
)

// Suite is what one partner is asked.
type Suite struct {
	File    string
	Partner string
	Owner   string
	// Every is the time between two runs, Jitter what is added to it at most.
	Every, Jitter time.Duration
	// Budget is how long one run may take.
	Budget time.Duration
	// Baseline is how many runs others are compared with.
	Baseline int
	// Passes is the least percentage of good answers over the last [drift.Window] runs.
	Passes             int
	OnDrift, OnFailure Action
	Tasks              []Task
	Measures           []Measure
	// Digest names what is asked and measured: runs of another digest are not comparable.
	Digest string
	// Notes are what a person should know of the suite, such as that it is too small.
	Notes []string
}

// Task is one golden task.
type Task struct {
	Name, Skill string
	Text        string
	Data        map[string]any
	// Repeats is how often a run asks it.
	Repeats int
	schema  *jsonschema.Schema
	asserts []expression
	// measures are the names of those that are taken of its answers.
	measures []string
}

// Measure is one figure of an answer.
type Measure struct {
	Name string
	Kind drift.Kind
	of   expression
}

// Measures that every suite has.
const (
	// Outcome is the category of how an answer fared.
	Outcome = "outcome"
	// Took is how long an answer took.
	Took = "took"
)

// Task finds a task by name, or nil.
func (s *Suite) Task(name string) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].Name == name {
			return &s.Tasks[i]
		}
	}
	return nil
}

// Measure finds a measure by name, or nil.
func (s *Suite) Measure(name string) *Measure {
	for i := range s.Measures {
		if s.Measures[i].Name == name {
			return &s.Measures[i]
		}
	}
	return nil
}

// Calls is how often a run calls the partner.
func (s *Suite) Calls() int {
	n := 0
	for _, t := range s.Tasks {
		n += t.Repeats
	}
	return n
}

// Values is how many values of a measure a run gives.
func (s *Suite) Values(measure string) int {
	n := 0
	for _, t := range s.Tasks {
		for _, m := range t.measures {
			if m == measure {
				n += t.Repeats
			}
		}
	}
	return n
}
