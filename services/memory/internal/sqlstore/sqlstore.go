// Package sqlstore keeps memories in SQLite or PostgreSQL.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/memory/internal/memory"
)

// Store implements memory.Store.
type Store struct {
	db *sqldb.DB
	// unscrubbed says that deleted text may still be in the write-ahead log.
	unscrubbed atomic.Bool
}

var _ memory.Store = (*Store)(nil)

// New makes a store over a migrated database. A SQLite database must be open with
// secure_delete=on: without it forgotten text would stay in the file.
func New(ctx context.Context, db *sqldb.DB) (*Store, error) {
	if db.Dialect == sqldb.SQLite {
		var secure int
		if err := db.Write.QueryRowContext(ctx, `PRAGMA secure_delete`).Scan(&secure); err != nil {
			return nil, err
		}
		if secure != 1 {
			return nil, errors.New("memories need a database that overwrites what is deleted; open it with secure_delete=on")
		}
	}
	return &Store{db: db}, nil
}

// receive claims a message for this transaction. Where it was received before it
// gives the answer of then.
func receive(ctx context.Context, tx *sql.Tx, r memory.Receipt, answer string, now time.Time) (before string, err error) {
	res, err := tx.ExecContext(ctx,
		`INSERT INTO memory_receipts (owner, message_id, digest, answer, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, message_id) DO NOTHING`,
		r.Owner, r.MessageID, r.Digest, answer, micros(now))
	if err != nil {
		return "", err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return "", err
	}
	var digest string
	err = tx.QueryRowContext(ctx, `SELECT digest, answer FROM memory_receipts WHERE owner = $1 AND message_id = $2`, r.Owner, r.MessageID).Scan(&digest, &before)
	if err == nil && digest != "" && digest != r.Digest {
		return "", memory.ErrConflict
	}
	return before, err
}

// Remove forgets once for a receipt.
func (s *Store) Remove(ctx context.Context, r memory.Receipt, sel memory.Selector, now time.Time) (int, error) {
	where, args := `owner = $1`, []any{r.Owner}
	switch {
	case sel.ID != "":
		where, args = where+` AND (id = $2 OR superseded_by = $2)`, append(args, sel.ID)
	case sel.Context != "":
		where, args = where+` AND context = $2`, append(args, sel.Context)
	case !sel.All:
		return 0, errors.New("nothing is selected to be forgotten")
	}
	removed := 0
	err := s.write(ctx, func(tx *sql.Tx) error {
		before, err := receive(ctx, tx, r, "0", now)
		if err != nil {
			return err
		}
		if before != "" {
			removed, err = strconv.Atoi(before)
			return err
		}
		if removed, err = erase(ctx, tx, where, args...); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE memory_receipts SET answer = $3 WHERE owner = $1 AND message_id = $2`, r.Owner, r.MessageID, strconv.Itoa(removed))
		return err
	})
	if err != nil {
		return 0, err
	}
	s.unscrubbed.Store(true)
	return removed, s.scrub(ctx)
}

// erase deletes memories, and the digests of the messages that told them: a short
// text can be guessed from its digest.
func erase(ctx context.Context, tx *sql.Tx, where string, args ...any) (int, error) {
	_, err := tx.ExecContext(ctx, `UPDATE memory_receipts SET digest = '' WHERE (owner, answer) IN (SELECT owner, id FROM memories WHERE `+where+`)`, args...)
	if err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, `DELETE FROM memories WHERE `+where, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// Purge removes what has expired.
func (s *Store) Purge(ctx context.Context, now, old time.Time) error {
	expired := 0
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		if expired, err = erase(ctx, tx, `expires_at > 0 AND expires_at <= $1`, micros(now)); err != nil {
			return err
		}
		if expired > 0 { // what an expired fact had taken the place of holds again
			_, err := tx.ExecContext(ctx, `UPDATE memories SET superseded_by = '' WHERE superseded_by <> '' AND superseded_by NOT IN (SELECT id FROM memories)`)
			if err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM memory_receipts WHERE created_at < $1`, micros(old))
		return err
	})
	if err != nil {
		return err
	}
	if expired > 0 {
		s.unscrubbed.Store(true)
	}
	return s.scrub(ctx)
}

// scrub takes deleted text out of SQLite's write-ahead log. The database file
// itself has been overwritten (secure_delete). A reader in the way only delays
// it until the next purge. PostgreSQL frees old rows by vacuum.
func (s *Store) scrub(ctx context.Context) error {
	if s.db.Dialect != sqldb.SQLite || !s.unscrubbed.Swap(false) {
		return nil
	}
	var busy, frames, moved int
	err := s.db.Write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved)
	if err != nil || busy != 0 {
		s.unscrubbed.Store(true)
	}
	return err
}

func (s *Store) write(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
