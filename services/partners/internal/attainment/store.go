package attainment

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
)

// span is how long a time a row counts.
type span string

const (
	minutes span = "m"
	hours   span = "h"
	days    span = "d"
)

// How long counts by the minute and by the hour are kept; then they are rolled up.
const (
	minutesKept = 48 * time.Hour
	hoursKept   = 35 * 24 * time.Hour
	batchesKept = 24 * time.Hour
	rollEvery   = 10 * time.Minute
)

// Store keeps counts. It is safe for concurrent use, also by several replicas at once.
type Store struct {
	db    *sqldb.DB
	clock clock.Clock
}

// NewStore makes a store over a migrated database.
func NewStore(db *sqldb.DB, c clock.Clock) *Store { return &Store{db: db, clock: c} }

// transact runs a function in a transaction.
func (s *Store) transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// write adds a batch, unless it was added before.
func (s *Store) write(ctx context.Context, replica string, b *batch) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO partner_batches (id, at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, b.id, s.clock.Now().Unix())
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if err := add(ctx, tx, minutes, b.rows); err != nil {
			return err
		}
		return changed(ctx, tx, replica, b.id, b.changes)
	})
}

// rowsAtOnce bounds a statement.
const rowsAtOnce = 200

// add adds counts of a span. They are in one order, so that replicas that write the same
// rows wait for each other and not in a circle. Of peaks the highest stays.
func add(ctx context.Context, tx *sql.Tx, of span, rows map[row]int64) error {
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.partner, b.partner), cmp.Compare(a.skill, b.skill), cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what))
	})
	for chunk := range slices.Chunk(keys, rowsAtOnce) {
		var values strings.Builder
		args := []any{string(of)}
		for i, k := range chunk {
			if i > 0 {
				values.WriteByte(',')
			}
			n := len(args)
			fmt.Fprintf(&values, "($%d,$%d,$%d,$1,$%d,$%d)", n+1, n+2, n+3, n+4, n+5)
			args = append(args, k.partner, k.skill, k.at, k.what, rows[k])
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO partner_attainment AS a (partner, skill, at, span, what, n) VALUES `+values.String()+`
			ON CONFLICT (partner, skill, at, span, what) DO UPDATE SET n = CASE
				WHEN a.what <> 'peak' THEN a.n + excluded.n WHEN a.n > excluded.n THEN a.n ELSE excluded.n END`, args...); err != nil {
			return err
		}
	}
	return nil
}

// RollUp makes hours of old minutes and days of old hours, and removes days that are kept
// no longer: kept by partner, the others for the usual time. Replicas may do it at once.
func (s *Store) RollUp(ctx context.Context, kept map[string]time.Duration, usual time.Duration) error {
	now := s.clock.Now()
	for _, r := range []struct {
		from, to span
		kept     time.Duration
		length   int64
	}{{minutes, hours, minutesKept, 3600}, {hours, days, hoursKept, 24 * 3600}} {
		for {
			limit := now.Add(-r.kept).Unix() / r.length * r.length
			more, err := s.roll(ctx, r.from, r.to, limit, r.length)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	if _, err := s.db.Write.ExecContext(ctx, `DELETE FROM partner_batches WHERE at < $1`, now.Add(-batchesKept).Unix()); err != nil {
		return err
	}
	if _, err := s.db.Write.ExecContext(ctx, `DELETE FROM partner_breakers WHERE replica NOT IN (SELECT id FROM replicas WHERE expires_at >= $1)`, now.UnixNano()); err != nil {
		return err
	}
	return s.forget(ctx, now, kept, usual)
}

// atOnce is how much is rolled up in one transaction, in seconds.
const atOnce = 24 * 3600

// roll rolls up the oldest day of what begins before a limit. What is deleted is what is
// added, so another replica that does the same finds the rows gone.
func (s *Store) roll(ctx context.Context, from, to span, limit, length int64) (more bool, err error) {
	var oldest sql.NullInt64
	if err := s.db.Read.QueryRowContext(ctx, `SELECT MIN(at) FROM partner_attainment WHERE span = $1 AND at < $2`, string(from), limit).Scan(&oldest); err != nil || !oldest.Valid {
		return false, err
	}
	begin := oldest.Int64 / atOnce * atOnce
	end := min(begin+atOnce, limit)
	err = s.transact(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `DELETE FROM partner_attainment WHERE span = $1 AND at >= $2 AND at < $3 RETURNING partner, skill, at, what, n`, string(from), begin, end)
		if err != nil {
			return err
		}
		sums, calls := map[row]int64{}, map[row]int64{}
		for rows.Next() {
			var r row
			var n int64
			if err := rows.Scan(&r.partner, &r.skill, &r.at, &r.what, &n); err != nil {
				_ = rows.Close()
				return err
			}
			if isCall(r.what) && from == minutes {
				calls[row{r.partner, r.skill, r.at, peak}] += n
			}
			if r.at = r.at / length * length; r.what == peak {
				sums[r] = max(sums[r], n)
			} else {
				sums[r] += n
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for r, n := range calls {
			r.at = r.at / length * length
			sums[r] = max(sums[r], n)
		}
		return add(ctx, tx, to, sums)
	})
	return err == nil, err
}

// isCall tells whether a count is one of calls that were made, within maintenance or not.
func isCall(what string) bool {
	return what == "ok" || what == "failed" || what == "invalid" || what == "throttled" || what == "abandoned" || what == maintenance
}

func (s *Store) forget(ctx context.Context, now time.Time, kept map[string]time.Duration, usual time.Duration) error {
	before := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	others := []any{before(usual)}
	var marks []string
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		if _, err := s.db.Write.ExecContext(ctx, `DELETE FROM partner_attainment WHERE partner = $1 AND span = 'd' AND at < $2`, id, before(kept[id])); err != nil {
			return err
		}
		others, marks = append(others, id), append(marks, fmt.Sprintf("$%d", len(others)+1))
	}
	query := `DELETE FROM partner_attainment WHERE span = 'd' AND at < $1`
	if len(marks) > 0 {
		query += ` AND partner NOT IN (` + strings.Join(marks, ",") + `)`
	}
	_, err := s.db.Write.ExecContext(ctx, query, others...)
	return err
}
