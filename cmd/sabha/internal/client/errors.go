package client

import "fmt"

// Unreachable says that nothing answered.
type Unreachable struct {
	// Address that was called.
	Address string
	// Advertised tells that the address came from the card of Server.
	Advertised bool
	Server     string
	Err        error
}

// Error gives the address and the reason.
func (e *Unreachable) Error() string { return fmt.Sprintf("cannot reach %s: %v", e.Address, e.Err) }

// Unwrap gives the reason.
func (e *Unreachable) Unwrap() error { return e.Err }

// NoCard says that a server answers, but not with an agent card.
type NoCard struct {
	URL    string
	Status string
}

// Error gives the address and what was answered.
func (e *NoCard) Error() string { return fmt.Sprintf("no agent card at %s (%s)", e.URL, e.Status) }
