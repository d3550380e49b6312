package attainment_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sabha.dev/chassis/fault"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/gate"
)

func TestPeopleAreToldHowAPartnerStands(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		l := r.ledger()
		d := r.desk(l, "{response: {p95: 2s}, availability: 90}")
		for i := range 20 {
			result := gate.OK
			if i == 0 {
				result = gate.Failed
			}
			l.Called(r.call(result, time.Second))
		}
		l.Refused(underwrite, gate.Busy, r.clock.Now())
		res, err := d.GetAttainment(r.Context(), &partnersv1.GetAttainmentRequest{Partner: "underwriter", Window: "1h"})
		if err != nil {
			r.Fatal(err)
		}
		s := res.GetSkills()[0]
		if res.GetOrganisation() != "Underwriter plc" || res.GetAgreementVersion() != "1" || s.GetCalls().GetOk() != 19 || s.GetCalls().GetHeldBack()["busy"] != 1 || !near(s.GetErrorBudget().GetLeft(), .5, 1e-9) {
			r.Errorf("%v", res)
		}
		if x := s.GetTargets()[1]; x.GetName() != "availability" || x.GetUnit() != "percent" || x.GetMeasured() != 95 || x.GetMargin() != 5 || x.GetStatus() != partnersv1.Status_STATUS_ATTAINED {
			r.Errorf("%v", x)
		}
		for _, c := range []struct {
			req  *partnersv1.GetAttainmentRequest
			want string
		}{
			{&partnersv1.GetAttainmentRequest{}, "partner: is missing; name the partner"},
			{&partnersv1.GetAttainmentRequest{Partner: "other"}, `there is no agreement with "other"`},
			{&partnersv1.GetAttainmentRequest{Partner: "underwriter", Window: "7d"}, "window: is unknown; use 1h, 24h or 30d"},
			{&partnersv1.GetAttainmentRequest{Partner: "underwriter", Month: "November"}, `month: "November" is not a month; write it as 2026-11`},
			{&partnersv1.GetAttainmentRequest{Partner: "underwriter", Window: "1h", Month: "2026-11"}, "month: comes instead of a window; leave one of them out"},
			{&partnersv1.GetAttainmentRequest{Partner: "underwriter", Skill: "paint"}, "skill: is not allowed by the agreement with underwriter"},
		} {
			_, err := d.GetAttainment(r.Context(), c.req)
			if f := fault.As(err); f == nil || !strings.Contains(err.Error(), c.want) {
				r.Errorf("%v: %v, want %s", c.req, err, c.want)
			}
		}
	})
}

func TestABreakersChangeIsKeptAndTold(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		one, two := r.ledger(), r.ledger()
		r.lives("r1")
		d := r.desk(two, "{}")
		change := func(l *attainment.Ledger, from, to gate.State) {
			r.Helper()
			c := gate.Change{Address: underwrite, From: from, To: to, Why: gate.Slowness, At: r.clock.Now()}
			if to == gate.Opened {
				c.RetryAt = c.At.Add(30 * time.Second)
			}
			l.Changed(c)
			if err := l.Flush(r.Context()); err != nil {
				r.Fatal(err)
			}
			r.clock.Advance(time.Second)
		}
		seen := func() string {
			r.Helper()
			res, err := d.ListBreakers(r.Context(), &partnersv1.ListBreakersRequest{Partner: "underwriter"})
			if err != nil {
				r.Fatal(err)
			}
			var list []string
			for _, b := range res.GetBreakers() {
				list = append(list, b.GetReplica()+" "+b.GetSkill()+" "+b.GetState()+" "+b.GetWhy())
			}
			return strings.Join(list, ", ")
		}
		change(one, gate.Shut, gate.Opened)
		change(two, gate.Shut, gate.Opened) // its lease has run out
		if got := seen(); got != "r1 underwrite open slowness" {
			r.Error(got)
		}
		change(one, gate.Opened, gate.HalfOpen)
		if got := seen(); got != "r1 underwrite half-open slowness" {
			r.Error(got)
		}
		change(one, gate.HalfOpen, gate.Shut)
		if got := seen(); got != "" {
			r.Error(got)
		}
		rows, err := r.db().Read.QueryContext(r.Context(), `SELECT subject, body FROM partner_events ORDER BY at`)
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		var got []string
		for rows.Next() {
			var subject, body string
			if err := rows.Scan(&subject, &body); err != nil {
				r.Fatal(err)
			}
			got = append(got, subject+" "+body)
		}
		want := []string{
			`sabha.partners.underwriter.breaker-open {"partner":"underwriter","skill":"underwrite","what":"breaker-open","from":"closed","to":"open","why":"slowness","at":"2026-11-02T00:00:00Z","retry_at":"2026-11-02T00:00:30Z","replica":"r1"}`,
			`sabha.partners.underwriter.breaker-open {"partner":"underwriter","skill":"underwrite","what":"breaker-open","from":"closed","to":"open","why":"slowness","at":"2026-11-02T00:00:01Z","retry_at":"2026-11-02T00:00:31Z","replica":"r2"}`,
			`sabha.partners.underwriter.breaker-half-open {"partner":"underwriter","skill":"underwrite","what":"breaker-half-open","from":"open","to":"half-open","why":"slowness","at":"2026-11-02T00:00:02Z","replica":"r1"}`,
			`sabha.partners.underwriter.breaker-closed {"partner":"underwriter","skill":"underwrite","what":"breaker-closed","from":"half-open","to":"closed","why":"slowness","at":"2026-11-02T00:00:03Z","replica":"r1"}`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			r.Errorf("\n%s", strings.Join(got, "\n"))
		}
		if err := one.RollUp(r.Context(), nil, time.Hour); err != nil {
			r.Fatal(err)
		}
		var left int
		if err := r.db().Read.QueryRowContext(r.Context(), `SELECT COUNT(*) FROM partner_breakers`).Scan(&left); err != nil || left != 0 {
			r.Errorf("%d rows of replicas that are gone, %v", left, err)
		}
	})
}

