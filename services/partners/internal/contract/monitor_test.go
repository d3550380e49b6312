package contract

import (
	"context"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/drift"
	"sabha.dev/services/partners/internal/partner"
)

func TestAShiftOfHalfADeviationIsCaughtWithinTwentyRuns(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *Store) {
		r := newRig(t, open(), golden(t, "on_drift: suspend"), nil)
		r.baseline()
		r.hours(20)
		if v := r.verdicts(); len(v) != 0 {
			t.Fatalf("of an unchanged agent is found %s: %s", v[0].Kind, v[0].Figures)
		}
		before := r.runs()[0].Number
		r.agent.set(func(a *agent) { a.shift = 0.5 })
		r.hours(20)
		list := r.verdicts()
		if len(list) != 1 || list[0].Kind != Drifted || list[0].Number > before+20 || list[0].Organisation != "underwriter plc" {
			t.Fatalf("found is %+v", list)
		}
		f := figures(t, list[0])
		if top := f.Findings[0]; top.Measure != "rate" || top.Z < 3 || f.P > drift.LookAlpha {
			t.Errorf("the strongest finding is %+v at %v", top, f.P)
		}
		for _, m := range f.Measures {
			if m.Measure == "rate" && (m.Now.Mean <= m.Baseline.Mean || len(m.Edges) != bins+1 || len(m.Now.Counts) != bins || m.Now.Values == 0) {
				t.Errorf("the figures of the rate are %+v", m)
			}
		}
		if err := r.carry(t.Context()); err != nil {
			t.Fatal(err)
		}
		state, reason := r.registry.state()
		if state != partner.Suspended || !strings.Contains(reason, "of rate moved by") {
			t.Errorf("the partner is %s: %q", state, reason)
		}
		after := r.runs()[0].Number
		r.hours(3)
		if now := r.runs()[0].Number; now != after {
			t.Errorf("a suspended partner was asked again by the schedule: run %d after %d", now, after)
		}
	})
}

func TestDriftIsOnlyToldWhereTheFileSaysSo(t *testing.T) {
	r := newRig(t, opener(t, "sqlite:"+t.TempDir()+"/p.db")(), golden(t, "on_drift: tell"), nil)
	r.baseline()
	r.agent.set(func(a *agent) { a.shift = 2 })
	r.hours(20)
	if err := r.carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := r.verdicts()
	if len(list) != 1 || list[0].Action != Tell || !list[0].Open() {
		t.Fatalf("found is %+v", list)
	}
	if state, _ := r.registry.state(); state != partner.Approved {
		t.Errorf("the partner is %s", state)
	}
	r.agent.set(func(a *agent) { a.shift = 0 })
	r.hours(45)
	if list = r.verdicts(); len(list) != 1 || list[0].ClosedBy != policy {
		t.Errorf("after it went back: %+v", list)
	}
}

func TestANewBaselineClosesWhatWasFound(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *Store) {
		s := open()
		suite := golden(t, "on_drift: lower")
		r := newRig(t, s, suite, nil)
		r.baseline()
		r.agent.set(func(a *agent) { a.shift = 2 })
		r.hours(20)
		err := s.Rebaseline(t.Context(), &Baseline{
			Partner: "underwriter", Digest: suite.Digest, Size: suite.Baseline, BegunAt: r.clock.Now(), By: "bank/ada", Reason: "they told us of a new model",
		})
		if err != nil {
			t.Fatal(err)
		}
		if list := r.verdicts(); len(list) != 1 || list[0].ClosedBy != "bank/ada" {
			t.Fatalf("found is %+v", list)
		}
		r.hours(75)
		if list := r.verdicts(); len(list) != 1 {
			t.Errorf("what the new baseline says is found as %s: %s", list[0].Kind, list[0].Figures)
		}
		history, err := s.Baselines(t.Context(), "underwriter")
		if err != nil || len(history) != 2 || history[0].Number != 2 || history[0].Reason != "they told us of a new model" || history[0].CompleteAt.IsZero() || history[1].CompleteAt.IsZero() {
			t.Errorf("baselines are %+v (%v)", history, err)
		}
	})
}

func TestBadAnswersAreFoundWithoutTheirValues(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *Store) {
		r := newRig(t, open(), golden(t, "on_failure: suspend"), nil)
		r.baseline()
		r.agent.set(func(a *agent) { a.bad = true })
		r.hours(3)
		list := r.verdicts()
		if len(list) != 1 || list[0].Kind != Failing {
			t.Fatalf("found is %+v", list)
		}
		f := figures(t, list[0])
		if f.Bad != 20 || f.Allowed != 10 || len(f.Problems) == 0 || !strings.Contains(f.Problems[0], "/rate") {
			t.Errorf("the figures are %+v", f)
		}
		for _, run := range r.runs()[:3] {
			for _, x := range run.Samples {
				if strings.Contains(x.Problem, "42") || x.Outcome != Invalid || len(x.Digest) != 64 {
					t.Fatalf("kept is %+v", x)
				}
			}
		}
	})
}

