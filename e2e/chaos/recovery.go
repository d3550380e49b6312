package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"sabha.dev/e2e/chaos/fleet"
	"sabha.dev/e2e/chaos/ledger"
	"sabha.dev/e2e/chaos/load"
)

// trial measures how long it takes until the platform goes on after a loss.
type trial struct {
	lost, until string
	measure     func(context.Context, *bench) ([]time.Duration, error)
}

var trials = []trial{
	{"a planner is killed", "the next step of each of its plans runs", killPlanner},
	{"a planner is stopped in good order", "the next step of each of its plans runs", stopPlanner},
	{"an agent is killed", "its step runs on the other replica", killAgent},
	{"a gateway is killed", "each of its subscribers has the next event", killGateway},
	{"the NATS leader is killed", "events come out of the stream again", killLeader},
	{"the NATS leader is killed", "each subscriber has the next event", killLeaderUnseen},
	{"PostgreSQL crashes and restarts", "steps run again", crashPostgres},
}

// bench is a deployment with a load of plans that tick.
type bench struct {
	f     *fleet.Fleet
	crowd *load.Crowd
	book  string
	plans []*load.Plan
}

// Size of a trial.
const (
	tickers = 6
	warm    = 2 * time.Second
)

// recovery prints how long it takes to go on after each kind of loss.
func recovery(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	f, book, end, err := deploy(ctx, o)
	if err != nil {
		return err
	}
	defer end()
	crowd, receiver, err := clients(ctx, f, o.seed)
	if err != nil {
		return err
	}
	defer receiver.Close()
	_, _ = fmt.Fprintf(o.out, "%-36s %-40s %9s %9s %9s %s\n", "lost", "until", "median", "least", "most", "n")
	for _, t := range trials {
		var all []time.Duration
		for range o.trials {
			b := &bench{f: f, crowd: crowd, book: book}
			for range tickers {
				b.plans = append(b.plans, crowd.Tick())
			}
			pause(ctx, warm)
			took, err := t.measure(ctx, b)
			if err != nil {
				return fmt.Errorf("%s: %w", t.lost, err)
			}
			all = append(all, took...)
			crowd.Wait()
		}
		if len(all) == 0 {
			return fmt.Errorf("%s: nothing was measured", t.lost)
		}
		slices.Sort(all)
		_, _ = fmt.Fprintf(o.out, "%-36s %-40s %9s %9s %9s %d\n", t.lost, t.until, ms(all[len(all)/2]), ms(all[0]), ms(all[len(all)-1]), len(all))
	}
	return ctx.Err()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// underWay is how long an execution may begin after the kill of its caller and still
// have been asked for before.
const underWay = 300 * time.Millisecond

func killPlanner(ctx context.Context, b *bench) ([]time.Duration, error) {
	return b.endOwner(ctx, "planner", syscall.SIGKILL, underWay)
}

func stopPlanner(ctx context.Context, b *bench) ([]time.Duration, error) {
	return b.endOwner(ctx, "planner", syscall.SIGTERM, 0)
}

func killAgent(ctx context.Context, b *bench) ([]time.Duration, error) {
	return b.endOwner(ctx, "ledger", syscall.SIGKILL, underWay)
}

// endOwner ends the replica of a service that runs most and measures, for every
// task that it ran, the time until the plan of it executes again.
func (b *bench) endOwner(ctx context.Context, service string, how syscall.Signal, after time.Duration) ([]time.Duration, error) {
	ids := map[string]*fleet.Process{}
	for _, p := range b.f.Replicas[service] {
		id, err := p.Replica(ctx)
		if err != nil {
			return nil, err
		}
		ids[id] = p
	}
	owners, err := b.owners(ctx, service)
	if err != nil {
		return nil, err
	}
	victim, plans := b.f.Replicas[service][0], []string(nil)
	for id, p := range ids {
		if len(owners[id]) > len(plans) {
			victim, plans = p, owners[id]
		}
	}
	at := time.Now()
	victim.End(how)
	var took []time.Duration
	for _, plan := range plans {
		d, err := b.next(ctx, at, func(e ledger.Entry) bool {
			task, _, _ := e.Step()
			return task == plan && e.Began.Sub(at) > after
		})
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, b.again(ctx, victim)
}

// owners are the plans whose tasks each replica of a service runs.
func (b *bench) owners(ctx context.Context, service string) (map[string][]string, error) {
	conn, err := pgx.Connect(ctx, b.f.Database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, "SELECT run_owner, root_task_id FROM "+service+".tasks WHERE run_owner IS NOT NULL")
	if err != nil {
		return nil, err
	}
	owners := map[string][]string{}
	var owner, plan string
	_, err = pgx.ForEachRow(rows, []any{&owner, &plan}, func() error {
		owners[owner] = append(owners[owner], plan)
		return nil
	})
	return owners, err
}

// next waits for the first execution after a time.
func (b *bench) next(ctx context.Context, at time.Time, which func(ledger.Entry) bool) (time.Duration, error) {
	for ctx.Err() == nil {
		entries, err := ledger.Read(b.book)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if e.Began.After(at) && which(e) {
				return e.Began.Sub(at), nil
			}
		}
		pause(ctx, 20*time.Millisecond)
	}
	return 0, ctx.Err()
}

func (b *bench) again(ctx context.Context, p *fleet.Process) error {
	if err := p.Start(); err != nil {
		return err
	}
	return p.Healthy(ctx)
}

// killGateway measures, for every client whose stream broke, the time to its next event.
func killGateway(ctx context.Context, b *bench) ([]time.Duration, error) {
	victim := b.f.Replicas["gateway"][0]
	at := time.Now()
	victim.End(syscall.SIGKILL)
	if err := b.again(ctx, victim); err != nil {
		return nil, err
	}
	b.crowd.Wait()
	var took []time.Duration
	for _, p := range b.plans {
		for _, cut := range p.Cuts() {
			if cut.At.After(at) && cut.At.Before(at.Add(time.Second)) {
				took = append(took, cut.Resumed.Sub(at))
			}
		}
	}
	return took, nil
}

// Observation of a silence.
const (
	// observed is how long is looked at least, silent what counts as one, and hopeless
	// when waiting for its end is given up.
	observed = 5 * time.Second
	silent   = time.Second
	hopeless = time.Minute
)

// quiet waits until something happens steadily again after a time, and gives the
// longest silence meanwhile.
func quiet(ctx context.Context, at time.Time, happened func() ([]time.Time, error)) ([]time.Duration, error) {
	for {
		times, err := happened()
		if err != nil {
			return nil, err
		}
		now := time.Now()
		longest, last := silences(at, times)
		switch {
		case now.Sub(at) > observed && now.Sub(last) < silent:
			return []time.Duration{longest}, nil
		case now.Sub(at) > hopeless:
			return nil, fmt.Errorf("nothing has happened for %s", ms(now.Sub(last)))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// silences gives the longest pause after a time, and the last of the times.
func silences(at time.Time, times []time.Time) (longest time.Duration, last time.Time) {
	last = at
	for _, t := range times {
		if t.After(at) {
			longest = max(longest, t.Sub(last))
			last = t
		}
	}
	return longest, last
}

// killLeaderUnseen measures the longest silence of each client. Those whose gateway
// asks the replica that runs their plan need no NATS; others are behind for a while.
func killLeaderUnseen(ctx context.Context, b *bench) ([]time.Duration, error) {
	leader, _, err := b.f.StreamLeader(ctx, eventStream)
	if err != nil {
		return nil, err
	}
	at := time.Now()
	leader.End(syscall.SIGKILL)
	b.crowd.Wait()
	var took []time.Duration
	for _, p := range b.plans {
		longest, _ := silences(at, p.Arrivals())
		took = append(took, longest)
	}
	return took, b.again(ctx, leader)
}

func killLeader(ctx context.Context, b *bench) ([]time.Duration, error) {
	leader, _, err := b.f.StreamLeader(ctx, eventStream)
	if err != nil {
		return nil, err
	}
	// By its last sequence: a consumer of our own would be lost with the leader, and its
	// return be measured with the stream's.
	var (
		mu      sync.Mutex
		arrived []time.Time
	)
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for last := uint64(0); watching.Err() == nil; pause(watching, 20*time.Millisecond) {
			info, err := b.lastOf(watching)
			if err != nil || info <= last {
				continue
			}
			last = info
			mu.Lock()
			arrived = append(arrived, time.Now())
			mu.Unlock()
		}
	})
	defer watcher.Wait()
	defer stop()
	at := time.Now()
	leader.End(syscall.SIGKILL)
	took, err := quiet(ctx, at, func() ([]time.Time, error) {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(arrived), nil
	})
	return took, errors.Join(err, b.again(ctx, leader))
}

// lastOf is the last sequence of the event stream; an error while it has no leader.
func (b *bench) lastOf(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	stream, err := b.f.JetStream.Stream(ctx, eventStream)
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().State.LastSeq, nil
}

func crashPostgres(ctx context.Context, b *bench) ([]time.Duration, error) {
	at := time.Now()
	b.f.Postgres.Stop()
	if err := b.f.Postgres.Start(); err != nil {
		return nil, err
	}
	return quiet(ctx, at, func() (times []time.Time, err error) {
		entries, err := ledger.Read(b.book)
		for _, e := range entries {
			times = append(times, e.Began)
		}
		return times, err
	})
}
