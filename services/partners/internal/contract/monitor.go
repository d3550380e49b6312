package contract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/partner"
)

// Suites are the golden tasks in force.
type Suites interface {
	// Suites lists them by partner.
	Suites() []*Suite
	// Suite of a partner, or nil.
	Suite(partner string) *Suite
}

// Registry knows the partners.
type Registry interface {
	// Partner finds one; the error says that there is none.
	Partner(ctx context.Context, id string) (*partner.Partner, error)
	// Suspend stops calls to a partner. Suspending a suspended one changes nothing.
	Suspend(ctx context.Context, id, by, reason string) error
}

// Config of a monitor.
type Config struct {
	Store    *Store
	Suites   Suites
	Registry Registry
	Asker    Asker
	NATS     *nats.Conn // nil: events wait
	Clock    clock.Clock
	Log      *slog.Logger
	Metrics  prometheus.Registerer
}

// Monitor runs golden tasks when it is time, and acts on what it finds. Any replica may
// run any suite; a suite is run by one at a time.
type Monitor struct {
	store    *Store
	suites   Suites
	registry Registry
	asker    Asker
	nats     *nats.Conn
	stream   jetstream.JetStream
	clock    clock.Clock
	log      *slog.Logger
	counts   counts
	// poked has what was just found passed on at once.
	poked chan struct{}
}

// lookEvery is how often a monitor looks for what is due.
const lookEvery = 5 * time.Second

// NewMonitor makes a monitor. Run lets it begin.
func NewMonitor(c Config) (*Monitor, error) {
	m := &Monitor{store: c.Store, suites: c.Suites, registry: c.Registry, asker: c.Asker, nats: c.NATS, clock: c.Clock, log: c.Log, counts: newCounts(), poked: make(chan struct{}, 1)}
	return m, m.counts.register(c.Metrics, c.Store)
}

// Run runs what is due until ctx ends. A run that is cut off is taken up again.
func (m *Monitor) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { m.every(ctx, "contract tests were not run", nil, m.once) })
	both.Go(func() { m.every(ctx, "findings of contract tests were not passed on", m.poked, m.carry) })
	both.Wait()
}

func (m *Monitor) every(ctx context.Context, failed string, poked <-chan struct{}, do func(context.Context) error) {
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			m.log.Error(failed+"; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-poked:
		case <-m.clock.After(lookEvery):
		}
	}
}

// once runs what is due now, suite after suite: golden tasks are in no hurry, and two
// suites at once would measure each other.
func (m *Monitor) once(ctx context.Context) error {
	now := m.clock.Now()
	all := m.suites.Suites()
	if len(all) == 0 {
		return nil
	}
	for _, s := range all {
		if err := m.store.Ensure(ctx, s.Partner, now.Add(jitter(s.Partner, now, s.Jitter))); err != nil {
			return err
		}
	}
	due, err := m.store.Due(ctx, now)
	for _, id := range due {
		for ctx.Err() == nil {
			ran, problem := m.turn(ctx, id)
			err = errors.Join(err, problem)
			if !ran || problem != nil {
				break
			}
		}
	}
	return err
}

// turn runs the next run of a partner, if there is one.
func (m *Monitor) turn(ctx context.Context, id string) (ran bool, err error) {
	s := m.suites.Suite(id)
	if s == nil {
		return false, nil // its file is gone, or this replica has not seen it yet
	}
	now := m.clock.Now()
	p, err := m.registry.Partner(ctx, id)
	if err != nil {
		return false, fmt.Errorf("golden tasks of %s: %w", id, err)
	}
	next := now.Add(s.Every)
	c, err := m.store.Claim(ctx, id, now, now.Add(s.Budget+time.Minute), next.Add(jitter(id, next, s.Jitter)), p.Ready())
	if err != nil || c == nil {
		return false, err
	}
	err = m.run(ctx, s, p, c)
	if ctx.Err() != nil {
		return false, m.store.Release(context.WithoutCancel(ctx), c)
	}
	if errors.Is(err, errFenced) {
		m.log.Warn("a run of golden tasks took longer than its lease; another replica has it", "partner", id, "run", c.Number)
		return false, nil
	}
	return err == nil, err
}

// run asks every golden task and settles the run.
func (m *Monitor) run(ctx context.Context, s *Suite, p *partner.Partner, c *Claim) error {
	c.State = Done
	if c.Attempts > maxAttempts {
		c.State = Abandoned
	} else {
		limited, stop := context.WithTimeout(ctx, s.Budget)
		defer stop()
		m.ask(limited, s, p, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.Failed == c.Calls {
			c.State = Unreachable
		}
	}
	c.EndedAt = m.clock.Now()
	found, err := m.store.settle(ctx, s, p, c)
	if err != nil {
		return err
	}
	m.counts.ran(c)
	m.log.Info("golden tasks were run", "partner", c.Partner, "run", c.Number, "state", c.State, "calls", c.Calls, "good", c.Good, "look", c.Look)
	for _, v := range found {
		m.log.Warn("contract tests found something", "partner", v.Partner, "run", v.Number, "kind", v.Kind, "action", v.Action, "figures", string(v.Figures))
	}
	if len(found) > 0 {
		select {
		case m.poked <- struct{}{}:
		default:
		}
	}
	return nil
}

// ask asks the tasks one after the other, repeats spread over the run.
func (m *Monitor) ask(ctx context.Context, s *Suite, p *partner.Partner, c *Claim) {
	c.Calls, c.Good, c.Failed, c.Samples = 0, 0, 0, []Sample{}
	for round := 0; ; round++ {
		any := false
		for i := range s.Tasks {
			t := &s.Tasks[i]
			if round >= t.Repeats {
				continue
			}
			any = true
			if ctx.Err() != nil {
				return // the budget is used up; what was measured counts
			}
			x := s.ask(ctx, m.asker, p, t)
			if ctx.Err() != nil && x.Outcome == Failed {
				return
			}
			c.Calls++
			switch x.Outcome {
			case Good:
				c.Good++
			case Failed:
				c.Failed++
			}
			c.Samples = append(c.Samples, x)
		}
		if !any {
			return
		}
	}
}
