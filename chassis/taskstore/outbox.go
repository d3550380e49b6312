package taskstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/eventlog"
	eventv1 "sabha.dev/gen/sabha/event/v1"
)

// Bounds of the outbox in memory.
const (
	// maxFresh commits are kept for the relay; beyond, it reads the database.
	maxFresh = 1024
	// orphansEvery is how often rows of dead replicas are looked for.
	orphansEvery = 2 * time.Second
)

// outbox is the relay's view of the table: this replica's own commits in memory
// as long as the relay keeps up, and what dead replicas left.
type outbox struct {
	mu sync.Mutex
	// fresh are own commits that are not confirmed, in order.
	fresh []eventlog.Entry
	// behind says that fresh does not hold them all.
	behind bool
	// last and confirmed are the newest own commit, and the newest that the log has.
	last, confirmed int64
	// oldest is when the oldest commit that is not confirmed was made. While the relay
	// reads the database it is that of when the relay fell behind.
	oldest time.Time
	// orphans is when to look for rows of dead replicas again.
	orphans time.Time
	ready   chan struct{}
	waiting prometheus.Gauge
}

// committed is told of every own commit with events.
func (o *outbox) committed(e eventlog.Entry) {
	o.mu.Lock()
	if o.last == o.confirmed {
		o.oldest = e.At
	}
	o.last = e.Seq
	o.waiting.Set(float64(o.last - o.confirmed))
	switch {
	case o.behind:
	case len(o.fresh) >= maxFresh:
		o.fresh, o.behind = nil, true
	default:
		o.fresh = append(o.fresh, e)
	}
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

var _ eventlog.Outbox = (*Store)(nil)

// Ready receives after commits that left events in the outbox.
func (s *Store) Ready() <-chan struct{} { return s.outbox.ready }

// Waiting gives what the log has not confirmed, oldest first. What dead replicas
// left comes before this replica's own, so that a task that was taken over keeps
// its order.
func (s *Store) Waiting(ctx context.Context, limit int) ([]eventlog.Entry, error) {
	o := &s.outbox
	now := s.clock.Now()
	o.mu.Lock()
	look := !now.Before(o.orphans)
	if look {
		o.orphans = now.Add(orphansEvery)
	}
	o.mu.Unlock()
	if look {
		left, err := s.readOutbox(ctx, `replica <> $1 AND replica NOT IN (SELECT id FROM replicas WHERE expires_at >= $2)`, s.replica, now.UnixNano(), limit)
		if err != nil || len(left) > 0 {
			o.mu.Lock()
			o.orphans = now // there may be more
			o.mu.Unlock()
			return left, err
		}
	}
	for {
		o.mu.Lock()
		if o.behind && o.last <= o.confirmed {
			o.behind = false
		}
		if !o.behind {
			entries := slices.Clone(o.fresh[:min(limit, len(o.fresh))])
			o.mu.Unlock()
			return entries, nil
		}
		confirmed, last := o.confirmed, o.last
		o.mu.Unlock()
		entries, err := s.readOutbox(ctx, `replica = $1 AND seq > $2`, s.replica, confirmed, limit)
		if err != nil || len(entries) > 0 {
			return entries, err
		}
		// Another replica took this one for dead and has relayed them.
		s.outbox.relayed(last)
	}
}

func (s *Store) readOutbox(ctx context.Context, which string, replica string, bound int64, limit int) ([]eventlog.Entry, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT replica, seq, body FROM outbox WHERE `+which+` ORDER BY replica, seq LIMIT $3`, replica, bound, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var entries []eventlog.Entry
	for rows.Next() {
		var e eventlog.Entry
		var body []byte
		if err := rows.Scan(&e.Replica, &e.Seq, &body); err != nil {
			return nil, err
		}
		e.Commit = &eventv1.Commit{}
		if err := proto.Unmarshal(body, e.Commit); err != nil {
			return nil, fmt.Errorf("outbox row %s/%d: %w", e.Replica, e.Seq, err)
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Backlog reads what all replicas, living and dead, have committed and the log has
// not confirmed, oldest first: at most limit commits.
func (s *Store) Backlog(ctx context.Context, limit int) ([]eventlog.Entry, error) {
	return s.readOutbox(ctx, `replica <> $1 AND seq > $2`, "", 0, limit) // no replica is called ""
}

// Relayed removes rows that the event log has confirmed. For this replica's own
// the removal joins a later commit; until then they are not given again.
func (s *Store) Relayed(ctx context.Context, done []eventlog.Position) error {
	upTo := map[string]int64{}
	for _, p := range done {
		upTo[p.Replica] = max(upTo[p.Replica], p.Seq)
	}
	if own, ok := upTo[s.replica]; ok {
		s.outbox.relayed(own)
		delete(upTo, s.replica)
		s.committer.lazy(&write{do: func(ctx context.Context, b *batch) error { return s.forget(ctx, b, s.replica, own) }})
	}
	if len(upTo) == 0 {
		return nil
	}
	return s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		for replica, seq := range upTo {
			if err := s.forget(ctx, b, replica, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// uncertain is told of a commit whose end is not known: the table says.
func (o *outbox) uncertain(seq int64) {
	o.mu.Lock()
	o.last, o.fresh, o.behind = seq, nil, true
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// lookForOrphans makes the relay look for rows of dead replicas before it goes on
// with its own: a task of theirs has just been taken over.
func (o *outbox) lookForOrphans() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphans = time.Time{}
}

func (o *outbox) relayed(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.confirmed = max(o.confirmed, seq)
	o.waiting.Set(float64(o.last - o.confirmed))
	n := 0
	for n < len(o.fresh) && o.fresh[n].Seq <= seq {
		n++
	}
	o.fresh = o.fresh[n:]
	if len(o.fresh) > 0 {
		o.oldest = o.fresh[0].At
	}
}

// age of the oldest commit that waits for the log, seconds; 0 when none does.
func (o *outbox) age(now time.Time) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last <= o.confirmed || o.oldest.IsZero() {
		return 0
	}
	return max(now.Sub(o.oldest).Seconds(), 0)
}

func (s *Store) forget(ctx context.Context, b *batch, replica string, seq int64) error {
	_, err := b.tx.StmtContext(ctx, s.stmts.forget).ExecContext(ctx, replica, seq)
	return err
}
