package kap_test

import (
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/gateway/internal/kap"
	"sabha.dev/services/gateway/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

// onBoth runs a test on both databases; open opens the same one again, as another
// replica or a later process does.
func onBoth(t *testing.T, test func(t *testing.T, open func() *sqldb.DB)) {
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "gateway.db") },
		"postgres": func(t *testing.T) string { return postgres.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			at := url(t)
			test(t, func() *sqldb.DB {
				db, err := sqldb.Open(t.Context(), at)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				if err := sqldb.Migrate(t.Context(), db, "gateway", migrations.Files); err != nil {
					t.Fatal(err)
				}
				return db
			})
		})
	}
}

// left is what the headers of an answer say.
func left(h http.Header) [3]string {
	return [3]string{h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining"), h.Get("X-RateLimit-Reset")}
}

func TestRequestsAreCountedByMinuteAndDay(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *sqldb.DB) {
		c := clocktest.New(time.Date(2026, 3, 1, 23, 57, 30, 500, time.UTC))
		rate := kap.Rate{RequestsPerMinute: 2, RequestsPerDay: 5}
		here, there := kap.NewUsage(open(), c, rate), kap.NewUsage(open(), c, rate)
		take := func(u *kap.Usage, who string, want [3]string, wait time.Duration) {
			t.Helper()
			h := http.Header{}
			err := kap.TakeForTest(t.Context(), u, who, h)
			if got := left(h); got != want {
				t.Errorf("%s is left %v, want %v", who, got, want)
			}
			e := fault.As(err)
			switch {
			case wait == 0 && err != nil:
				t.Errorf("%s within the limit: %v", who, err)
			case wait > 0 && (e == nil || e.Reason != fault.RateLimited || e.RetryAfter != wait):
				t.Errorf("%s over the limit: %v, want to be told to wait %v", who, err, wait)
			}
		}
		take(here, "a", [3]string{"2", "1", "30"}, 0)
		take(there, "a", [3]string{"2", "0", "30"}, 0)
		take(here, "a", [3]string{"2", "0", "30"}, 30*time.Second)
		take(there, "b", [3]string{"2", "1", "30"}, 0)
		c.Advance(30 * time.Second)
		take(here, "a", [3]string{"2", "1", "60"}, 0)
		take(here, "a", [3]string{"2", "0", "60"}, 0)
		c.Advance(time.Minute)
		// Of the day there is less than of the minute.
		take(there, "a", [3]string{"5", "0", "60"}, 0)
		take(here, "a", [3]string{"5", "0", "60"}, time.Minute)
		later := kap.NewUsage(open(), c, rate)
		take(later, "a", [3]string{"5", "0", "60"}, time.Minute)
		c.Advance(time.Minute)
		take(later, "a", [3]string{"2", "1", "60"}, 0)
	})
}

func TestALimitHoldsForRequestsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *sqldb.DB) {
		c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		replicas := []*kap.Usage{kap.NewUsage(open(), c, kap.Rate{RequestsPerMinute: 7, RequestsPerDay: 100}), kap.NewUsage(open(), c, kap.Rate{RequestsPerMinute: 7, RequestsPerDay: 100})}
		var (
			all     sync.WaitGroup
			allowed atomic.Int32
		)
		for i := range 20 {
			all.Go(func() {
				switch err := kap.TakeForTest(t.Context(), replicas[i%2], "a", http.Header{}); {
				case err == nil:
					allowed.Add(1)
				case !fault.Is(err, fault.RateLimited):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := allowed.Load(); n != 7 {
			t.Errorf("%d of 20 at once were allowed, want 7", n)
		}
	})
}

func TestCallersOfEarlierDaysAreForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, open func() *sqldb.DB) {
		c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		db := open()
		u := kap.NewUsage(db, c, kap.Rate{RequestsPerMinute: 7, RequestsPerDay: 100})
		for _, who := range []string{"a", "b", "c"} {
			if err := kap.TakeForTest(t.Context(), u, who, http.Header{}); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(24 * time.Hour)
		if err := kap.TakeForTest(t.Context(), u, "a", http.Header{}); err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM kap_usage`).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d callers are kept (%v), want 1", rows, err)
		}
	})
}
