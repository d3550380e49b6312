package attainment_test

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/gate"
)

func TestReplicasAddToOneLedger(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		ledgers := []*attainment.Ledger{r.ledger(), r.ledger(), r.ledger()}
		var all sync.WaitGroup
		for _, l := range ledgers {
			for range 4 {
				all.Go(func() {
					for i := range 250 {
						l.Called(r.call(gate.Result(i%5), time.Duration(i)*time.Millisecond))
						if i%50 == 0 {
							if err := l.Flush(r.Context()); err != nil {
								r.Error(err)
							}
						}
					}
				})
			}
		}
		all.Wait()
		for _, l := range ledgers {
			if err := l.Flush(r.Context()); err != nil {
				r.Fatal(err)
			}
		}
		f := r.figures(ledgers[0], start, start.Add(time.Minute))
		if f.OK != 600 || f.Failed != 600 || f.Invalid != 600 || f.Throttled != 600 || f.Abandoned != 600 || f.Counted() != 2400 || f.Peak != 3000 || f.Times.Count() != 1200 {
			r.Errorf("%+v", f)
		}
	})
}

func TestWhatCouldNotBeWrittenIsWrittenLaterAndOnce(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		l := r.ledger()
		l.Called(r.call(gate.OK, time.Second))
		gone, cancel := context.WithCancel(r.Context())
		cancel()
		if err := l.Flush(gone); err == nil {
			r.Fatal("written without a database")
		}
		l.Called(r.call(gate.Failed, time.Second))
		if f := r.figures(l, start, start.Add(time.Minute)); f.OK != 1 || f.Failed != 1 {
			r.Errorf("%+v", f)
		}
	})
}

func TestStoppingWritesTheRest(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		l := r.ledger()
		ctx, stop := context.WithCancel(r.Context())
		var ended sync.WaitGroup
		w := &attainment.Work{Desk: r.desk(l, "{}"), Log: slog.New(slog.DiscardHandler)}
		ended.Go(func() { w.Run(ctx) })
		l.Called(r.call(gate.OK, time.Second))
		stop()
		ended.Wait()
		if f := r.figures(r.ledger(), start, start.Add(time.Minute)); f.OK != 1 {
			r.Errorf("%+v", f)
		}
	})
}

func TestMaintenanceAndWhatWasHeldBackCountForThemselves(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		l := r.ledger()
		c := r.call(gate.Failed, 3*time.Second)
		c.Maintenance = true
		l.Called(c)
		c = r.call(gate.Invalid, 3*time.Second)
		c.Slow = true
		l.Called(c)
		l.Refused(underwrite, gate.Open, r.clock.Now())
		l.Refused(underwrite, gate.Open, r.clock.Now())
		l.Probed(r.Context(), "underwriter", true)
		l.Probed(r.Context(), "underwriter", false)
		f := r.figures(l, start, start.Add(time.Minute))
		if f.Failed != 0 || f.Maintenance != 1 || f.Invalid != 1 || f.Slow != 1 || f.Times.Count() != 1 || f.Held[gate.Open] != 2 || f.Probes != 0 {
			r.Errorf("%+v", f)
		}
		list, err := l.Days(r.Context(), "underwriter", start)
		if want := []attainment.Day{{Date: start, Calls: 1, Invalid: 1, Slow: 1, Probes: 2, ProbesAnswered: 1}}; err != nil || !reflect.DeepEqual(list, want) {
			r.Errorf("%+v, %v", list, err)
		}
	})
}

func TestOldCountsAreRolledUpAndTheFiguresStay(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		one, two := r.ledger(), r.ledger()
		for i := range 60 * 24 { // 60 days, a call an hour, and ten in one minute
			one.Called(r.call(gate.OK, time.Duration(i)*time.Millisecond))
			if i == 30 {
				for range 9 {
					two.Called(r.call(gate.Failed, time.Second))
				}
			}
			r.clock.Advance(time.Hour)
		}
		end := r.clock.Now()
		for _, l := range []*attainment.Ledger{one, two} {
			if err := l.Flush(r.Context()); err != nil {
				r.Fatal(err)
			}
		}
		before := r.figures(one, start, end)
		if before.OK != 1440 || before.Failed != 9 || before.Peak != 10 || before.Times.Count() != 1440 {
			r.Fatalf("%+v", before)
		}
		var all sync.WaitGroup
		for _, l := range []*attainment.Ledger{one, two} {
			all.Go(func() {
				if err := l.RollUp(r.Context(), nil, 400*24*time.Hour); err != nil {
					r.Error(err)
				}
			})
		}
		all.Wait()
		if after := r.figures(two, start, end); !reflect.DeepEqual(before, after) {
			r.Errorf("%+v, before %+v", after, before)
		}
		spans := map[string]int{}
		rows, err := r.db().Read.QueryContext(r.Context(), `SELECT span, COUNT(DISTINCT at) FROM partner_attainment GROUP BY span`)
		if err != nil {
			r.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var span string
			var n int
			if err := rows.Scan(&span, &n); err != nil {
				r.Fatal(err)
			}
			spans[span] = n
		}
		if want := map[string]int{"d": 25, "h": 33 * 24, "m": 48}; !reflect.DeepEqual(spans, want) {
			r.Errorf("%v, want %v", spans, want)
		}
		// What is kept no longer goes by partner.
		if err := one.RollUp(r.Context(), map[string]time.Duration{"other": time.Hour, "underwriter": 50 * 24 * time.Hour}, time.Hour); err != nil {
			r.Fatal(err)
		}
		if f := r.figures(one, start, end); f.OK != 50*24 {
			r.Errorf("%d calls of the last 50 days", f.OK)
		}
		if err := one.RollUp(r.Context(), nil, 40*24*time.Hour); err != nil {
			r.Fatal(err)
		}
		if f := r.figures(one, start, end); f.OK != 40*24 {
			r.Errorf("%d calls of the last 40 days", f.OK)
		}
	})
}
