package gate

import (
	"fmt"
	"slices"
	"time"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/partner"
)

// Action is what to do after a call that has not succeeded.
type Action string

// The actions.
const (
	// Wait asks the gate again later: nothing was sent.
	Wait Action = "wait"
	// Retry asks the same partner again.
	Retry Action = "retry"
	// Fallback asks another partner.
	Fallback Action = "fallback"
	// Escalate gives the call to people.
	Escalate Action = "escalate"
	// Fail ends the task.
	Fail Action = "fail"
)

// Trial is what has been tried for one step so far.
type Trial struct {
	// First are the terms of whom the step names, Now of whom was asked last.
	First, Now *agreement.Terms
	// Tried are all that were asked, or would have been, with these two.
	Tried []partner.Address
	// Retries that were made of whom was asked last.
	Retries int
	// Closed is why the gate held the call back; nil when it was made.
	Closed *Closed
	// Again says that the same may be asked again, here or elsewhere: nothing was done, or
	// doing it twice does no harm; and the answer was no decision on what was asked.
	Again bool
	// After is when the partner wants to be asked again; zero: it did not say.
	After time.Time
	// Deadline of the step; zero: none.
	Deadline time.Time
}

// Step is what comes next.
type Step struct {
	Do Action
	// At is when, for Wait and Retry.
	At time.Time
	// To is who, for Fallback.
	To  partner.Address
	Why string
}

// Bounds of waiting.
const (
	// maxBackoff is the longest time between two attempts.
	maxBackoff = time.Minute
	// busyWait is about how long is waited for a place.
	busyWait = 200 * time.Millisecond
)

// Next says what comes next: waiting where that is soon enough, else retries, then the
// fallback, then people. jitter is from 0 to 1, anew for each call; it spreads those who
// wait for the same. budget takes a retry out of the retry budget, if there is one left; it
// is asked only when all else speaks for a retry.
func Next(t Trial, now time.Time, jitter float64, budget func() bool) Step {
	inTime := func(at time.Time) bool { return t.Deadline.IsZero() || at.Before(t.Deadline) }
	why := "the call failed"
	switch {
	case t.Closed != nil:
		why = t.Closed.Error()
		limit := t.Closed.Why == Busy || t.Closed.Why == Rate // nothing is wrong with the partner
		at := spread(t.Closed.RetryAt, busyWait, jitter)
		if t.Closed.RetryAt.IsZero() {
			at = spread(now.Add(busyWait/2), busyWait, jitter)
		}
		if inTime(at) && (limit || !t.fallback()) {
			return Step{Do: Wait, At: at, Why: why}
		}
	case !t.Again:
		why = "the call must not be made again"
	case t.Retries >= t.Now.Retries.Max:
		why = fmt.Sprintf("the call failed, and %d retries are allowed", t.Now.Retries.Max)
	default:
		at := now.Add(backoff(t.Now.Retries.Backoff, t.Retries, jitter))
		if at.Before(t.After) {
			at = spread(t.After, busyWait, jitter)
		}
		switch {
		case !inTime(at):
			why = "there is no time left to ask again"
		case budget():
			return Step{Do: Retry, At: at, Why: "the call failed"}
		default:
			why = "the retry budget is used up"
		}
	}
	switch {
	case (t.Closed != nil || t.Again) && t.fallback() && inTime(now):
		return Step{Do: Fallback, To: t.Now.Fallback, Why: why}
	case t.First.Escalate:
		return Step{Do: Escalate, Why: why}
	}
	return Step{Do: Fail, Why: why}
}

// fallback tells whether there is somebody who has not been asked.
func (t *Trial) fallback() bool {
	return t.Now.Fallback != partner.Address{} && !slices.Contains(t.Tried, t.Now.Fallback)
}

// backoff before a retry: it doubles with each, and jitter takes up to half of it off.
func backoff(first time.Duration, made int, jitter float64) time.Duration {
	d := min(first<<min(made, 16), maxBackoff)
	return d - time.Duration(jitter*float64(d)/2)
}

func spread(at time.Time, over time.Duration, jitter float64) time.Time {
	return at.Add(time.Duration(jitter * float64(over)))
}

// Next is the function of the same name with the retry budget of the gate.
func (g *Gate) Next(t Trial, jitter float64) Step {
	return Next(t, g.Clock.Now(), jitter, func() bool { return g.Retry(t.Now) })
}
