// Package clock is the time that the platform runs on, passed in so that tests
// can own it.
package clock

import "time"

// Clock tells the time and wakes sleepers. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now is the current time.
	Now() time.Time
	// After returns a channel that receives the time once, d from now.
	After(d time.Duration) <-chan time.Time
}

// System is the machine's clock.
type System struct{}

// Now is the current time in UTC.
func (System) Now() time.Time { return time.Now().UTC() }

// After is time.After.
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }
