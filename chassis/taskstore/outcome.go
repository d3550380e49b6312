package taskstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"sabha.dev/chassis/outage"
	"sabha.dev/chassis/sqldb"
)

// Pauses between tries while the database is away. They are the machine's time, as
// flushAfter is.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// unknownOutcome is the error of a commit that may have happened all the same: the
// connection broke off on the way, and the database could not be asked since. Who
// waits for its writes is told; their tasks are taken up again from what is stored.
type unknownOutcome struct{ error }

func (u *unknownOutcome) Unwrap() error { return u.error }

func unknown(err error) bool {
	var u *unknownOutcome
	return errors.As(err, &u)
}

// Interrupted tells whether an error is one of the database being away: what was to
// be done has not failed, and is done when the task is taken up again.
func Interrupted(err error) bool { return unknown(err) || outage.Of(err) }

// errNotStored says that a commit whose end was not known has not happened.
var errNotStored = errors.New("the transaction was not stored")

// persist stores writes in one transaction. While the database is away it tries
// again, for as long as the lease of this replica lasts: then others run its tasks.
func (c *committer) persist(ctx context.Context, ws []*write) (*batch, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		b, err := c.try(ctx, ws)
		if err != nil {
			var lost *unknownOutcome
			if errors.As(err, &lost) {
				err = c.settle(ctx, ws, lost)
			}
		}
		switch {
		case err == nil:
			c.away = time.Time{}
			return b, nil
		case unknown(err), !outage.Of(err), !c.pause(pause):
			return nil, err
		}
	}
}

// settle asks until it knows whether a transaction was stored: then the error is
// nil, or errNotStored, or unknownOutcome when it cannot be known.
func (c *committer) settle(ctx context.Context, ws []*write, lost *unknownOutcome) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		stored, err := c.stored(ctx, ws)
		switch {
		case err == nil && stored:
			return nil
		case err == nil:
			return fmt.Errorf("%w: %w", errNotStored, lost.error)
		case !outage.Of(err) || !c.pause(pause):
			return lost
		}
	}
}

// pause waits before the next try. It tells whether there is to be one.
func (c *committer) pause(d time.Duration) bool {
	now := time.Now()
	if c.away.IsZero() {
		c.away = now
	}
	if now.Sub(c.away) > c.store.lease {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-c.stopping:
		return false
	}
}

// fence makes sure that the end of a transaction without a row of the outbox can be
// waited for by stored. With one, its key does it.
func (s *Store) fence(ctx context.Context, tx *sql.Tx, ws []*write) error {
	if s.db.Dialect != sqldb.Postgres {
		return nil
	}
	for _, w := range ws {
		if w.evidence != nil {
			return s.lockCommits(ctx, tx)
		}
	}
	return nil
}

// lockCommits takes a lock of this replica that ends with the transaction.
func (s *Store) lockCommits(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, s.replica)
	return err
}

// stored tells whether the newest transaction was stored although its commit gave
// an error. On PostgreSQL it may still be running: the same key, or the lock, waits
// for its end.
func (c *committer) stored(ctx context.Context, ws []*write) (bool, error) {
	s := c.store
	if s.db.Dialect == sqldb.Postgres {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
	}
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // it only asks
	if c.marked {
		n, err := affected(tx.ExecContext(ctx, `INSERT INTO outbox (replica, seq, body) VALUES ($1,$2,$3) ON CONFLICT (replica, seq) DO NOTHING`,
			s.replica, c.seq, []byte{}))
		if err != nil || n == 0 {
			return err == nil, err
		}
	} else if s.db.Dialect == sqldb.Postgres {
		if err := s.lockCommits(ctx, tx); err != nil {
			return false, err
		}
	}
	// One write of the transaction speaks for all of them.
	for _, w := range ws {
		switch {
		case w.err != nil: // refused: it wrote nothing
		case w.evidence != nil:
			return w.evidence(ctx, tx)
		case w.of != nil && w.of.first != nil:
			return taskThere(ctx, tx, w.of.rec.Task.GetId())
		}
	}
	if !c.marked {
		return false, nil // what is left may be repeated
	}
	// The row of the outbox is missing. As long as the lease lasts nobody else can
	// have relayed and removed it.
	var expires int64
	err = tx.QueryRowContext(ctx, `SELECT expires_at FROM replicas WHERE id = $1`, s.replica).Scan(&expires)
	if err == nil && expires < s.clock.Now().UnixNano() {
		err = sql.ErrNoRows
	}
	return false, err
}

func taskThere(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM tasks WHERE id = $1`, id).Scan(&n)
	return n > 0, err
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
