// Package push delivers the events of tasks to the webhooks that their owners
// named: in order, at least once, by whichever replica committed them, without
// letting one receiver delay another.
package push

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/metrics"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// Store keeps configurations and their places.
type Store interface {
	Get(ctx context.Context, taskID string) (*taskstore.Record, error)
	Epoch() int64
	// Held tells whether this replica's lease has held from a time until now.
	Held(from time.Time) bool
	DuePushes(ctx context.Context, own bool, limit int) ([]*taskstore.Push, error)
	NextPush(ctx context.Context) (time.Time, error)
	ClaimPushes(ctx context.Context, list []*taskstore.Push) ([]*taskstore.Push, error)
	SettlePushes(list []taskstore.Settlement, done func([]taskstore.Settled, error))
	CountDeadPushes(ctx context.Context) (int, error)
}

// Config of a deliverer.
type Config struct {
	// Service signs, with its key.
	Service string
	Key     ed25519.PrivateKey
	Guard   *egress.Guard
	// Outlet decides what events may hold; nil lets everything go, and looks at nothing.
	Outlet  *outlet.Outlet
	Store   Store
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics *metrics.Metrics
	// Tracer makes the spans of attempts; nil makes none.
	Tracer *trace.Tracer
	// Frame gives an event the place that readers of streams see on it. gap says that
	// events before it are not delivered one by one.
	Frame func(ev *a2apb.StreamResponse, epoch, version int64, gap bool) *a2apb.StreamResponse
	// MaxFailures in a row disable a configuration; 0 means 30, which takes about 2.5 hours.
	MaxFailures int
	// Sweep is how often due configurations are looked for; 0 means 2 s.
	Sweep time.Duration
}

// Bounds of a replica.
const (
	// maxActive configurations have something to deliver, in memory; the others wait
	// in the database.
	maxActive = 8192
	// maxHeld events wait in memory, maxHeldEach for one configuration; beyond, the
	// receiver gets the task as it is.
	maxHeld     = 16384
	maxHeldEach = 64
	// claimBatch configurations are claimed at once.
	claimBatch = 256
	// settleEvery bounds how far a place that moves on is behind in the database.
	settleEvery = time.Second
	// grace is how long a stop waits for answers, by the machine's time.
	grace = 3 * time.Second
)

// Deliverer delivers what one replica has claimed.
type Deliverer struct {
	Config
	client *egress.Poster
	signer *signer
	random func() float64
	// delivered counts the attempts of that outcome.
	delivered prometheus.Counter
	kick      chan struct{}
	active    atomic.Int64
	closed    atomic.Bool

	mu      sync.Mutex
	cursors map[taskstore.PushKey]*cursor
	held    int
	lanes   lanes
	// work is the context of attempts; workers are running.
	work    context.Context
	workers sync.WaitGroup
	running int
	settles settles
	// wakeAt is when the next sweep is planned.
	wakeAt time.Time
}

// New makes a deliverer. It delivers while Run runs.
func New(c Config) (*Deliverer, error) {
	s, err := newSigner(c.Service, c.Key, c.Clock)
	if err != nil {
		return nil, err
	}
	if c.MaxFailures == 0 {
		c.MaxFailures = 30
	}
	if c.Sweep == 0 {
		c.Sweep = 2 * time.Second
	}
	return &Deliverer{
		Config: c, client: c.Guard.Poster(within, laneWidth), signer: s, random: rand.Float64,
		delivered: c.Metrics.PushDeliveries.WithLabelValues(delivered), kick: make(chan struct{}, 1),
		cursors: map[taskstore.PushKey]*cursor{}, lanes: newLanes(),
	}, nil
}

var _ taskstore.Pusher = (*Deliverer)(nil)

// Room tells whether further configurations can be taken.
func (d *Deliverer) Room() bool { return !d.closed.Load() && d.active.Load() < maxActive }

// Pushed takes over events that this replica has committed.
func (d *Deliverer) Pushed(p taskstore.Pushed) {
	now := d.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, cfg := range p.Configs {
		c := d.adopt(cfg)
		if c == nil {
			continue
		}
		c.target, c.traceparent = cfg.Target, p.Traceparent
		first := cfg.Target - int64(len(p.Events)) + 1
		for i, ev := range p.Events {
			d.hold(c, event{version: first + int64(i), ev: ev, at: now})
		}
		d.enqueue(c)
	}
	d.staff()
}

// Kick makes the deliverer look for due configurations now.
func (d *Deliverer) Kick() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// ownEvery is how often, in sweeps, a replica looks for claims of its own that it
// does not know of: their commit had an unknown end.
const ownEvery = 15

// Run delivers until ctx ends, then lets what is on its way arrive and stores how
// far it came.
func (d *Deliverer) Run(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	d.mu.Lock()
	d.work = work
	d.staff()
	d.mu.Unlock()
	for n := 1; ctx.Err() == nil; n++ {
		wait := d.sweep(ctx, n%ownEvery == 0)
		select {
		case <-ctx.Done():
		case <-d.kick:
		case <-d.Clock.After(wait):
		}
	}
	d.closed.Store(true)
	d.mu.Lock()
	d.lanes.close()
	d.mu.Unlock()
	hurry := time.AfterFunc(grace, func() { cancel(); d.client.Close() })
	defer hurry.Stop()
	d.workers.Wait()
	d.client.Close()
	d.leave()
}

// sweep claims what is due and that nobody delivers. It returns when to look again.
func (d *Deliverer) sweep(ctx context.Context, own bool) time.Duration {
	room := min(maxActive-int(d.active.Load()), claimBatch)
	var err error
	if room > 0 {
		err = d.claim(ctx, false, room)
	}
	if own && err == nil {
		err = d.claim(ctx, true, 0)
	}
	if err != nil && ctx.Err() == nil {
		d.Log.Error("due pushes cannot be claimed", "error", err)
	}
	d.client.Prune()
	if n, err := d.Store.CountDeadPushes(ctx); err == nil {
		d.Metrics.PushDead.Set(float64(n))
	}
	wait := d.Sweep
	next, err := d.Store.NextPush(ctx)
	now := d.Clock.Now()
	if err == nil && !next.IsZero() {
		wait = min(wait, max(next.Sub(now), 10*time.Millisecond))
	}
	d.mu.Lock()
	d.wakeAt = now.Add(wait)
	d.mu.Unlock()
	return wait
}

func (d *Deliverer) claim(ctx context.Context, own bool, room int) error {
	due, err := d.Store.DuePushes(ctx, own, room)
	if err != nil || len(due) == 0 {
		return err
	}
	d.mu.Lock()
	free := due[:0]
	for _, p := range due {
		if c := d.cursors[p.PushKey]; c == nil || c.claim < p.Claim {
			free = append(free, p)
		}
	}
	d.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	claimed, err := d.Store.ClaimPushes(ctx, free)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range claimed {
		if c := d.adopt(p); c != nil {
			c.target = p.Target
			d.enqueue(c)
		}
	}
	d.staff()
	return nil
}
