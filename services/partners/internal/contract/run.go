package contract

import (
	"encoding/json"
	"time"
)

// State of a run.
type State string

// The states.
const (
	Waiting     State = "waiting"
	Running     State = "running"
	Done        State = "done"
	Unreachable State = "unreachable" // no call was answered: it says nothing of the answers
	Abandoned   State = "abandoned"   // replicas died over it, or its golden tasks are gone
)

// maxAttempts of one run, by replicas that died over it.
const maxAttempts = 3

// Run of a suite.
type Run struct {
	Partner   string
	Number    int64
	Baseline  int64
	State     State
	By        string // empty: the schedule
	Reason    string
	CreatedAt time.Time
	StartedAt time.Time
	EndedAt   time.Time
	Attempts  int
	// Calls were made; Good of them had a good answer, Failed none.
	Calls, Good, Failed int
	// Look is the probability of what the look after the run saw when nothing has changed; 1
	// when there was no look.
	Look    float64
	Samples []Sample
}

// Claim of a run by a replica.
type Claim struct {
	Run
	epoch int64
}

// Baseline that runs are compared with.
type Baseline struct {
	Partner    string
	Number     int64
	Digest     string
	Size       int
	BegunAt    time.Time
	CompleteAt time.Time // zero while it is recorded
	By, Reason string
}

// Kinds of verdicts.
const (
	Drifted  = "drift"    // answers are distributed otherwise than in the baseline
	Failing  = "failing"  // more answers are bad than the suite lets pass
	Unsteady = "unsteady" // the baseline moved while it was recorded
)

// Verdict is what was found of a partner.
type Verdict struct {
	Partner, Organisation string
	Number                int64 // of the run
	Kind                  string
	Action                Action
	FoundAt               time.Time
	Quiet                 int
	ClosedAt              time.Time // zero while it stands
	ClosedBy              string
	Figures               json.RawMessage
}

// Open tells whether the verdict stands.
func (v *Verdict) Open() bool { return v.ClosedAt.IsZero() }

// Quiet runs close a verdict by themselves.
const quietRuns = 20

// policy is who closed what closed by itself.
const policy = "policy"
