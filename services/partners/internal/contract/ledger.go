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

// Marks are the findings that count against an organisation since a time, whatever its
// partners are or were called. What is only told counts against nobody.
func (s *Store) Marks(ctx context.Context, organisation string, since time.Time) ([]trust.Mark, error) {
	found, err := s.VerdictsOf(ctx, organisation, since)
	var marks []trust.Mark
	for _, v := range found {
		if v.Action == Tell {
			continue
		}
		kind := trust.Drift
		if v.Kind == Failing {
			kind = trust.Failing
		}
		marks = append(marks, trust.Mark{Kind: kind, Partner: v.Partner, At: v.FoundAt, Open: v.Open()})
	}
	return marks, err
}
