package gate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sabha.dev/services/partners/internal/gate"
)

const ms = time.Millisecond

func TestABreakerOpensAtItsShareOfFailuresAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{breaker: {calls: 10, failures: 0.4, open: 30s}}")
		for i := range 10 { // 3 of 9, then the tenth call is the fourth failure
			result := gate.OK
			if i >= 6 {
				result = gate.Failed
			}
			if closed := r.call(u, 10*ms, result); closed != nil {
				t.Fatalf("call %d: %v", i, closed)
			}
			if want := map[bool]string{true: "open", false: "closed"}[i == 9]; r.state() != want {
				t.Fatalf("after call %d: %s", i, r.state())
			}
		}
		opened := time.Now()
		closed := r.call(u, 0, gate.OK)
		if closed == nil || closed.Why != gate.Open || closed.RetryAt.Sub(opened) != 30*time.Second+ms {
			t.Fatalf("%+v", closed)
		}
		if want := "underwriter/underwrite has failed or been slow too often lately; try again at " + closed.RetryAt.UTC().Format(time.RFC3339); closed.Error() != want {
			t.Errorf("%s", closed)
		}
		if len(r.changes) != 1 || r.changes[0].Why != gate.Failures || !r.changes[0].At.Equal(opened) || !r.changes[0].RetryAt.Equal(closed.RetryAt) {
			t.Errorf("%+v", r.changes)
		}
		if r.refused[gate.Open] != 1 || len(r.calls) != 10 {
			t.Errorf("%v, %d calls", r.refused, len(r.calls))
		}
	})
}

func TestSlowCallsOpenABreakerAndQuickFailuresDoNotHideThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{breaker: {calls: 5, failures: 1, slow: 2s, slow_share: 0.8}}")
		for range 4 {
			r.call(u, 2*time.Second+ms, gate.OK) // slow, and answered
			r.call(u, ms, gate.Throttled)
		}
		r.call(u, 2*time.Second, gate.OK) // just not slow
		if r.state() != "closed" {
			t.Fatal(r.state())
		}
		r.call(u, 3*time.Second, gate.Abandoned) // given up when it was slow already: 5 of 6
		if r.state() != "open" || r.changes[0].Why != gate.Slowness {
			t.Fatalf("%s, %+v", r.state(), r.changes)
		}
		if c := r.calls[0]; !c.Slow || c.Result != gate.OK || c.Ended.Sub(c.Began) != 2*time.Second+ms {
			t.Errorf("%+v", c)
		}
	})
}

func TestAfterAWhileSomeCallsAreTriedAndTheirResultDecides(t *testing.T) {
	for _, c := range []struct {
		what   string
		took   time.Duration
		result gate.Result
		want   string
	}{
		{"well answered", ms, gate.OK, "closed"},
		{"failed", ms, gate.Failed, "open"},
		{"not what was agreed", ms, gate.Invalid, "open"},
		{"answered slowly", 3 * time.Second, gate.OK, "closed"}, // that breaker has seen one slow call, not enough
		{"given up", ms, gate.Abandoned, "half-open"},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, u := newRig(t), terms(t, "{breaker: {calls: 2, failures: 0.5, slow: 2s, open: 10s}}")
				r.call(u, ms, gate.Failed)
				r.call(u, ms, gate.Failed)
				time.Sleep(10*time.Second + ms)
				p, err := r.gate.Enter(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				if closed := r.call(u, 0, gate.OK); closed == nil || closed.Why != gate.Open || !closed.RetryAt.IsZero() {
					t.Fatalf("a second call beside the one that tries it: %+v", closed)
				}
				time.Sleep(c.took)
				p.Done(c.result)
				if got := r.state(); got != c.want {
					t.Fatalf("%s, want %s", got, c.want)
				}
				if last := r.changes[len(r.changes)-1]; last.Why != gate.Failures {
					t.Errorf("%+v", last)
				}
			})
		})
	}
}

func TestSeveralProbesMustGoWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{breaker: {calls: 2, open: 10s, probes: 3}}")
		r.call(u, ms, gate.Failed)
		r.call(u, ms, gate.Failed)
		time.Sleep(10*time.Second + ms)
		for i, want := range []string{"half-open", "half-open", "closed"} {
			if closed := r.call(u, ms, gate.OK); closed != nil || r.state() != want {
				t.Fatalf("probe %d: %v, %s", i, closed, r.state())
			}
		}
	})
}

func TestFailuresOfLongAgoCountNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{breaker: {calls: 4, failures: 0.5}}")
		for range 3 {
			r.call(u, 0, gate.Failed)
		}
		time.Sleep(61 * time.Second)
		for range 3 {
			r.call(u, 0, gate.Failed)
		}
		if r.state() != "closed" {
			t.Error("three failures of the last minute and three before it have opened the breaker")
		}
	})
}

func TestChangedTermsBeginWithAClosedBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		before, after := terms(t, "{breaker: {calls: 1}}"), terms(t, "{breaker: {calls: 2}}")
		r.call(before, 0, gate.Failed)
		if closed := r.call(terms(t, "{breaker: {calls: 1}, confirm: true}"), 0, gate.OK); closed == nil {
			t.Error("a change of something else has closed the breaker")
		}
		if closed := r.call(after, 0, gate.Failed); closed != nil || r.state() != "closed" {
			t.Errorf("%v, %s", closed, r.state())
		}
	})
}

func TestTheEndOfALongTaskCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{throughput: {concurrent: 1}, breaker: {calls: 2, failures: 1}}")
		var began []time.Time
		for range 2 {
			p, err := r.gate.Enter(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			p.Leave()
			p.Done(gate.OK) // too late: it counts once
			began = append(began, p.Began)
		}
		if len(r.calls) != 0 {
			t.Errorf("%v", r.calls)
		}
		time.Sleep(time.Hour)
		for _, at := range began {
			r.gate.Ended(u, "bank/ada", at, gate.Failed)
		}
		if r.state() != "open" || len(r.calls) != 2 || r.calls[0].Ended.Sub(r.calls[0].Began) != time.Hour {
			t.Errorf("%s, %+v", r.state(), r.calls)
		}
	})
}
