package drift_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"sabha.dev/services/partners/internal/drift"
)

// The two figures of contract tests, as docs/contract-tests.md defines them: a series is a
// baseline of 100 runs and then 20 runs of 10 answers, with a look after each.

func TestAnUnchangedAgentHasAnAlarmInAtMostOneOfAHundredSeries(t *testing.T) {
	a := agent{tasks: 10, draw: normal, change: moved}
	if got := share(a.trials(2000, 100, 0)); got > drift.FalseAlarms {
		t.Errorf("%.2f%% of 2,000 series had a false alarm", 100*got)
	}
}

func TestHalfADeviationIsCaughtWithinTwentyRuns(t *testing.T) {
	a := agent{tasks: 10, draw: normal, change: moved}
	if got := share(a.trials(400, 100, 0.5)); got < 0.97 {
		t.Errorf("%.1f%% of 400 series were caught", 100*got)
	}
}

// verdicts is a run of categories, p the share of "refer".
func verdicts(r *rand.Rand, p float64, flip bool) drift.Run {
	out := drift.Run{Categories: map[drift.Key][]string{}}
	for t := range 10 {
		refer := r.Float64() < p
		if flip && t%2 == 1 {
			refer = r.Float64() < 2*0.3-p
		}
		name := "approve"
		if refer {
			name = "refer"
		}
		out.Categories[drift.Key{Measure: "verdict", Task: fmt.Sprint(t)}] = []string{name}
	}
	return out
}

func TestCategoriesGivenMoreOftenAreCaught(t *testing.T) {
	for _, c := range []struct {
		name, aspect string
		p            float64
		flip, drift  bool
	}{
		{name: "unchanged", p: 0.3},
		{name: "half a deviation", p: 0.53, aspect: drift.Share, drift: true},
		{name: "half of the tasks each way", p: 0.55, flip: true, aspect: drift.Mix, drift: true},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var then, now []drift.Run
		for range 100 {
			then = append(then, verdicts(r, 0.3, false))
		}
		for range 20 {
			now = append(now, verdicts(r, c.p, c.flip))
		}
		got := drift.Look(then, now)
		if got.Drift != c.drift || c.drift && got.Findings[0].Aspect != c.aspect {
			t.Errorf("%s: drift %v at %v, %+v", c.name, got.Drift, got.P, got.Findings[:2])
		}
	}
}

func TestALookIsTheSameForTheSameRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var runs []drift.Run
	for range 60 {
		run := verdicts(r, 0.3, false)
		run.Numbers = map[drift.Key][]float64{{Measure: "x", Task: "a"}: {r.NormFloat64(), r.NormFloat64()}, {Measure: "y", Task: "b"}: {r.Float64()}}
		runs = append(runs, run)
	}
	first := drift.Look(runs[:40], runs[40:])
	for range 5 {
		if again := drift.Look(runs[:40], runs[40:]); !reflect.DeepEqual(first, again) {
			t.Fatalf("first %+v, then %+v", first, again)
		}
	}
}

func TestOddRunsAreCompared(t *testing.T) {
	number := func(xs ...float64) drift.Run {
		return drift.Run{Numbers: map[drift.Key][]float64{{Measure: "x", Task: "a"}: xs}}
	}
	same := make([]drift.Run, 50)
	other := make([]drift.Run, 20)
	for i := range same {
		same[i] = number(5)
	}
	for i := range other {
		other[i] = number(6)
	}
	empty := make([]drift.Run, 20)
	wild := make([]drift.Run, 20)
	for i := range wild {
		wild[i] = number(1e15, -1e15)
	}
	for _, c := range []struct {
		name  string
		now   []drift.Run
		drift bool
	}{
		{"the same answer every time", same[:20], false},
		{"always another answer", other, true},
		{"nothing measured", empty, false},
		{"huge numbers", wild, true},
		{"too few runs", other[:4], false},
		{"few runs", other[:5], true},
	} {
		got := drift.Look(same, c.now)
		if got.Drift != c.drift || math.IsNaN(got.P) || got.P <= 0 || got.P > 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if drift.Look(same[:19], other).Drift {
		t.Error("a baseline of 19 runs was compared")
	}
}

func TestABaselineThatMovesIsNotSteady(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	still, moving := make([]drift.Run, 100), make([]drift.Run, 100)
	for i := range still {
		x := r.NormFloat64()
		still[i] = drift.Run{Numbers: map[drift.Key][]float64{{Measure: "x", Task: "a"}: {x}}}
		moving[i] = drift.Run{Numbers: map[drift.Key][]float64{{Measure: "x", Task: "a"}: {x + float64(i)/40}}}
	}
	if got := drift.Steady(still); got.Drift {
		t.Errorf("a steady baseline is taken for one that moves: %+v", got)
	}
	if got := drift.Steady(moving); !got.Drift {
		t.Errorf("a baseline that moves is taken for a steady one: %+v", got)
	}
}

func TestWhatASuiteNeeds(t *testing.T) {
	for _, c := range []struct {
		shift, power       float64
		baseline, measures int
		want               int
	}{
		{0.5, 0.95, 100, 1, 8},
		{0.5, 0.99, 100, 1, 10},
		{0.5, 0.95, 50, 1, 9},
		{0.5, 0.95, 100, 8, 9},
		{1, 0.95, 100, 1, 2},
		{0.25, 0.95, 100, 1, 29},
	} {
		if got := drift.Needed(c.shift, c.power, c.baseline, c.measures); got != c.want {
			t.Errorf("a shift of %v at %v with %d runs and %d measures needs %d, want %d", c.shift, c.power, c.baseline, c.measures, got, c.want)
		}
	}
}