func TestARunWithoutAnswersSaysNothing(t *testing.T) {
	r := newRig(t, opener(t, "sqlite:"+t.TempDir()+"/p.db")(), golden(t, ""), nil)
	r.baseline()
	r.agent.set(func(a *agent) { a.down = true })
	r.hours(30)
	if run := r.runs()[0]; run.State != Unreachable || run.Failed != 10 {
		t.Errorf("the last run is %+v", run)
	}
	if list := r.verdicts(); len(list) != 0 {
		t.Errorf("found is %+v", list)
	}
}

func TestOtherGoldenTasksBeginAnotherBaseline(t *testing.T) {
	s := opener(t, "sqlite:"+t.TempDir()+"/p.db")()
	r := newRig(t, s, golden(t, ""), nil)
	r.baseline()
	changed := golden(t, "")
	changed.Digest = "other"
	r.Monitor = r.replica(s, changed, nil)
	r.hours(2)
	list, err := s.Baselines(t.Context(), "underwriter")
	if err != nil || len(list) != 2 || list[0].Reason != "the golden tasks changed" {
		t.Errorf("baselines are %+v (%v)", list, err)
	}
}

func TestOneReplicaRunsASuiteAtATime(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *Store) {
		suite := golden(t, "")
		one := open()
		r := newRig(t, one, suite, nil)
		if err := r.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Request(t.Context(), "underwriter", 30, "bank/ada", "", r.clock.Now()); err != nil {
			t.Fatal(err)
		}
		monitors := []*Monitor{r.Monitor, r.replica(open(), suite, nil), r.replica(open(), suite, nil)}
		done := make(chan error, len(monitors))
		for _, m := range monitors {
			go func() {
				for {
					err := m.once(context.WithoutCancel(t.Context()))
					due, problem := m.store.Due(t.Context(), r.clock.Now())
					if err != nil || problem != nil || len(due) == 0 {
						done <- err
						return
					}
				}
			}()
		}
		for range monitors {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if err := r.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs := r.runs()
		asked := 0
		for _, run := range runs {
			if run.State != Done || run.Attempts != 1 {
				t.Errorf("run %d is %s after %d attempts", run.Number, run.State, run.Attempts)
			}
			asked += run.Calls
		}
		if asked != r.agent.asked || asked != 10*len(runs) {
			t.Errorf("%d calls are on record in %d runs; %d were made", asked, len(runs), r.agent.asked)
		}
	})
}

func TestARunOfADeadReplicaIsTakenUpAgain(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *Store) {
		suite := golden(t, "")
		r := newRig(t, open(), suite, nil)
		if err := r.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(10 * time.Minute)
		now := r.clock.Now()
		dead, err := r.store.Claim(t.Context(), "underwriter", now, now.Add(11*time.Minute), now.Add(time.Hour), true)
		if err != nil || dead == nil {
			t.Fatalf("claimed is %v (%v)", dead, err)
		}
		if err := r.once(t.Context()); err != nil || r.agent.asked != 0 {
			t.Fatalf("a run under a lease was taken: %d calls (%v)", r.agent.asked, err)
		}
		r.clock.Advance(12 * time.Minute)
		if err := r.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if run := r.runs()[0]; run.Number != dead.Number || run.State != Done || run.Attempts != 2 {
			t.Errorf("the run is %+v", run)
		}
		dead.State = Done
		if _, err := r.store.settle(t.Context(), suite, &r.registry.p, dead); err == nil {
			t.Error("the dead replica could still write its run")
		}
	})
}

func TestAServiceThatStopsGivesItsRunBack(t *testing.T) {
	r := newRig(t, opener(t, "sqlite:"+t.TempDir()+"/p.db")(), golden(t, ""), nil)
	r.agent.hang = true
	if err := r.once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Request(t.Context(), "underwriter", 1, "bank/ada", "", r.clock.Now()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.once(ctx) }()
	for {
		r.agent.mu.Lock()
		asked := r.agent.asked
		r.agent.mu.Unlock()
		if asked > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	<-ended
	r.agent.set(func(a *agent) { a.hang = false })
	if err := r.once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run := r.runs()[0]; run.State != Done || run.Good != 10 {
		t.Errorf("the run is %+v", run)
	}
}
