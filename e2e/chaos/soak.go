package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"sabha.dev/e2e/chaos/fleet"
)

// Load and sampling of a soak.
const (
	soakEvery   = 250 * time.Millisecond // between two plans
	sampleEvery = 10 * time.Second
	// soakStream bounds the stream of events, so that a soak of minutes comes to what
	// a deployment comes to in a day: as much leaves the stream as enters it.
	soakStream = 8 << 20
)

// series are the samples of one measure of one process.
type series struct {
	of, what, unit string
	// slack is the growth over the second half, in units and as a share of the mean,
	// below which a series has levelled off; negative for one that is only shown.
	slack, share float64
	at           []float64 // seconds
	value        []float64
}

// soak runs a steady load and tells whether what the processes use levels off.
func soak(ctx context.Context, o options) (good bool, err error) {
	f, book, end, err := deploy(ctx, o)
	if err != nil {
		return false, err
	}
	defer end()
	if err := boundStream(ctx, f); err != nil {
		return false, err
	}
	life, giveUp := context.WithCancel(ctx)
	defer giveUp()
	crowd, receiver, err := clients(life, f, o.seed)
	if err != nil {
		return false, err
	}
	defer receiver.Close()
	m := &meter{f: f, begun: time.Now(), all: map[string]*series{}}
	plan, sample := time.NewTicker(soakEvery), time.NewTicker(sampleEvery)
	defer plan.Stop()
	defer sample.Stop()
	for done := time.After(o.soak); ; {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-plan.C:
			crowd.Send()
			continue
		case <-sample.C:
			if err := m.sample(ctx); err != nil {
				return false, err
			}
			continue
		case <-done:
		}
		break
	}
	level := m.print(o.out)
	fell(o, f)
	account, err := reckon(ctx, crowd, receiver, book, giveUp)
	if err != nil {
		return false, err
	}
	account.Print(o.out)
	return level && account.Good(), nil
}

// boundStream makes the stream of events small enough to fill up.
func boundStream(ctx context.Context, f *fleet.Fleet) error {
	s, err := f.JetStream.Stream(ctx, eventStream)
	if err != nil {
		return err
	}
	c := s.CachedInfo().Config
	c.MaxBytes = soakStream
	_, err = f.JetStream.UpdateStream(ctx, c)
	return err
}

// meter samples the deployment.
type meter struct {
	f     *fleet.Fleet
	begun time.Time
	all   map[string]*series
	order []*series
}

func (m *meter) put(of, what, unit string, slack, share, value float64) {
	s := m.all[of+" "+what]
	if s == nil {
		s = &series{of: of, what: what, unit: unit, slack: slack, share: share}
		m.all[of+" "+what] = s
		m.order = append(m.order, s)
	}
	s.at, s.value = append(s.at, time.Since(m.begun).Seconds()), append(s.value, value)
}

func (m *meter) sample(ctx context.Context) error {
	for _, p := range m.f.Processes() {
		s, err := p.Sample(ctx)
		if err != nil {
			return err
		}
		m.put(p.Name, "memory", "MiB", 8, 0.1, s.RSS/(1<<20))
		m.put(p.Name, "goroutines", "", 30, 0.1, s.Goroutines)
		m.put(p.Name, "descriptors", "", 10, 0.1, s.FileDescriptors)
	}
	for _, p := range m.f.NATS {
		rss, fds, err := p.FromProc()
		if err != nil {
			return err
		}
		m.put(p.Name, "memory", "MiB", 16, 0.15, rss/(1<<20))
		m.put(p.Name, "descriptors", "", 20, 0.1, fds)
	}
	names := m.f.JetStream.StreamNames(ctx)
	for name := range names.Name() {
		s, err := m.f.JetStream.Stream(ctx, name)
		if err != nil {
			return err
		}
		state := s.CachedInfo().State
		m.put(name, "stream", "MiB", 1, 0.05, float64(state.Bytes)/(1<<20))
		m.put(name, "messages", "", 1000, 0.05, float64(state.Msgs))
		m.put(name, "consumers", "", 2, 0, float64(state.Consumers))
	}
	if err := names.Err(); err != nil {
		return err
	}
	return m.sampleDatabase(ctx)
}

// sampleDatabase notes the size of the database: it keeps every task, so it grows.
func (m *meter) sampleDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, m.f.Database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var size, connections float64
	err = conn.QueryRow(ctx, "SELECT pg_database_size(current_database())::float8, (SELECT count(*)::float8 FROM pg_stat_activity WHERE datname = current_database())").Scan(&size, &connections)
	m.put("PostgreSQL", "size", "MiB", -1, 0, size/(1<<20))
	m.put("PostgreSQL", "connections", "", 20, 0.1, connections)
	return err
}
