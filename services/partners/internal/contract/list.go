package contract

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// Runs lists runs of a partner before a number, the newest first; 0 for the newest of all.
func (s *Store) Runs(ctx context.Context, partner string, before int64, limit int) ([]Run, error) {
	if before <= 0 {
		before = 1 << 62
	}
	return list(ctx, s.db.Read, func(rows *sql.Rows) (Run, error) { return scanRun(rows) },
		`SELECT `+runColumns+` FROM contract_runs WHERE partner = $1 AND number < $2 ORDER BY number DESC LIMIT $3`, partner, before, limit)
}

// compared reads the runs of a baseline and the latest ones after it, both in the order
// of time.
func compared(ctx context.Context, q queryer, b *Baseline, latest int) (baseline, now []Run, err error) {
	read := func(rows *sql.Rows) (Run, error) { return scanRun(rows) }
	baseline, err = list(ctx, q, read, `SELECT `+runColumns+` FROM contract_runs
		WHERE partner = $1 AND baseline = $2 AND state = 'done' ORDER BY number LIMIT $3`, b.Partner, b.Number, b.Size)
	if err != nil || len(baseline) < b.Size {
		return baseline, nil, err
	}
	now, err = list(ctx, q, read, `SELECT `+runColumns+` FROM contract_runs
		WHERE partner = $1 AND baseline = $2 AND state = 'done' AND number > $3 ORDER BY number DESC LIMIT $4`,
		b.Partner, b.Number, baseline[len(baseline)-1].Number, latest)
	slices.Reverse(now)
	return baseline, now, err
}

const baselineColumns = `partner, number, digest, size, begun_at, complete_at, begun_by, reason`

func scanBaseline(row scanner) (b Baseline, err error) {
	var begun, complete int64
	err = row.Scan(&b.Partner, &b.Number, &b.Digest, &b.Size, &begun, &complete, &b.By, &b.Reason)
	b.BegunAt, b.CompleteAt = moment(begun), moment(complete)
	return b, err
}

// current is the baseline in force, or nil.
func current(ctx context.Context, q queryer, partner string) (*Baseline, error) {
	b, err := scanBaseline(q.QueryRowContext(ctx, `SELECT `+baselineColumns+` FROM contract_baselines WHERE partner = $1 ORDER BY number DESC LIMIT 1`, partner))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &b, err
}

// Baselines lists those of a partner, the newest first.
func (s *Store) Baselines(ctx context.Context, partner string) ([]Baseline, error) {
	return list(ctx, s.db.Read, func(rows *sql.Rows) (Baseline, error) { return scanBaseline(rows) },
		`SELECT `+baselineColumns+` FROM contract_baselines WHERE partner = $1 ORDER BY number DESC LIMIT 50`, partner)
}

// begin begins a baseline, the number after the one before.
func begin(ctx context.Context, tx *sql.Tx, b *Baseline) error {
	return tx.QueryRowContext(ctx, `INSERT INTO contract_baselines (`+baselineColumns+`)
		SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, 0, $5, $6 FROM contract_baselines WHERE partner = $1 RETURNING number`,
		b.Partner, b.Digest, b.Size, micros(b.BegunAt), b.By, b.Reason).Scan(&b.Number)
}

const verdictColumns = `partner, number, kind, organisation, action, found_at, quiet, closed_at, closed_by, figures`

func scanVerdict(row scanner) (v Verdict, err error) {
	var found, closed int64
	var figures string
	err = row.Scan(&v.Partner, &v.Number, &v.Kind, &v.Organisation, &v.Action, &found, &v.Quiet, &closed, &v.ClosedBy, &figures)
	v.FoundAt, v.ClosedAt, v.Figures = moment(found), moment(closed), []byte(figures)
	return v, err
}

// Verdicts lists those of a partner, the newest first.
func (s *Store) Verdicts(ctx context.Context, partner string, limit int) ([]Verdict, error) {
	return verdicts(ctx, s.db.Read, `partner = $1 ORDER BY found_at DESC, kind LIMIT $2`, partner, limit)
}

// open lists the verdicts of a partner that stand.
func open(ctx context.Context, q queryer, partner string) ([]Verdict, error) {
	return verdicts(ctx, q, `partner = $1 AND closed_at = 0 ORDER BY found_at, kind`, partner)
}

func verdicts(ctx context.Context, q queryer, where string, args ...any) ([]Verdict, error) {
	return list(ctx, q, func(rows *sql.Rows) (Verdict, error) { return scanVerdict(rows) }, `SELECT `+verdictColumns+` FROM contract_verdicts WHERE `+where, args...)
}

func insertVerdict(ctx context.Context, tx *sql.Tx, v *Verdict) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO contract_verdicts (`+verdictColumns+`) VALUES ($1,$2,$3,$4,$5,$6,0,0,'',$7)`,
		v.Partner, v.Number, v.Kind, v.Organisation, string(v.Action), micros(v.FoundAt), string(v.Figures))
	return err
}

// see notes whether a run has shown again what a verdict says; after enough that have not
// it is closed.
func see(ctx context.Context, tx *sql.Tx, v *Verdict, again bool, now time.Time) error {
	v.Quiet++
	if again {
		v.Quiet = 0
	}
	if v.Quiet >= quietRuns {
		v.ClosedAt, v.ClosedBy = now, policy
	}
	_, err := tx.ExecContext(ctx, `UPDATE contract_verdicts SET quiet = $1, closed_at = $2, closed_by = $3 WHERE partner = $4 AND number = $5 AND kind = $6`,
		v.Quiet, micros(v.ClosedAt), v.ClosedBy, v.Partner, v.Number, v.Kind)
	return err
}

// Rebaseline has the runs from now on be a new baseline, and closes what was found
// against the one before.
func (s *Store) Rebaseline(ctx context.Context, b *Baseline) error {
	return s.change(ctx, b.Partner, func(tx *sql.Tx) error {
		if err := begin(ctx, tx, b); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE contract_verdicts SET closed_at = $1, closed_by = $2 WHERE partner = $3 AND closed_at = 0`, micros(b.BegunAt), b.By, b.Partner)
		return err
	})
}
