package gate

import (
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/partner"
)

// State of a breaker.
type State uint8

// The states. Shut lets all calls through, which electricians and gobreaker call closed.
const (
	Shut     State = iota
	HalfOpen       // some calls are let through to see how they fare
	Opened         // none is
)

// String gives the usual names: closed, half-open, open.
func (s State) String() string { return [...]string{"closed", "half-open", "open"}[s] }

// Cause is what opened a breaker.
type Cause string

// The causes.
const (
	Failures Cause = "failures"
	Slowness Cause = "slowness"
)

// Change of a breaker of this replica.
type Change struct {
	Address  partner.Address
	From, To State
	// Why it opened; of one that closes, why it had opened.
	Why Cause
	At  time.Time
	// RetryAt is when calls will be let through; zero when they are.
	RetryAt time.Time
}

// Breaker is the state of one.
type Breaker struct {
	Address partner.Address
	State   State
	Why     Cause     // empty while it is shut
	Since   time.Time // zero when it has never opened
	RetryAt time.Time // zero unless it is open
	Running int       // calls under way
}

// looked is the time that shares are taken over, in steps.
const (
	looked = time.Minute
	step   = 10 * time.Second
)

// pair is the breakers of a skill: gobreaker counts one kind of trouble, so there is one
// for failures and one for slowness. A call passes when both let it.
type pair struct {
	failures, slowness *half
}

// half is one of them.
type half struct {
	gobreaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	state     State
	retryAt   time.Time
}

var (
	errCounts   = errors.New("counts against the partner")
	errExcluded = errors.New("says nothing of the partner")
)

func newPair(b agreement.Breaker) *pair {
	return &pair{newHalf(b, b.Failures), newHalf(b, b.SlowShare)}
}

func newHalf(b agreement.Breaker, share float64) *half {
	h := &half{}
	h.gobreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: uint32(b.Probes), Interval: looked, BucketPeriod: step, Timeout: b.Open,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			ended := c.TotalSuccesses + c.TotalFailures // Requests are those that have begun
			const rounding = 1e-9
			return ended >= uint32(b.Calls) && float64(c.TotalFailures)+rounding >= share*float64(ended)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errExcluded) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			h.retryAt = time.Time{}
			switch to {
			case gobreaker.StateOpen:
				// The instant itself is still too early for gobreaker.
				h.state, h.retryAt = Opened, time.Now().Add(b.Open+time.Millisecond)
			case gobreaker.StateHalfOpen:
				h.state = HalfOpen
			case gobreaker.StateClosed:
				h.state = Shut
			}
		},
	})
	return h
}

// allow lets a call through. done tells how it ended, once.
func (p *pair) allow() (done func(r Result, slow bool), err error) {
	failed, err := p.failures.gobreaker.Allow()
	if err != nil {
		return nil, err
	}
	slowed, err := p.slowness.gobreaker.Allow()
	if err != nil {
		failed(errExcluded)
		return nil, err
	}
	return func(r Result, slow bool) {
		switch r {
		case OK:
			failed(nil)
		case Abandoned:
			failed(errExcluded)
		default:
			failed(errCounts)
		}
		switch {
		case slow:
			slowed(errCounts)
		case r == OK || r == Invalid:
			slowed(nil)
		default: // it failed quickly, or was given up early: nothing is known of its speed
			slowed(errExcluded)
		}
	}, nil
}

// look has the breakers notice that time has passed.
func (p *pair) look() {
	p.failures.gobreaker.State()
	p.slowness.gobreaker.State()
}

// state of the pair is the worse of the two.
func (p *pair) state() (State, Cause) {
	switch {
	case p.failures.state == Shut && p.slowness.state == Shut:
		return Shut, ""
	case p.failures.state >= p.slowness.state:
		return p.failures.state, Failures
	}
	return p.slowness.state, Slowness
}

// retryAt is when an open pair lets calls through.
func (p *pair) retryAt() time.Time {
	if p.failures.retryAt.Before(p.slowness.retryAt) {
		return p.slowness.retryAt
	}
	return p.failures.retryAt
}
