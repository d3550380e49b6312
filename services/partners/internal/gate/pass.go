package gate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"sabha.dev/services/partners/internal/agreement"
)

// Pass is a call that was let through. It holds one of the places of the skill until Done
// or Leave is called.
type Pass struct {
	Began time.Time
	// Caller is on whose behalf the call is made, for the ledger; whoever entered sets it.
	Caller string

	gate  *Gate
	lane  *lane
	terms *agreement.Terms
	tell  func(r Result, slow bool)
	over  atomic.Bool
}

// ErrBudget is the cause of a context that ended because the call has used its budget.
var ErrBudget = errors.New("the call has used its time budget")

// Context bounds the call by its budget, in real time. Its cause is then [ErrBudget].
func (p *Pass) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.terms.Budget, ErrBudget)
}

// Done tells how the call ended; what it took is the time since it began. Only the first of
// Done and Leave counts, so Done(Abandoned) may be deferred.
func (p *Pass) Done(r Result) {
	now := p.gate.Clock.Now()
	if p.end(r, now.Sub(p.Began) > p.terms.Breaker.Slow, now) {
		p.gate.ended(p.terms, p.lane, p.Caller, p.Began, now, r, false)
	}
}

// Leave gives the place back without a result: the partner has begun a long task. How that
// ends is told to [Gate.Ended], by whichever replica hears of it.
func (p *Pass) Leave() { p.end(Abandoned, false, p.gate.Clock.Now()) }

func (p *Pass) end(r Result, slow bool, now time.Time) bool {
	if p.over.Swap(true) {
		return false
	}
	l := p.lane
	l.mu.Lock()
	l.running--
	l.counted.running(l.running)
	p.tell(r, slow)
	changes := l.changes(now)
	l.mu.Unlock()
	p.gate.tell(changes)
	return true
}
