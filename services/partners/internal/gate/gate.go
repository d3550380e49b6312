// Package gate stands before each call to a partner. It holds a call back while the
// partner is in maintenance, while too much of what was asked of it lately has failed or
// taken too long, and where the call would go beyond what was agreed on. What it knows is
// of this replica only: see docs/agreements.md for what several do together.
package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/partner"
)

// Why a call is held back.
type Why string

// The reasons, in the order in which they are looked at.
const (
	Maintenance Why = "maintenance" // the partner said that it would not be there
	Busy        Why = "busy"        // as many calls run as were agreed on
	Rate        Why = "rate"        // as many calls began within a minute as were agreed on
	Open        Why = "open"        // the breaker is open, or the calls that try it are under way
)

// Closed says that a call was not let through. Nothing was sent.
type Closed struct {
	Address partner.Address
	Why     Why
	// RetryAt is when it may be let through; zero where that is not known.
	RetryAt time.Time
}

// Error says what is the matter.
func (c *Closed) Error() string {
	what := map[Why]string{
		Maintenance: "is in maintenance", Busy: "is asked as much at once as was agreed on",
		Rate: "is asked as often in a minute as was agreed on", Open: "has failed or been slow too often lately",
	}[c.Why]
	if c.RetryAt.IsZero() {
		return fmt.Sprintf("%s %s; try again", c.Address, what)
	}
	return fmt.Sprintf("%s %s; try again at %s", c.Address, what, c.RetryAt.UTC().Format(time.RFC3339))
}

// Result of a call.
type Result uint8

// The results. All but OK and Abandoned count against the partner.
const (
	OK        Result = iota
	Failed           // no answer, an error, or none within the budget
	Invalid          // an answer that is not what was agreed on
	Throttled        // the partner said that it was asked too much
	Abandoned        // we gave it up for reasons of our own, which says nothing of the partner
)

// String names the result as metrics do.
func (r Result) String() string {
	return [...]string{"ok", "failed", "invalid", "throttled", "abandoned"}[r]
}

// Call is one that has ended.
type Call struct {
	Address partner.Address
	// Caller is on whose behalf it was made; empty for nobody's.
	Caller       string
	Began, Ended time.Time
	Result       Result
	// Slow says that it took longer than the agreement's breaker calls slow.
	Slow bool
	// Maintenance says that it began or ended in a window of maintenance: it says nothing
	// of what was agreed on.
	Maintenance bool
}

// Ledger is told what happened. It does not block.
type Ledger interface {
	Called(Call)
	Refused(a partner.Address, why Why, at time.Time)
}

// Config of a gate.
type Config struct {
	Clock  clock.Clock
	Ledger Ledger // may be nil
	// Changed is told of each change of a breaker; it does not block. It may be nil.
	Changed func(Change)
	// Replicas is how many of the service live, this one included, which share what was
	// agreed on; nil: one.
	Replicas func() int
	Metrics  *Metrics // may be nil
}

// Gate is the one of all partners. It is safe for concurrent use. It has no goroutine.
//
// Breakers measure by the machine's clock, as gobreaker does; all else by that of the
// configuration. A test that owns the time of both uses testing/synctest.
type Gate struct {
	Config

	mu    sync.RWMutex
	lanes map[partner.Address]*lane
}

// New makes a gate.
func New(c Config) *Gate {
	if c.Replicas == nil {
		c.Replicas = func() int { return 1 }
	}
	return &Gate{Config: c, lanes: map[partner.Address]*lane{}}
}

func (g *Gate) lane(a partner.Address) *lane {
	g.mu.RLock()
	l := g.lanes[a]
	g.mu.RUnlock()
	if l != nil {
		return l
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if l = g.lanes[a]; l == nil {
		l = &lane{address: a, counted: g.Metrics.lane(a)}
		g.lanes[a] = l
	}
	return l
}

// Enter lets a call through, or says with [*Closed] why not. Whoever is let through calls
// Done or Leave of the pass, whatever becomes of the call.
func (g *Gate) Enter(ctx context.Context, t *agreement.Terms) (*Pass, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := g.Clock.Now()
	l := g.lane(t.Address)
	if end, in := t.InMaintenance(now); in {
		return nil, g.refuse(l, Maintenance, end, now)
	}
	l.mu.Lock()
	l.renew(t)
	p, closed := l.enter(t, now, g.Replicas())
	changes := l.changes(now)
	l.mu.Unlock()
	g.tell(changes)
	if closed != nil {
		return nil, g.refuse(l, closed.Why, closed.RetryAt, now)
	}
	p.gate = g
	return p, nil
}

func (g *Gate) refuse(l *lane, why Why, retryAt, now time.Time) error {
	l.counted.refused(why)
	if g.Ledger != nil {
		g.Ledger.Refused(l.address, why, now)
	}
	return &Closed{l.address, why, retryAt}
}

func (g *Gate) tell(changes []Change) {
	if g.Changed == nil {
		return
	}
	for _, c := range changes {
		g.Changed(c)
	}
}

// Retry takes one retry out of the budget of a skill; false: it is used up.
func (g *Gate) Retry(t *agreement.Terms) bool {
	l := g.lane(t.Address)
	l.mu.Lock()
	defer l.mu.Unlock()
	ok := l.retries.take(g.Clock.Now(), t.Retries.Ratio)
	if ok {
		l.counted.retried()
	}
	return ok
}

// Ended tells of a call that left its pass behind when it became a long one: how it ended
// counts as that of any other.
func (g *Gate) Ended(t *agreement.Terms, caller string, began time.Time, r Result) {
	l := g.lane(t.Address)
	now := g.Clock.Now()
	l.mu.Lock()
	l.renew(t)
	if done, err := l.breakers.allow(); err == nil {
		done(r, now.Sub(began) > t.Breaker.Slow)
	}
	changes := l.changes(now)
	l.mu.Unlock()
	g.tell(changes)
	_, before := t.InMaintenance(began)
	g.ended(t, l, caller, began, now, r, before)
}

// ended tells the ledger of a call. before says that it began in maintenance.
func (g *Gate) ended(t *agreement.Terms, l *lane, caller string, began, now time.Time, r Result, before bool) {
	l.counted.called(r, now.Sub(began))
	if g.Ledger == nil {
		return
	}
	_, after := t.InMaintenance(now)
	g.Ledger.Called(Call{t.Address, caller, began, now, r, now.Sub(began) > t.Breaker.Slow, before || after})
}

// Breakers gives the state of each skill that was called since this replica began, in no
// order.
func (g *Gate) Breakers() []Breaker {
	g.mu.RLock()
	lanes := make([]*lane, 0, len(g.lanes))
	for _, l := range g.lanes {
		lanes = append(lanes, l)
	}
	g.mu.RUnlock()
	now := g.Clock.Now()
	list := make([]Breaker, 0, len(lanes))
	for _, l := range lanes {
		l.mu.Lock()
		if l.breakers == nil {
			l.mu.Unlock()
			continue
		}
		l.breakers.look()
		changes := l.changes(now)
		list = append(list, Breaker{
			Address: l.address, State: l.state, Why: l.why, Since: l.since, RetryAt: l.breakers.retryAt(), Running: l.running,
		})
		l.mu.Unlock()
		g.tell(changes)
	}
	return list
}
