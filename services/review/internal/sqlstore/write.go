package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/review/internal/item"
)

// Insert writes a new item in the transaction of its task. An item that is there
// already, because the task was taken up again, stays as it is.
func (s *Store) Insert(i *item.Item, snapshot []byte, e item.Event) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error { return s.insert(ctx, tx, i, snapshot, e) }
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, i *item.Item, snapshot []byte, e item.Event) error {
	groups, err := json.Marshal(append([]string{}, i.Groups...))
	if err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO review_items (`+columns+`, words)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33,$34,$35,$36)
		ON CONFLICT (id) DO NOTHING`,
		i.ID, i.Version, i.Digest, int32(i.Kind), int32(i.State), i.Title, i.Queue, string(groups), i.Product, i.Risk, i.Priority, i.Requester,
		i.RootTaskID, i.Playbook, i.Step, i.TraceID, i.Confidence, i.BatchKey, micros(i.CreatedAt), micros(i.DueAt), micros(i.ExpiresAt), micros(i.Next),
		i.Escalations, i.Approvals, flag(i.RequesterMayDecide), i.ClaimFor.Microseconds(), i.Holder, micros(i.HeldUntil), i.Messages, i.Exchanges,
		micros(i.AskedAt), i.Paused.Microseconds(), string(i.Rest), sql.NullInt64{}, i.OutcomeReason, i.Words())
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO review_snapshots (item_id, body) VALUES ($1,$2)`, i.ID, string(snapshot)); err != nil {
		return err
	}
	return s.events(ctx, tx, i, []item.Event{e})
}

// Rows changes an item in the transaction of its task. The item is locked from when it
// is read until the transaction ends, so of all who change it at once each sees what
// the one before has left. An error of f has written nothing. done, if any, is told
// the item as it is then.
func (s *Store) Rows(id string, f item.Make, done func(*item.Item, *item.Change)) func(context.Context, *sql.Tx) error {
	lock := ""
	if s.db.Dialect == sqldb.Postgres {
		lock = " FOR UPDATE"
	}
	return func(ctx context.Context, tx *sql.Tx) error {
		i, err := load(ctx, tx, id, lock)
		if err != nil {
			return err
		}
		c, err := f(i)
		if err != nil {
			return err
		}
		if c != nil {
			if err := s.write(ctx, tx, c); err != nil {
				return err
			}
			i = c.After
		}
		if done != nil {
			done(i, c)
		}
		return nil
	}
}

// Update is Rows in a transaction of its own.
func (s *Store) Update(ctx context.Context, id string, f item.Make, done func(*item.Item, *item.Change)) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := s.Rows(id, f, done)(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// errStale cannot happen while the item is locked: it says that the lock failed.
var errStale = errors.New("an item changed while it was locked")

func (s *Store) write(ctx context.Context, tx *sql.Tx, c *item.Change) error {
	i := c.After
	groups, err := json.Marshal(append([]string{}, i.Groups...))
	if err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `UPDATE review_items SET version = $1, digest = $2, state = $3, groups_json = $4, priority = $5, due_at = $6,
		next_at = $7, escalations = $8, holder = $9, held_until = $10, messages = $11, exchanges = $12, asked_at = $13, paused = $14,
		ended_at = $15, outcome_reason = $16 WHERE id = $17 AND version = $18`,
		i.Version, i.Digest, int32(i.State), string(groups), i.Priority, micros(i.DueAt), micros(i.Next), i.Escalations, i.Holder, micros(i.HeldUntil),
		i.Messages, i.Exchanges, micros(i.AskedAt), i.Paused.Microseconds(), sql.NullInt64{Int64: micros(i.EndedAt), Valid: i.Ended()}, i.OutcomeReason,
		i.ID, c.Before)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		if err == nil {
			err = errStale
		}
		return err
	}
	if d := c.Decision; d != nil {
		if _, err := tx.ExecContext(ctx, `INSERT INTO review_decisions (item_id, version, person, approved, reason, digest, stands, edited, at)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9)`,
			i.ID, i.Version, d.Person, flag(d.Approved), d.Reason, d.Digest, d.Stands, string(d.Edited), micros(d.At)); err != nil {
			return err
		}
	}
	if e := c.Exchange; e != nil {
		if _, err := tx.ExecContext(ctx, `INSERT INTO review_exchanges (item_id, number, asked_by, question, asked_at, answer, answered_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7) ON CONFLICT (item_id, number) DO UPDATE SET answer = excluded.answer, answered_at = excluded.answered_at`,
			i.ID, e.Number, e.AskedBy, e.Question, micros(e.AskedAt), e.Answer, micros(e.AnsweredAt)); err != nil {
			return err
		}
	}
	return s.events(ctx, tx, i, c.Events)
}

func (s *Store) events(ctx context.Context, tx *sql.Tx, i *item.Item, events []item.Event) error {
	for n, e := range events {
		if _, err := tx.ExecContext(ctx, `INSERT INTO review_events (item_id, version, number, at, actor, what, note) VALUES ($1,$2,$3,$4,$5,$6,$7)`,
			i.ID, i.Version, n, micros(e.At), e.By, e.What, e.Note); err != nil {
			return err
		}
	}
	if s.Told == nil {
		return nil
	}
	return s.Told(ctx, tx, i, events)
}
