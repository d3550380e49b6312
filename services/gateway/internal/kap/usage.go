package kap

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
)

// Usage counts the requests of each caller in the minute and the day (UTC) that it is.
// It is kept in the database, so the counts survive restarts and hold for all replicas.
type Usage struct {
	db    *sqldb.DB
	clock clock.Clock
	rate  Rate

	mu sync.Mutex
	// swept is the day on which callers of earlier days were last forgotten.
	swept int64
}

// NewUsage makes a counter over a migrated database.
func NewUsage(db *sqldb.DB, c clock.Clock, r Rate) *Usage { return &Usage{db: db, clock: c, rate: r} }

// left is what a caller has left of a window.
type left struct {
	limit, remaining int
	reset            time.Duration
}

const day = 24 * time.Hour

// A window that is behind the one stored belongs to a replica whose clock is behind:
// it counts in the stored one.
const count = `INSERT INTO kap_usage (caller, minute, in_minute, day, in_day) VALUES ($1, $2, 1, $3, 1)
ON CONFLICT (caller) DO UPDATE SET
	in_minute = CASE WHEN excluded.minute > kap_usage.minute THEN 1 ELSE kap_usage.in_minute + 1 END,
	minute = CASE WHEN excluded.minute > kap_usage.minute THEN excluded.minute ELSE kap_usage.minute END,
	in_day = CASE WHEN excluded.day > kap_usage.day THEN 1 ELSE kap_usage.in_day + 1 END,
	day = CASE WHEN excluded.day > kap_usage.day THEN excluded.day ELSE kap_usage.day END
WHERE (excluded.minute > kap_usage.minute OR kap_usage.in_minute < $4) AND (excluded.day > kap_usage.day OR kap_usage.in_day < $5)
RETURNING in_minute, in_day`

// take counts a request of a caller and gives what is left to it: of the window that
// has less left. Over a limit the error is a fault RATE_LIMITED, and nothing is counted.
func (u *Usage) take(ctx context.Context, caller string) (left, error) {
	now := u.clock.Now()
	minute, today := now.Unix()/60, now.Unix()/int64(day/time.Second)
	u.sweep(ctx, today)
	var inMinute, inDay int
	err := u.db.Write.QueryRowContext(ctx, count, caller, minute, today, u.rate.RequestsPerMinute, u.rate.RequestsPerDay).Scan(&inMinute, &inDay)
	over := errors.Is(err, sql.ErrNoRows)
	if over {
		err = u.db.Write.QueryRowContext(ctx, `SELECT CASE WHEN minute < $2 THEN 0 ELSE in_minute END, CASE WHEN day < $3 THEN 0 ELSE in_day END FROM kap_usage WHERE caller = $1`, caller, minute, today).Scan(&inMinute, &inDay)
	}
	if err != nil {
		return left{}, fmt.Errorf("count a request of KAP: %w", err)
	}
	ofMinute := left{u.rate.RequestsPerMinute, u.rate.RequestsPerMinute - inMinute, until(now, time.Minute)}
	ofDay := left{u.rate.RequestsPerDay, u.rate.RequestsPerDay - inDay, until(now, day)}
	less, unit := ofMinute, "minute"
	if ofDay.remaining < ofMinute.remaining || (over && ofDay.remaining <= 0) {
		less, unit = ofDay, "day"
	}
	less.remaining = max(0, less.remaining)
	if over {
		e := fault.New(fault.RateLimited, "over the limit of %d requests a %s; try again in %v", less.limit, unit, less.reset)
		e.RetryAfter = less.reset
		return less, e
	}
	return less, nil
}

// sweep forgets callers who have not asked since yesterday, once a day and replica.
// What it cannot do now it does tomorrow.
func (u *Usage) sweep(ctx context.Context, today int64) {
	u.mu.Lock()
	due := u.swept < today
	u.swept = max(u.swept, today)
	u.mu.Unlock()
	if due {
		_, _ = u.db.Write.ExecContext(ctx, `DELETE FROM kap_usage WHERE day < $1`, today)
	}
}

// until is how long a window goes on, to the next whole second.
func until(now time.Time, window time.Duration) time.Duration {
	rest := now.Truncate(window).Add(window).Sub(now)
	return (rest + time.Second - 1).Truncate(time.Second)
}

// tell writes what is left into the headers of an answer.
func (l left) tell(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(l.remaining))
	h.Set("X-RateLimit-Reset", strconv.Itoa(int(l.reset/time.Second)))
}
