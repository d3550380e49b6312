package taskstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"sabha.dev/chassis/outage"
	"sabha.dev/chassis/sqldb"
)

// register announces the replica and reads the restore epoch. On SQLite a start
// after an unclean stop bumps the epoch: a power loss may have cost the event
// log its last seconds, so readers must take a snapshot. While another replica
// lives there was none, and the epoch is that replica's too.
func (s *Store) register(ctx context.Context, exclusive bool) error {
	now := s.clock.Now()
	deadBefore := now.UnixNano()
	if exclusive {
		deadBefore = math.MaxInt64
	}
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("task store: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if s.db.Dialect == sqldb.SQLite {
		if _, err := tx.ExecContext(ctx, `UPDATE store_facts SET value = value + 1 WHERE name = 'epoch'
			AND EXISTS (SELECT 1 FROM replicas WHERE expires_at < $1)
			AND NOT EXISTS (SELECT 1 FROM replicas WHERE expires_at >= $1)`, deadBefore); err != nil {
			return fmt.Errorf("task store: %w", err)
		}
	}
	if exclusive {
		if _, err := tx.ExecContext(ctx, `DELETE FROM replicas`); err != nil {
			return fmt.Errorf("task store: %w", err)
		}
	}
	if err := tx.QueryRowContext(ctx, `SELECT value FROM store_facts WHERE name = 'epoch'`).Scan(&s.epoch); err != nil {
		return fmt.Errorf("task store: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO replicas (id, started_at, expires_at) VALUES ($1,$2,$3)`,
		s.replica, now.UnixNano(), now.Add(s.lease).UnixNano()); err != nil {
		return fmt.Errorf("task store: %w", err)
	}
	if err := s.repairPushes(ctx, tx, now); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.tenure.extend(now, s.lease)
	return nil
}

// Restored raises the restore epoch of a database that was restored from a backup
// and forgets the replicas of before, so that their tasks are free at once. Their
// outbox stays: the next replica relays it. No replica may run meanwhile.
func Restored(ctx context.Context, db *sqldb.DB) error {
	tx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range []string{`UPDATE store_facts SET value = value + 1 WHERE name = 'epoch'`, `DELETE FROM replicas`} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Renew extends the replica's lease. It returns ErrFenced when another replica
// has already taken its tasks over; the replica must then stop and register anew.
func (s *Store) Renew(ctx context.Context) error {
	now := s.clock.Now()
	err := s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		res, err := b.tx.ExecContext(ctx, `UPDATE replicas SET expires_at = $1 WHERE id = $2`, now.Add(s.lease).UnixNano(), s.replica)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return err
			}
			return refused{ErrFenced}
		}
		return nil
	})
	if err == nil {
		s.tenure.extend(now, s.lease)
	}
	return err
}

// leave gives the tasks free for the others, due at once, and removes the replica.
func (s *Store) leave(ctx context.Context) error {
	err := s.tryLeave(ctx)
	if outage.Of(err) { // a connection that broke while it was idle shows only now
		s.db.Renew()
		err = s.tryLeave(ctx)
	}
	if err != nil {
		return fmt.Errorf("the tasks of this replica are free only when its lease has run out: %w", err)
	}
	return nil
}

