package attainment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/gate"
)

// by is a call on behalf of somebody.
func (r *rig) by(caller string, result gate.Result, slow bool) gate.Call {
	c := r.call(result, time.Second)
	c.Caller, c.Slow = caller, slow
	return c
}

func TestCallsAreCountedByCaller(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		one, two := r.ledger(), r.ledger()
		d := r.desk(one, "{response: {p95: 2s}}")
		for range 3 {
			one.Called(r.by("bank/ada", gate.OK, false))
			two.Called(r.by("bank/ada", gate.OK, true))
		}
		two.Called(r.by("bank/ben", gate.Failed, false))
		one.Called(r.by("", gate.Invalid, false))
		quiet := r.by("bank/cleo", gate.OK, false)
		quiet.Maintenance = true
		one.Called(quiet)
		r.figures(two, start, start.Add(time.Hour))
		want := `[caller:"bank/ada" ok:6 slow:3 caller:"bank/ben" failed:1 caller:"" invalid:1]`
		read := func(what string, req *partnersv1.GetAttainmentRequest) {
			r.Helper()
			r.figures(one, start, start.Add(time.Hour))
			req.Partner = "underwriter"
			res, err := d.GetAttainment(r.Context(), req)
			if err != nil {
				r.Fatal(err)
			}
			s := res.GetSkills()[0]
			if got := callers(s); got != want || s.GetCalls().GetOk() != 6 || s.GetCalls().GetInvalid() != 1 || s.GetCalls().GetInMaintenance() != 1 {
				r.Errorf("%s: %s; %v", what, got, s.GetCalls())
			}
		}
		read("of the hour", &partnersv1.GetAttainmentRequest{Window: "1h"})
		r.clock.Advance(40 * 24 * time.Hour) // all of it is by the day now
		if err := one.RollUp(r.Context(), nil, 400*24*time.Hour); err != nil {
			r.Fatal(err)
		}
		read("of the month", &partnersv1.GetAttainmentRequest{Month: "2026-11"})
		dir := r.TempDir()
		if wrote, err := (&attainment.Writer{Folder: dir, Desk: d}).Write(r.Context()); err != nil || !wrote {
			r.Fatal(wrote, err)
		}
		csv, err := os.ReadFile(filepath.Join(dir, "underwriter-2026-11-callers.csv"))
		const from = "underwriter,underwrite,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,"
		if lines := "partner,skill,from,to,caller,ok,failed,invalid,throttled,abandoned,slow\n" +
			from + "bank/ada,6,0,0,0,0,3\n" + from + "bank/ben,0,1,0,0,0,0\n" + from + ",0,0,1,0,0,0\n"; err != nil || string(csv) != lines {
			r.Errorf("%v\n%s", err, csv)
		}
	})
}

func callers(s *partnersv1.Attainment) string {
	var all []string
	for _, c := range s.GetCallers() {
		line := fmt.Sprintf("caller:%q", c.GetCaller())
		for name, n := range map[string]int64{"ok": c.GetOk(), "failed": c.GetFailed(), "invalid": c.GetInvalid(), "throttled": c.GetThrottled(), "abandoned": c.GetAbandoned()} {
			if n > 0 {
				line += fmt.Sprintf(" %s:%d", name, n) // each has one here
			}
		}
		if c.GetSlow() > 0 {
			line += fmt.Sprintf(" slow:%d", c.GetSlow())
		}
		all = append(all, line)
	}
	return fmt.Sprint(all)
}

// Names come from outside: there is an end to how many are kept.
func TestCallersBeyondTheFirstOfADayAreCountedTogether(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		one, two := r.ledger(), r.ledger()
		for i := range 250 {
			one.Called(r.by(fmt.Sprintf("bank/a%03d", i), gate.OK, false))
			two.Called(r.by(fmt.Sprintf("bank/b%03d", i), gate.OK, false))
		}
		one.Called(r.by("bank/a000", gate.OK, false))
		one.Called(r.by("bank/a249", gate.OK, false)) // not told apart
		end := start.Add(48 * time.Hour)
		r.figures(one, start, end)
		r.figures(two, start, end)
		all, err := one.Callers(r.Context(), "underwriter", "underwrite", start, end)
		if err != nil {
			r.Fatal(err)
		}
		var calls int64
		for _, c := range all {
			calls += c.Calls()
		}
		if rest := all[len(all)-1]; len(all) != 101 || all[0].Name != "bank/a000" || all[0].OK != 2 || rest.Name != "" || calls != 502 {
			r.Errorf("%d callers with %d calls, the first %+v, the rest %+v", len(all), calls, all[0], rest)
		}
		r.clock.Advance(24 * time.Hour)
		one.Called(r.by("bank/a249", gate.OK, false))
		r.figures(one, start, end)
		if all, err = one.Callers(r.Context(), "underwriter", "underwrite", start.Add(24*time.Hour), end); err != nil || len(all) != 1 || all[0].Name != "bank/a249" {
			r.Errorf("the next day: %+v, %v", all, err)
		}
	})
}
