package contract

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
)

// Store keeps runs, baselines and verdicts in SQLite or PostgreSQL.
type Store struct {
	// Tell, when set, is told of which partner something has changed, after it has.
	Tell func(partner string)

	db *sqldb.DB
}

// NewStore makes a store over a migrated database.
func NewStore(db *sqldb.DB) *Store { return &Store{db: db} }

// errFenced says that another replica has taken a run over.
var errFenced = errors.New("another replica has taken the run over")

// Ensure has a partner on the schedule; one that is there keeps its time.
func (s *Store) Ensure(ctx context.Context, partner string, first time.Time) error {
	_, err := s.db.Write.ExecContext(ctx, `INSERT INTO contract_suites (partner, runs, waiting, next_at, epoch, claim_until)
		VALUES ($1,0,0,$2,0,0) ON CONFLICT (partner) DO NOTHING`, partner, first.UnixMicro())
	return err
}

// Request asks for n runs by hand, and gives the number of the last one.
func (s *Store) Request(ctx context.Context, partner string, n int, by, reason string, now time.Time) (last int64, err error) {
	err = s.change(ctx, partner, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `UPDATE contract_suites SET runs = runs + $1, waiting = waiting + $1 WHERE partner = $2 RETURNING runs`, n, partner).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			return fault.New(fault.PartnerNotFound, "there are no golden tasks for the partner %q yet; a replica takes up a new file within a few seconds", partner)
		}
		for number := last - int64(n) + 1; err == nil && number <= last; number++ {
			err = insertRun(ctx, tx, &Run{Partner: partner, Number: number, State: Waiting, By: by, Reason: reason, CreatedAt: now})
		}
		return err
	})
	return last, err
}

func insertRun(ctx context.Context, tx *sql.Tx, r *Run) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO contract_runs (partner, number, baseline, state, asked_by, reason, created_at, started_at, ended_at, attempts,
		calls, good, failed, look, samples) VALUES ($1,$2,0,$3,$4,$5,$6,$7,0,$8,0,0,0,1,'[]')`,
		r.Partner, r.Number, string(r.State), r.By, r.Reason, micros(r.CreatedAt), micros(r.StartedAt), r.Attempts)
	return err
}

// Due lists partners that have something to run and that nobody runs.
func (s *Store) Due(ctx context.Context, now time.Time) ([]string, error) {
	return list(ctx, s.db.Read, func(rows *sql.Rows) (p string, err error) { return p, rows.Scan(&p) },
		`SELECT partner FROM contract_suites WHERE claim_until <= $1 AND (next_at <= $1 OR waiting > 0) ORDER BY next_at, partner`, now.UnixMicro())
}

// Claim takes the next run of a partner until a time, or gives nil when there is none any
// more. scheduled says whether a run may be made that nobody asked for; next is when the
// schedule has the one after it.
func (s *Store) Claim(ctx context.Context, partner string, now, until, next time.Time, scheduled bool) (*Claim, error) {
	var claim *Claim
	err := s.change(ctx, partner, func(tx *sql.Tx) error {
		claim = nil
		c := &Claim{Run: Run{Partner: partner}}
		var due int64
		err := tx.QueryRowContext(ctx, `UPDATE contract_suites SET epoch = epoch + 1, claim_until = $1
			WHERE partner = $2 AND claim_until <= $3 AND (next_at <= $3 OR waiting > 0) RETURNING epoch, next_at`,
			until.UnixMicro(), partner, now.UnixMicro()).Scan(&c.epoch, &due)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		c.Run, err = scanRun(tx.QueryRowContext(ctx, `SELECT `+runColumns+` FROM contract_runs
			WHERE partner = $1 AND baseline = 0 AND state IN ('waiting', 'running') ORDER BY number LIMIT 1`, partner))
		switch {
		case err == nil:
			c.State, c.StartedAt, c.Attempts = Running, now, c.Attempts+1
			_, err = tx.ExecContext(ctx, `UPDATE contract_runs SET state = $1, started_at = $2, attempts = $3 WHERE partner = $4 AND number = $5`,
				string(c.State), micros(now), c.Attempts, partner, c.Number)
		case errors.Is(err, sql.ErrNoRows) && scheduled:
			c.Run = Run{Partner: partner, State: Running, CreatedAt: now, StartedAt: now, Attempts: 1, Look: 1}
			err = tx.QueryRowContext(ctx, `UPDATE contract_suites SET runs = runs + 1, waiting = waiting + 1 WHERE partner = $1 RETURNING runs`, partner).Scan(&c.Number)
			if err == nil {
				err = insertRun(ctx, tx, &c.Run)
			}
		case errors.Is(err, sql.ErrNoRows):
			_, err = tx.ExecContext(ctx, `UPDATE contract_suites SET claim_until = 0, waiting = 0, next_at = $1 WHERE partner = $2`, next.UnixMicro(), partner)
			return err
		}
		if err == nil && due <= now.UnixMicro() {
			_, err = tx.ExecContext(ctx, `UPDATE contract_suites SET next_at = $1 WHERE partner = $2`, next.UnixMicro(), partner)
		}
		claim = c
		return err
	})
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// Release gives a claim back whose run is not done: it is taken up again.
func (s *Store) Release(ctx context.Context, c *Claim) error {
	_, err := s.db.Write.ExecContext(ctx, `UPDATE contract_suites SET claim_until = 0 WHERE partner = $1 AND epoch = $2`, c.Partner, c.epoch)
	return err
}

// end writes a run that is done and frees its partner; errFenced when the claim is lost.
func end(ctx context.Context, tx *sql.Tx, c *Claim) error {
	samples, err := json.Marshal(c.Samples)
	if err != nil {
		return err
	}
	freed, err := tx.ExecContext(ctx, `UPDATE contract_suites SET claim_until = 0, waiting = waiting - 1 WHERE partner = $1 AND epoch = $2`, c.Partner, c.epoch)
	if err != nil {
		return err
	}
	if n, err := freed.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errFenced)
	}
	_, err = tx.ExecContext(ctx, `UPDATE contract_runs SET state = $1, baseline = $2, ended_at = $3, calls = $4, good = $5, failed = $6, look = $7, samples = $8
		WHERE partner = $9 AND number = $10`,
		string(c.State), c.Baseline, micros(c.EndedAt), c.Calls, c.Good, c.Failed, c.Look, string(samples), c.Partner, c.Number)
	return err
}

// change changes what is kept of a partner in a transaction.
func (s *Store) change(ctx context.Context, partner string, do func(*sql.Tx) error) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if s.Tell != nil {
		s.Tell(partner)
	}
	return nil
}

const runColumns = `partner, number, baseline, state, asked_by, reason, created_at, started_at, ended_at, attempts, calls, good, failed, look, samples`

type scanner interface{ Scan(...any) error }

func scanRun(row scanner) (r Run, err error) {
	var created, started, ended int64
	var samples string
	err = row.Scan(&r.Partner, &r.Number, &r.Baseline, &r.State, &r.By, &r.Reason, &created, &started, &ended, &r.Attempts, &r.Calls, &r.Good, &r.Failed, &r.Look, &samples)
	if err != nil {
		return r, err
	}
	r.CreatedAt, r.StartedAt, r.EndedAt = moment(created), moment(started), moment(ended)
	if err := json.Unmarshal([]byte(samples), &r.Samples); err != nil {
		return r, fmt.Errorf("run %d of %s: %w", r.Number, r.Partner, err)
	}
	return r, nil
}

type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func list[T any](ctx context.Context, q queryer, read func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
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
