package taskstore

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/eventlog"
	eventv1 "sabha.dev/gen/sabha/event/v1"
)

var _ eventlog.Outbox = (*Store)(nil)

// Ready receives after commits that left events in the outbox.
func (s *Store) Ready() <-chan struct{} { return s.relayed }

// Waiting reads the outbox, oldest first: what dead replicas left comes before
// this replica's own, so that a task that was taken over keeps its order.
func (s *Store) Waiting(ctx context.Context, limit int) ([]eventlog.Entry, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT replica, seq, body FROM outbox WHERE (replica = $1 AND seq > $4)
		OR (replica <> $1 AND replica NOT IN (SELECT id FROM replicas WHERE expires_at >= $2))
		ORDER BY CASE WHEN replica = $1 THEN 1 ELSE 0 END, replica, seq LIMIT $3`, s.replica, s.clock.Now().UnixNano(), limit, s.confirmed.Load())
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

// Relayed removes rows that the event log has confirmed. For this replica's own
// the removal joins a later commit; until then they are not read again.
func (s *Store) Relayed(ctx context.Context, done []eventlog.Position) error {
	upTo := map[string]int64{}
	for _, p := range done {
		upTo[p.Replica] = max(upTo[p.Replica], p.Seq)
	}
	if len(upTo) == 0 {
		return nil
	}
	if own, ok := upTo[s.replica]; ok {
		s.confirmed.Store(own)
		delete(upTo, s.replica)
		s.committer.lazy(&write{do: func(ctx context.Context, b *batch) error { return forget(ctx, b, s.replica, own) }})
	}
	if len(upTo) == 0 {
		return nil
	}
	return s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		for replica, seq := range upTo {
			if err := forget(ctx, b, replica, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

func forget(ctx context.Context, b *batch, replica string, seq int64) error {
	_, err := b.tx.ExecContext(ctx, `DELETE FROM outbox WHERE replica = $1 AND seq <= $2`, replica, seq)
	return err
}
