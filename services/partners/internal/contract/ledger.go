package contract

import (
	"context"
	"database/sql"
	"time"

	"sabha.dev/services/partners/internal/trust"
)

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// Days are the answers to golden tasks of a partner by day, for its trust score.
func (s *Store) Days(ctx context.Context, partner string, since time.Time) ([]trust.Day, error) {
	return list(ctx, s.db.Read, func(rows *sql.Rows) (d trust.Day, err error) {
		var day int64
		err = rows.Scan(&day, &d.Tests, &d.Good)
		d.At = moment(day * dayMicros)
		return d, err
	}, `SELECT ended_at / 86400000000, SUM(calls - failed), SUM(good) FROM contract_runs
		WHERE partner = $1 AND state = 'done' AND ended_at >= $2 GROUP BY ended_at / 86400000000`, partner, since.UnixMicro())
}

// Marks are the findings since a time that count against organisations, whatever their
// partners are or were called. What is only told counts against nobody.
func (s *Store) Marks(ctx context.Context, since time.Time) (map[string][]trust.Mark, error) {
	found, err := verdicts(ctx, s.db.Read, `action <> 'tell' AND (found_at >= $1 OR closed_at = 0) ORDER BY found_at`, since.UnixMicro())
	all := map[string][]trust.Mark{}
	for _, v := range found {
		kind := trust.Drift
		if v.Kind == Failing {
			kind = trust.Failing
		}
		all[v.Organisation] = append(all[v.Organisation], trust.Mark{Kind: kind, Partner: v.Partner, At: v.FoundAt, Open: v.Open()})
	}
	return all, err
}
