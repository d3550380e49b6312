package gate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/testrig/clocktest"
)

func TestNeverMoreCallsBeginInAnyMinuteThanWereAgreedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{throughput: {per_minute: 30}}")
		var began []time.Time
		for range 4000 { // a call each 100 ms for more than six minutes
			at := time.Now()
			switch closed := r.call(u, 0, gate.OK); {
			case closed == nil:
				began = append(began, at)
			case closed.Why != gate.Rate || !closed.RetryAt.Equal(began[len(began)-30].Add(time.Minute)):
				t.Fatalf("%+v", closed)
			}
			time.Sleep(100 * ms)
		}
		for i := 30; i < len(began); i++ {
			if began[i].Sub(began[i-30]) < time.Minute {
				t.Fatalf("31 calls from %s to %s", began[i-30], began[i])
			}
		}
		if len(began) != 7*30 {
			t.Errorf("%d calls in 6:40", len(began))
		}
	})
}

func TestChangedRatesKeepWhatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		many, few, more := terms(t, "{throughput: {per_minute: 5}}"), terms(t, "{throughput: {per_minute: 2}}"), terms(t, "{throughput: {per_minute: 4}}")
		for range 3 {
			r.call(many, time.Second, gate.OK)
		}
		if closed := r.call(few, 0, gate.OK); closed == nil || time.Until(closed.RetryAt) != 58*time.Second {
			t.Errorf("%+v", closed)
		}
		for range 2 { // the two latest are remembered
			if closed := r.call(more, 0, gate.OK); closed != nil {
				t.Errorf("%+v", closed)
			}
		}
		if closed := r.call(more, 0, gate.OK); closed == nil || closed.Why != gate.Rate {
			t.Errorf("%+v", closed)
		}
	})
}

func TestReplicasShareWhatWasAgreedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := 1
		g := gate.New(gate.Config{Clock: clock.System{}, Replicas: func() int { return replicas }})
		enter := func() (n int) { // how many get in
			for {
				p, err := g.Enter(t.Context(), terms(t, "{throughput: {per_minute: 9, concurrent: 100}}"))
				if err != nil {
					return n
				}
				p.Done(gate.OK)
				n++
			}
		}
		for _, c := range []struct{ replicas, want int }{{2, 5}, {1, 4}, {3, 0}} { // 5 of 9; then the rest of 9
			if replicas = c.replicas; enter() != c.want {
				t.Errorf("with %d replicas not %d", c.replicas, c.want)
			}
		}
		time.Sleep(time.Minute)
		if replicas = 4; enter() != 3 {
			t.Error("a quarter of 9 is 3, rounded up")
		}
	})
}

func TestMaintenanceHoldsCallsBackAndExcusesThoseUnderWay(t *testing.T) {
	clock := clocktest.New(time.Date(2027, 3, 28, 0, 59, 0, 0, time.UTC)) // a minute before London's clock is put forward to 02:00
	r := &rig{T: t, refused: map[gate.Why]int{}}
	g := gate.New(gate.Config{Clock: clock, Ledger: r})
	u := terms(t, `{maintenance: [{days: [sun], from: "01:30", to: "04:00", zone: Europe/London}]}`)
	p, err := g.Enter(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	_, err = g.Enter(t.Context(), u)
	var closed *gate.Closed
	if !errors.As(err, &closed) || closed.Why != gate.Maintenance || closed.RetryAt.UTC().Format(time.TimeOnly) != "03:00:00" {
		t.Fatalf("%v", err)
	}
	p.Done(gate.Failed)
	if len(r.calls) != 1 || !r.calls[0].Maintenance || r.refused[gate.Maintenance] != 1 {
		t.Errorf("%+v, %v", r.calls, r.refused)
	}
	clock.Advance(2 * time.Hour)
	if p, err = g.Enter(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	p.Done(gate.OK)
	if r.calls[1].Maintenance {
		t.Error("a call after it counts as one within")
	}
}

func TestManyGoroutinesKeepToTheLimits(t *testing.T) {
	var running, most, passed, busy atomic.Int64
	g := gate.New(gate.Config{Clock: clock.System{}, Ledger: &rig{T: t, refused: map[gate.Why]int{}}})
	u := terms(t, "{throughput: {concurrent: 7, per_minute: 500}}")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 200 {
				p, err := g.Enter(context.Background(), u)
				if err != nil {
					busy.Add(1)
					continue
				}
				passed.Add(1)
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				_ = g.Breakers()
				running.Add(-1)
				p.Done(gate.OK)
			}
		})
	}
	all.Wait()
	if most.Load() > 7 || passed.Load() > 500 || passed.Load()+busy.Load() != 10_000 {
		t.Errorf("%d at once, %d passed, %d held back", most.Load(), passed.Load(), busy.Load())
	}
	for _, b := range g.Breakers() {
		if b.Running != 0 {
			t.Errorf("%d run still", b.Running)
		}
	}
}

func TestRetriesAreAShareOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{retries: {ratio: 0.1}}")
		take := func() (n int) {
			for r.gate.Retry(u) {
				n++
			}
			return n
		}
		if n := take(); n != 3 {
			t.Errorf("without calls %d retries, want 3", n)
		}
		for range 100 {
			r.call(u, 0, gate.OK)
		}
		if n := take(); n != 7 {
			t.Errorf("after 100 calls %d more, want 7", n)
		}
		time.Sleep(6 * time.Minute)
		if n := take(); n != 3 {
			t.Errorf("six minutes later %d, want 3", n)
		}
	})
}

func TestACallEndsWithItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), terms(t, "{budget: 5s}")
		p, err := r.gate.Enter(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Done(gate.Abandoned)
		ctx, cancel := p.Context(t.Context())
		defer cancel()
		<-ctx.Done()
		if took := time.Since(p.Began); took != 5*time.Second || context.Cause(ctx) != gate.ErrBudget {
			t.Errorf("after %s: %v", took, context.Cause(ctx))
		}
	})
}

func TestACallThatNobodyWaitsForDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.gate.Enter(ctx, terms(t, "{}")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
