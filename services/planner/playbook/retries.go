package playbook

import (
	"math"
	"time"
)

// Retries say how often and how soon a failed step is tried again.
type Retries struct {
	Max        int           // attempts after the first, 0 to MaxRetries
	Backoff    time.Duration // before the first retry; doubles with each
	MaxBackoff time.Duration // the longest wait, before jitter
	Jitter     float64       // in [0,1]: the part of a wait that is random
}

// DefaultRetries hold for steps that say nothing. A step with side effects is not retried unless
// its file says so: the first attempt may have done its work before it failed.
func DefaultRetries(sideEffects bool) Retries {
	r := Retries{Max: 2, Backoff: 200 * time.Millisecond, MaxBackoff: 5 * time.Second, Jitter: 0.2}
	if sideEffects {
		r.Max = 0
	}
	return r
}

// Delay is the wait before a retry. The first retry has attempt 1. Random is in [0,1); the wait
// lies between (1-Jitter) and 1 times the exponential backoff.
func (r Retries) Delay(attempt int, random float64) time.Duration {
	wait := float64(r.Backoff) * math.Pow(2, float64(max(attempt, 1)-1))
	wait = min(wait, float64(r.MaxBackoff))
	return time.Duration(wait * (1 - r.Jitter*random))
}
