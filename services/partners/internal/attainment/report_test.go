package attainment_test

import (
	"math"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/gate"
)

// target of a report by its name.
func target(t *testing.T, r *attainment.Report, name string) attainment.Target {
	t.Helper()
	for _, x := range r.Targets {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("%v has no %s", r.Targets, name)
	return attainment.Target{}
}

func near(a, b, off float64) bool { return math.Abs(a-b) <= off }

// A week of known figures: a call a minute from Monday to Sunday. Of each hour's calls 57
// take a second, 2 take five, and the first fails; on Sunday from 02:00 to 04:00 nothing is
// answered, which is maintenance.
func TestAWeekOfKnownFigures(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		u := terms(r, `{budget: 10s, response: {p50: 1500ms, p95: 4s, p99: 6s}, availability: 98, throughput: {per_minute: 30}, maintenance: [{days: [sun], from: "02:00", to: "04:00", zone: UTC}]}`)
		one, two := r.ledger(), r.ledger()
		g := []*gate.Gate{gate.New(gate.Config{Clock: r.clock, Ledger: one}), gate.New(gate.Config{Clock: r.clock, Ledger: two})}
		for i := range 7 * 24 * 60 {
			at := r.clock.Now()
			p, err := g[i%2].Enter(r.Context(), u)
			took := time.Second
			switch {
			case err != nil:
				took = 0
			case at.Minute() == 0:
				p.Done(gate.Failed)
				took = 0
			case at.Minute() <= 2:
				took = 5 * time.Second
				fallthrough
			default:
				r.clock.Advance(took)
				p.Done(gate.OK)
			}
			r.clock.Advance(time.Minute - took)
			if i%1440 == 0 {
				for _, l := range []*attainment.Ledger{one, two} {
					if err := l.Flush(r.Context()); err != nil {
						r.Fatal(err)
					}
					if err := l.RollUp(r.Context(), nil, 400*24*time.Hour); err != nil {
						r.Fatal(err)
					}
				}
			}
		}
		if err := two.Flush(r.Context()); err != nil {
			r.Fatal(err)
		}
		report, err := one.Report(r.Context(), u, start, r.clock.Now())
		if err != nil {
			r.Fatal(err)
		}
		const hours = 7*24 - 2 // without maintenance
		f := report.Figures
		if f.OK != 59*hours || f.Failed != hours || f.Held[gate.Maintenance] != 120 || f.Maintenance != 0 || f.Peak != 1 || report.Maintenance != 2*time.Hour {
			r.Errorf("%+v", f)
		}
		for _, c := range []struct {
			name                     string
			status                   attainment.Status
			agreed, measured, margin float64
			off                      float64
		}{
			{"p50", attainment.Attained, 1.5, 1, .5, 1. / 64},
			{"p95", attainment.Attained, 4, 1, 3, 1. / 64},
			{"p99", attainment.Attained, 6, 5, 1, 5. / 64}, // 2 of 59 take longer than a second
			{"availability", attainment.Attained, 98, 100 * 59. / 60, 100*59./60 - 98, 1e-9},
			{"throughput", attainment.Attained, 30, 1, 0, 0},
		} {
			if x := target(r.T, report, c.name); x.Status != c.status || x.Agreed != c.agreed || !near(x.Measured, c.measured, c.off) || !near(x.Margin, c.margin, c.off) {
				r.Errorf("%+v, want %+v", x, c)
			}
		}
		if b := report.Budget; !near(b.Allowed, 60*hours*.02, 1e-9) || b.Used != hours || !near(b.Left, 1-1/1.2, 1e-9) {
			r.Errorf("%+v", b)
		}
		from, to := attainment.LastHour.Bounds(r.clock.Now().Add(-time.Second))
		if last, err := one.Report(r.Context(), u, from, to); err != nil || last.Figures.Counted() != 60 {
			r.Errorf("%+v, %v", last.Figures, err)
		}
	})
}

func TestWhatIsMissedIsSaid(t *testing.T) {
	u := terms(t, "{response: {p95: 1s}, availability: 99.9, throughput: {per_minute: 10}}")
	f := &attainment.Figures{OK: 90, Failed: 5, Throttled: 5, Peak: 7, Times: attainment.Times{}}
	r := attainment.Assess(u, f)
	for name, want := range map[string]attainment.Status{"p95": attainment.Unknown, "availability": attainment.Missed, "throughput": attainment.Missed} {
		if got := target(t, r, name); got.Status != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if x := target(t, r, "availability"); !near(x.Margin, -9.9, 1e-9) || !near(r.Budget.Left, -99, 1e-9) {
		t.Errorf("%+v, %+v", x, r.Budget)
	}
	r = attainment.Assess(u, &attainment.Figures{})
	for _, x := range r.Targets {
		if x.Status != attainment.Unknown || x.Margin != 0 {
			t.Errorf("without a call: %+v", x)
		}
	}
	if r.Budget != nil {
		t.Errorf("%+v", r.Budget)
	}
	if r = attainment.Assess(terms(t, "{availability: 100}"), &attainment.Figures{OK: 5}); r.Budget.Left != 1 {
		t.Errorf("%+v", r.Budget)
	}
}

func TestWindowsEndWithTheMinuteThatRuns(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 34, 56, 0, time.UTC)
	for w, want := range map[attainment.Window]string{
		attainment.LastHour: "2026-11-30T11:35:00Z", attainment.LastDay: "2026-11-29T12:35:00Z", attainment.LastMonth: "2026-10-31T12:00:00Z",
	} {
		from, to := w.Bounds(now)
		if from.Format(time.RFC3339) != want || to.Format(time.RFC3339) != "2026-11-30T12:35:00Z" {
			t.Errorf("%s: from %s to %s", w, from, to)
		}
	}
}
