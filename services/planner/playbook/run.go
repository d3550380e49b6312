package playbook

// State is the state of a step in a run.
type State string

// The states of a step. Completed, Skipped, Failed and Canceled are settled. An interpreter may
// keep finer states of its own as long as it shows one of these here.
const (
	Pending   State = "PENDING"
	Running   State = "RUNNING"
	Completed State = "COMPLETED"
	Skipped   State = "SKIPPED"
	Failed    State = "FAILED"
	Canceled  State = "CANCELED"
)

// Settled reports whether the step will not move by itself any more.
func (s State) Settled() bool {
	switch s {
	case Completed, Skipped, Failed, Canceled:
		return true
	}
	return false
}

// Output is what a step answered with.
type Output struct {
	Text  string         `json:"text"`  // all text parts, joined
	Data  map[string]any `json:"data"`  // the data parts, merged; JSON values only
	State string         `json:"state"` // A2A state of the child task; empty after a direct Message
	Task  string         `json:"task"`  // id of the child task; empty after a direct Message
}

// StepRun is what is known of one step. The zero value is a step that has not begun.
type StepRun struct {
	State  State  `json:"state"`
	Output Output `json:"output"`
	Reason string `json:"reason,omitempty"` // why it failed, in words for the client
}

// LoopRun is what is known of one revision loop. The zero value is the first round.
type LoopRun struct {
	Round    int    `json:"round"`
	Feedback Output `json:"feedback"` // of the judging step in the round before
}

// Run is everything that has happened in a plan, as far as decisions depend on it. It is plain
// data: an interpreter builds it from its rows.
type Run struct {
	Input map[string]any     `json:"input"`
	Steps map[string]StepRun `json:"steps"` // by step id; a missing one is pending
	Loops map[string]LoopRun `json:"loops"` // by the id of the judging step
}

// Start is a step to begin now, with its evaluated inputs.
type Start struct {
	Step   *Step
	Inputs map[string]any
	Round  int // of the loop the step belongs to; 0 outside of loops
	// Verdict is set on the threshold's review step: why people are asked.
	Verdict *Verdict
}

// Revision sends work back: the steps of Reset become pending again, and the loop's LoopRun
// becomes {Round, Feedback}.
type Revision struct {
	Loop     *Loop
	Reset    []string
	Round    int // the round that begins, 1 or more
	Feedback Output
}

// Failure is the end of a plan that cannot succeed.
type Failure struct {
	Step    string      // where it failed; empty when the answer itself could not be made
	Kind    FailureKind //
	Reasons []string    // sentences for the client, at least one
	Verdict *Verdict    // set when Kind is BelowThreshold
}

// FailureKind tells failures apart.
type FailureKind string

// The kinds of failures.
const (
	StepFailed     FailureKind = "STEP_FAILED"     // a step failed that the plan cannot do without
	BadExpression  FailureKind = "BAD_EXPRESSION"  // an expression failed on the values of this run
	BelowThreshold FailureKind = "BELOW_THRESHOLD" // the confidence is too low
	Unrevised      FailureKind = "UNREVISED"       // a loop used up its revisions
	Rejected       FailureKind = "REJECTED"        // people did not approve
)

// Verdict is the threshold applied to the validating step's output.
type Verdict struct {
	Passed        bool
	Confidence    float64
	MinConfidence float64
	Reasons       []string
}

// Next is what an interpreter does next. Apply it in one commit and in this order: Revise, Skip,
// Start. Then call Playbook.Next again when a step settles. A Failure stands
// alone; with Done nothing is started.
type Next struct {
	Revise  []Revision // loops whose judge sent work back
	Skip    []string   // steps whose condition is false: mark them Skipped
	Start   []Start    // steps to begin now
	Failure *Failure
	Done    *Result // every step has settled and the plan succeeded
}

// Result is the plan's answer.
type Result struct {
	Text string
	Data map[string]any
}