func TestTheReportOfAMonthIsWrittenOnce(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		dir := filepath.Join(r.TempDir(), "reports")
		var writers []*attainment.Writer
		for range 3 {
			writers = append(writers, &attainment.Writer{Folder: dir, Desk: r.desk(r.ledger(), `{response: {p95: 2s}, availability: 99}`)})
		}
		l := writers[0].Ledger
		for range 3 {
			l.Called(r.call(gate.OK, 1500*time.Millisecond))
		}
		l.Called(r.call(gate.Failed, time.Second))
		r.clock.Advance(29*24*time.Hour + 10*time.Minute - time.Second) // nine minutes into December
		l.Called(r.call(gate.Failed, time.Second))
		if err := l.Flush(r.Context()); err != nil {
			r.Fatal(err)
		}
		wrote := func() (n int) {
			var count atomic.Int64
			var all sync.WaitGroup
			for _, w := range writers {
				all.Go(func() {
					yes, err := w.Write(r.Context())
					if err != nil {
						r.Error(err)
					}
					if yes {
						count.Add(1)
					}
				})
			}
			all.Wait()
			return int(count.Load())
		}
		if n := wrote(); n != 0 {
			r.Errorf("%d have written before the month has settled", n)
		}
		r.clock.Advance(time.Second)
		if n := wrote(); n != 1 {
			r.Errorf("%d have written", n)
		}
		if n := wrote(); n != 0 {
			r.Errorf("%d have written again", n)
		}
		csv, err := os.ReadFile(filepath.Join(dir, "underwriter-2026-11.csv"))
		if err != nil {
			r.Fatal(err)
		}
		want := `partner,skill,from,to,agreement,target,unit,agreed,measured,margin,status,ok,failed,invalid,throttled,abandoned,in_maintenance,error_budget_left
underwriter,underwrite,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,1,p95,seconds,2,1.490944,0.509056,attained,3,1,0,0,0,0,-24
underwriter,underwrite,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,1,availability,percent,99,75,-24,missed,3,1,0,0,0,0,-24
underwriter,underwrite,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,1,throughput,calls per minute,600,4,0,attained,3,1,0,0,0,0,-24
`
		if got := string(csv); got != want {
			r.Errorf("\n%s", got)
		}
		json, err := os.ReadFile(filepath.Join(dir, "underwriter-2026-11.json"))
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(json)), ""), `"month":"2026-11"`) {
			r.Errorf("%s, %v", json, err)
		}
	})
}

func TestAMonthWhoseWriterDiedIsWrittenByAnother(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		w := &attainment.Writer{Folder: filepath.Join(r.TempDir(), "reports"), Desk: r.desk(r.ledger(), `{}`)}
		r.clock.Advance(30 * 24 * time.Hour)
		if _, err := r.db().Write.ExecContext(r.Context(), `INSERT INTO partner_reports (month, until, done) VALUES ('2026-11', $1, 0)`, r.clock.Now().Add(time.Minute).Unix()); err != nil {
			r.Fatal(err)
		}
		for _, want := range []bool{false, true} {
			if wrote, err := w.Write(r.Context()); err != nil || wrote != want {
				r.Errorf("%v, %v", wrote, err)
			}
			r.clock.Advance(time.Minute)
		}
	})
}

func TestMetricsSayHowSkillsStand(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		l := r.ledger()
		registry := prometheus.NewRegistry()
		m, err := attainment.NewMetrics(registry)
		if err != nil {
			r.Fatal(err)
		}
		for i := range 10 {
			l.Called(r.call(gate.Result(i/9), 3*time.Second)) // the tenth fails
		}
		if err := m.Measure(r.Context(), r.desk(l, "{response: {p50: 1s, p95: 4s}, availability: 80}")); err != nil {
			r.Fatal(err)
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(`# HELP sabha_partner_attained 1 where a skill of a partner was over the last 30 days as agreed on, by target; 0 where it was not.
# TYPE sabha_partner_attained gauge
sabha_partner_attained{partner="underwriter",skill="underwrite",target="availability"} 1
sabha_partner_attained{partner="underwriter",skill="underwrite",target="p50"} 0
sabha_partner_attained{partner="underwriter",skill="underwrite",target="p95"} 1
sabha_partner_attained{partner="underwriter",skill="underwrite",target="throughput"} 1
# HELP sabha_partner_error_budget_left Share of the calls that may fail in 30 days which is left; below zero when more have failed.
# TYPE sabha_partner_error_budget_left gauge
sabha_partner_error_budget_left{partner="underwriter",skill="underwrite"} 0.5
`)); err != nil {
			r.Error(err)
		}
	})
}
