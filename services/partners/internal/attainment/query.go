package attainment

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"sabha.dev/services/partners/internal/gate"
)

// Figures of a skill from a time until another, exclusive. Both are counted as what is kept
// allows: by the minute in the last two days, by the hour in the last 35 days, else by the
// day.
func (s *Store) Figures(ctx context.Context, partner, skill string, from, to time.Time) (*Figures, error) {
	f := &Figures{From: from, To: to, Held: map[gate.Why]int64{}, Times: Times{}}
	err := each(ctx, s.db.Read, func(rows *sql.Rows) error {
		var what string
		var n int64
		if err := rows.Scan(&what, &n); err != nil {
			return err
		}
		f.count(what, n)
		return nil
	}, `SELECT what, CAST(SUM(n) AS BIGINT) FROM partner_attainment WHERE partner = $1 AND skill = $2 AND at >= $3 AND at < $4 AND what <> 'peak' AND what NOT LIKE 'by:%' GROUP BY what`,
		partner, skill, from.Unix(), to.Unix())
	if err != nil {
		return nil, err
	}
	err = each(ctx, s.db.Read, func(rows *sql.Rows) error { return rows.Scan(&f.Peak) },
		`SELECT CAST(COALESCE(MAX(c), 0) AS BIGINT) FROM (
			SELECT SUM(n) AS c FROM partner_attainment WHERE partner = $1 AND skill = $2 AND at >= $3 AND at < $4
				AND (what = 'peak' OR span = 'm' AND what IN ('ok', 'failed', 'invalid', 'throttled', 'abandoned', 'maintenance'))
			GROUP BY at, span) AS minutes`, partner, skill, from.Unix(), to.Unix())
	return f, err
}

func (f *Figures) count(what string, n int64) {
	switch what {
	case "ok":
		f.OK = n
	case "failed":
		f.Failed = n
	case "invalid":
		f.Invalid = n
	case "throttled":
		f.Throttled = n
	case "abandoned":
		f.Abandoned = n
	case slow:
		f.Slow = n
	case maintenance:
		f.Maintenance = n
	case probe:
		f.Probes = n
	case answered:
		f.Answered = n
	default:
		if why, ok := strings.CutPrefix(what, held); ok {
			f.Held[gate.Why(why)] = n
		} else if at, err := strconv.Atoi(strings.TrimPrefix(what, answerTime)); err == nil {
			f.Times[at] = n
		}
	}
}

// Days gives the days of a partner since a time, the oldest first, without those on which
// nothing happened.
func (s *Store) Days(ctx context.Context, partner string, since time.Time) ([]Day, error) {
	const day = 24 * 3600
	var list []Day
	err := each(ctx, s.db.Read, func(rows *sql.Rows) error {
		var number, n int64
		var what string
		if err := rows.Scan(&number, &what, &n); err != nil {
			return err
		}
		date := time.Unix(number*day, 0).UTC()
		if len(list) == 0 || !list[len(list)-1].Date.Equal(date) {
			list = append(list, Day{Date: date})
		}
		var f Figures
		f.count(what, n)
		d := &list[len(list)-1]
		d.OK, d.Invalid, d.Failed, d.Throttled = d.OK+f.OK, d.Invalid+f.Invalid, d.Failed+f.Failed, d.Throttled+f.Throttled
		d.Slow, d.Probes, d.ProbesAnswered = d.Slow+f.Slow, d.Probes+f.Probes, d.ProbesAnswered+f.Answered
		d.Calls += f.Counted()
		return nil
	}, `SELECT at / 86400 AS day, what, CAST(SUM(n) AS BIGINT) FROM partner_attainment WHERE partner = $1 AND at >= $2
			AND what IN ('ok', 'failed', 'invalid', 'throttled', 'slow', 'probe', 'answered') GROUP BY day, what ORDER BY day`,
		partner, since.Unix()/day*day)
	return list, err
}

func each(ctx context.Context, db *sql.DB, read func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