func (s *Store) tryLeave(ctx context.Context) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `UPDATE tasks SET run_owner = NULL, wake_at = $1, rev = rev + 1 WHERE run_owner = $2`,
		s.clock.Now().UnixNano(), s.replica); err != nil {
		return err
	}
	if err := s.releasePushes(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM replicas WHERE id = $1`, s.replica); err != nil {
		return err
	}
	return tx.Commit()
}

// Due lists tasks that this replica may claim: those of replicas whose lease has
// run out, and those that wait for nobody and are due. At most limit.
func (s *Store) Due(ctx context.Context, limit int) ([]string, error) {
	now := s.clock.Now().UnixNano()
	ids, err := s.ids(ctx, `SELECT id FROM tasks WHERE run_owner IS NULL AND wake_at IS NOT NULL AND wake_at <= $1 ORDER BY wake_at LIMIT $2`, now, limit)
	if err != nil || len(ids) >= limit {
		return ids, err
	}
	orphans, err := s.ids(ctx, `SELECT id FROM tasks WHERE run_owner IS NOT NULL AND run_owner NOT IN
		(SELECT id FROM replicas WHERE expires_at >= $1) LIMIT $2`, now, limit-len(ids))
	return append(ids, orphans...), err
}

func (s *Store) ids(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.db.Read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Claim makes this replica the owner of a task that is due or orphaned, and
// raises its epoch so that the former owner is fenced. It returns ErrFenced when
// another replica was faster.
func (s *Store) Claim(ctx context.Context, id string) (*Record, error) {
	return s.Update(ctx, id, func(r *Record) (Change, error) {
		if r.Ended() {
			return Change{}, ErrEnded
		}
		free, err := s.free(ctx, r)
		if err != nil {
			return Change{}, err
		}
		if !free {
			return Change{}, ErrFenced
		}
		if r.RunOwner != "" {
			r.Takeovers++
			s.metrics.Takeovers.Inc()
			s.outbox.lookForOrphans()
		}
		if interrupted(r.Task.GetStatus().GetState()) {
			// The clock stood while the client was awaited.
			r.Deadline = s.clock.Now().Add(r.Info.Left)
		}
		r.RunOwner, r.RunEpoch, r.WakeAt = s.replica, r.RunEpoch+1, time.Time{}
		return Change{}, nil
	})
}

// Owned tells of each task that this replica owns whether its cancel was requested.
func (s *Store) Owned(ctx context.Context) (map[string]bool, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT id, cancel_requested FROM tasks WHERE run_owner = $1`, s.replica)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	owned := map[string]bool{}
	for rows.Next() {
		var id string
		var canceling int
		if err := rows.Scan(&id, &canceling); err != nil {
			return nil, err
		}
		owned[id] = canceling != 0
	}
	return owned, rows.Err()
}

// Reclaim gives a new hold on a task that this replica owns already but does not
// run, because a write of its own had an unknown end. Former handles are fenced.
func (s *Store) Reclaim(ctx context.Context, id string) (*Record, error) {
	return s.Update(ctx, id, func(r *Record) (Change, error) {
		if r.Ended() {
			return Change{}, ErrEnded
		}
		if r.RunOwner != s.replica {
			return Change{}, ErrFenced
		}
		r.Takeovers++
		r.RunEpoch++
		return Change{}, nil
	})
}

// free tells whether nobody runs the task or its runner's lease has run out.
func (s *Store) free(ctx context.Context, r *Record) (bool, error) {
	if r.RunOwner == "" {
		return true, nil
	}
	var expires int64
	err := s.db.Read.QueryRowContext(ctx, `SELECT expires_at FROM replicas WHERE id = $1`, r.RunOwner).Scan(&expires)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return expires < s.clock.Now().UnixNano(), nil
}

// Bury removes replicas whose lease ran out and who own nothing any more, with
// nothing left in the outbox.
func (s *Store) Bury(ctx context.Context) error {
	var dead int
	err := s.db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM replicas WHERE expires_at < $1 AND id <> $2`, s.clock.Now().UnixNano(), s.replica).Scan(&dead)
	if err != nil || dead == 0 {
		return err
	}
	return s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		_, err := b.tx.ExecContext(ctx, `DELETE FROM replicas WHERE expires_at < $1 AND id <> $2
			AND NOT EXISTS (SELECT 1 FROM tasks WHERE run_owner = replicas.id)
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE replica = replicas.id)`, s.clock.Now().UnixNano(), s.replica)
		return err
	})
}

// Rejoin registers a replica whose lease was lost. What it owned before may have
// been taken over; its epoch tells.
func (s *Store) Rejoin(ctx context.Context) error {
	now := s.clock.Now()
	err := s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		_, err := b.tx.ExecContext(ctx, `INSERT INTO replicas (id, started_at, expires_at) VALUES ($1,$2,$3)
			ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`, s.replica, now.UnixNano(), now.Add(s.lease).UnixNano())
		return err
	})
	if err == nil {
		s.tenure.extend(now, s.lease)
	}
	return err
}
