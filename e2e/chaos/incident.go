package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"sabha.dev/e2e/chaos/fleet"
)

// incident is one thing that goes wrong, and is put right again.
type incident struct {
	name string
	// lasts is how long it is meant to last.
	lasts time.Duration
	do    func(context.Context, *fleet.Fleet) error
}

// between a lower and an upper bound.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// pause waits unless the run is given up.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// kill ends one replica as a power cut would, and starts it again after a while.
func kill(service string, n int, down time.Duration) incident {
	return incident{fmt.Sprintf("kill %s-%d, %s down", service, n+1, short(down)), down, func(ctx context.Context, f *fleet.Fleet) error {
		p := f.Replicas[service][n]
		p.End(syscall.SIGKILL)
		pause(ctx, down)
		if err := p.Start(); err != nil {
			return err
		}
		return p.Healthy(ctx)
	}}
}

// killBoth ends all replicas of a service at once.
func killBoth(service string, down time.Duration) incident {
	return incident{fmt.Sprintf("kill every %s, %s down", service, short(down)), down, func(ctx context.Context, f *fleet.Fleet) error {
		for _, p := range f.Replicas[service] {
			p.End(syscall.SIGKILL)
		}
		pause(ctx, down)
		for _, p := range f.Replicas[service] {
			if err := p.Start(); err != nil {
				return err
			}
		}
		for _, p := range f.Replicas[service] {
			if err := p.Healthy(ctx); err != nil {
				return err
			}
		}
		return nil
	}}
}

// stall stops one replica for longer than its lease.
func stall(service string, n int, down time.Duration) incident {
	return incident{fmt.Sprintf("stall %s-%d for %s", service, n+1, short(down)), down, func(ctx context.Context, f *fleet.Fleet) error {
		p := f.Replicas[service][n]
		p.Signal(syscall.SIGSTOP)
		pause(ctx, down)
		p.Signal(syscall.SIGCONT)
		return p.Healthy(ctx)
	}}
}

// restart has one replica stop in good order, and starts it again.
func restart(service string, n int) incident {
	return incident{fmt.Sprintf("restart %s-%d", service, n+1), 0, func(ctx context.Context, f *fleet.Fleet) error {
		p := f.Replicas[service][n]
		p.End(syscall.SIGTERM)
		if err := p.Start(); err != nil {
			return err
		}
		return p.Healthy(ctx)
	}}
}

// killNode kills the node that leads the stream of events, or one that follows.
func killNode(leads bool, down time.Duration) incident {
	name := "a NATS follower"
	if leads {
		name = "the NATS leader"
	}
	return incident{fmt.Sprintf("kill %s, %s down", name, short(down)), down, func(ctx context.Context, f *fleet.Fleet) error {
		leader, follower, err := f.StreamLeader(ctx, eventStream)
		if err != nil {
			return err
		}
		p := follower
		if leads {
			p = leader
		}
		p.End(syscall.SIGKILL)
		pause(ctx, down)
		if err := p.Start(); err != nil {
			return err
		}
		return p.Healthy(ctx)
	}}
}

// noNATS kills all nodes.
func noNATS(down time.Duration) incident {
	return incident{fmt.Sprintf("kill all of NATS, %s down", short(down)), down, func(ctx context.Context, f *fleet.Fleet) error {
		for _, p := range f.NATS {
			p.End(syscall.SIGKILL)
		}
		pause(ctx, down)
		for _, p := range f.NATS {
			if err := p.Start(); err != nil {
				return err
			}
		}
		for _, p := range f.NATS {
			if err := p.Healthy(ctx); err != nil {
				return err
			}
		}
		return nil
	}}
}

// noPostgres stops the database at once, as a crash does, and starts it again.
func noPostgres(down time.Duration) incident {
	return incident{fmt.Sprintf("crash PostgreSQL, %s down", short(down)), down, func(ctx context.Context, f *fleet.Fleet) error {
		f.Postgres.Stop()
		pause(ctx, down)
		return f.Postgres.Start()
	}}
}

func short(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// few are the incidents of a short run.
func few(r *rand.Rand) []incident {
	n := func() int { return r.IntN(2) }
	down := func() time.Duration { return between(r, 500*time.Millisecond, 2*time.Second) }
	return []incident{
		kill("planner", n(), down()), kill("ledger", n(), down()), kill("gateway", n(), down()),
		killNode(true, down()), noPostgres(0),
	}
}

// all are the incidents of a whole run: every kind of process, NATS and the database.
func all(r *rand.Rand) []incident {
	n := func() int { return r.IntN(2) }
	down := func() time.Duration { return between(r, 500*time.Millisecond, 4*time.Second) }
	list := []incident{
		killNode(true, down()), killNode(false, down()), noNATS(between(r, 8*time.Second, 15*time.Second)),
		noPostgres(0), noPostgres(between(r, 3*time.Second, 6*time.Second)),
		stall("planner", n(), between(r, 13*time.Second, 18*time.Second)), stall("ledger", n(), between(r, 13*time.Second, 18*time.Second)),
		stall("gateway", n(), between(r, 13*time.Second, 18*time.Second)),
		kill("planner", 0, down()), kill("planner", 1, down()), kill("ledger", 0, down()), kill("ledger", 1, down()),
		killBoth("planner", down()), killBoth("ledger", down()), killBoth("security", down()), killBoth("gateway", down()),
	}
	for _, s := range fleet.Services {
		if s != "planner" {
			list = append(list, kill(s, n(), down()))
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// rolling restarts every replica of every service, one after the other.
func rolling() []incident {
	var list []incident
	for n := range 2 {
		for _, s := range append([]string{"ledger"}, fleet.Services...) {
			list = append(list, restart(s, n))
		}
	}
	return list
}
