package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/trace"
	eventv1 "sabha.dev/gen/sabha/event/v1"
)

// Outbox is where committed events wait for the log.
type Outbox interface {
	// Waiting reads commits, oldest first: first those that dead
	// replicas left, then this replica's own.
	Waiting(ctx context.Context, limit int) ([]Entry, error)
	// Relayed removes commits that the log has confirmed.
	Relayed(ctx context.Context, done []Position) error
	// Ready receives after commits.
	Ready() <-chan struct{}
}

// Position names a row of the outbox.
type Position struct {
	Replica string
	Seq     int64
}

// Entry is a row of the outbox.
type Entry struct {
	Position
	// At is when it was committed; zero where it was read from the database.
	At     time.Time
	Commit *eventv1.Commit
}

// Relay publishes the outbox to the log, in order, and removes what is confirmed.
// While NATS is away it waits; nothing is lost and nobody is blocked.
type Relay struct {
	Log    *Log
	Outbox Outbox
	Clock  clock.Clock
	Logger *slog.Logger
	// Seconds observes the time from a commit to its confirmation; nil for nobody.
	Seconds prometheus.Observer
	// Tracer makes the spans of publications; nil makes none.
	Tracer *trace.Tracer
}

// batch of the outbox that is published before its confirmations are awaited.
const batch = 64

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	var failing bool
	for ctx.Err() == nil {
		n, err := r.once(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			if !failing {
				r.Logger.Warn("events wait in the outbox: the event log does not take them", "error", err)
			}
			failing = true
			wait(ctx, r.Clock, nil, time.Second)
		case n == 0:
			wait(ctx, r.Clock, r.Outbox.Ready(), time.Second)
		default:
			if failing {
				r.Logger.Info("the event log takes events again")
			}
			failing = false
		}
	}
}

func wait(ctx context.Context, c clock.Clock, ready <-chan struct{}, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-ready:
	case <-c.After(d):
	}
}

func (r *Relay) once(ctx context.Context) (int, error) {
	entries, err := r.Outbox.Waiting(ctx, batch)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	var done []Position
	var futures [][]publication
	defer func() { // what is not confirmed goes out again, in a span of its own
		for _, acks := range futures {
			for _, p := range acks {
				p.span.End()
			}
		}
	}()
	for _, e := range entries {
		var acks []publication
		for _, b := range e.Commit.GetBundles() {
			f, err := r.Log.publish(r.Tracer, b)
			if err != nil {
				futures = append(futures, acks)
				return 0, errors.Join(err, r.Outbox.Relayed(ctx, done))
			}
			acks = append(acks, f)
		}
		futures = append(futures, acks)
	}
	for i, acks := range futures {
		for _, f := range acks {
			select {
			case <-f.Ok():
				f.span.End()
			case err := <-f.Err():
				return 0, errors.Join(err, r.Outbox.Relayed(ctx, done))
			case <-r.Clock.After(10 * time.Second):
				return 0, errors.Join(errors.New("no confirmation within 10 s"), r.Outbox.Relayed(ctx, done))
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		done = append(done, entries[i].Position)
		if at := entries[i].At; r.Seconds != nil && !at.IsZero() {
			r.Seconds.Observe(r.Clock.Now().Sub(at).Seconds())
		}
	}
	return len(entries), r.Outbox.Relayed(ctx, done)
}
