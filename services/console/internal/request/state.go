// Package request is what operators see of the requests that the platform works
// on: the tasks that clients started, their plans, and the calls between agents
// that they led to.
package request

import "strings"

// State of a task, as the console names it in addresses: the A2A state in lower
// case with hyphens, for example "input-required". Empty means not known.
type State string

// The states of A2A 1.0 (specification 4.1.3).
const (
	Submitted     State = "submitted"
	Working       State = "working"
	InputRequired State = "input-required"
	AuthRequired  State = "auth-required"
	Completed     State = "completed"
	Failed        State = "failed"
	Rejected      State = "rejected"
	Canceled      State = "canceled"
)

// States in the order in which a task meets them.
var States = []State{Submitted, Working, InputRequired, AuthRequired, Completed, Failed, Rejected, Canceled}

const wirePrefix = "TASK_STATE_"

// Wire is the state's name in the contract, for example TASK_STATE_WORKING.
func (s State) Wire() string {
	return wirePrefix + strings.ToUpper(strings.ReplaceAll(string(s), "-", "_"))
}

// FromWire reads a state's name in the contract.
func FromWire(name string) State {
	return State(strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, wirePrefix), "_", "-")))
}

// ParseState reads a state in an address.
func ParseState(s string) (State, bool) {
	for _, known := range States {
		if string(known) == s {
			return known, true
		}
	}
	return "", false
}

// Ended tells whether the task changes no more.
func (s State) Ended() bool {
	switch s {
	case Completed, Failed, Rejected, Canceled:
		return true
	}
	return false
}
