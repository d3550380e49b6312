// Package drift tells whether runs of golden tasks still measure what they measured when
// a person accepted the partner: a permutation test over whole runs, exact for whatever
// distribution the answers have.
//
// A run is the unit. Its answers may depend on each other as they like (one slow host, one
// odd prompt of the day); what is assumed of an unchanged partner is that its runs could
// have come in another order. docs/contract-tests.md says what the test finds and what not.
package drift

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The figures of monitoring.
const (
	// Window is how many of the latest runs are compared with the baseline.
	Window = 20
	// FalseAlarms is the most, over Window successive runs, that an unchanged partner's
	// probability of a false alarm may be. Every run is a look, so each look has a share of
	// it: by the union bound the whole is kept whatever the looks have in common.
	FalseAlarms = 0.01
	// LookAlpha is the level of one look.
	LookAlpha = FalseAlarms / Window
	// LeastNow is how many runs after the baseline the first look needs.
	LeastNow = 5
	// permutations of one look: enough that LookAlpha is ten of them.
	permutations = 20_000
)

// Kind of what is measured.
type Kind string

// The kinds. Latency and Length are numbers that are compared as their logarithms.
const (
	Number   Kind = "number"
	Length   Kind = "length"
	Latency  Kind = "latency"
	Category Kind = "category"
)

// Key names what was measured of which golden task.
type Key struct{ Measure, Task string }

// Run is what one run measured; of each task as many values as it was asked for and
// answered.
type Run struct {
	Numbers    map[Key][]float64
	Categories map[Key][]string
}

// What a finding is about.
const (
	Level  = "level"  // values are higher or lower, by their ranks
	Mean   = "mean"   // the mean has moved, outliers counted in full
	Spread = "spread" // values lie further apart, or closer together
	Tasks  = "tasks"  // tasks have moved, each its own way
	Share  = "share"  // a category is given more or less often
	Mix    = "mix"    // categories have moved, each task its own way
)

// Finding is what the look says of one aspect of a measure.
type Finding struct {
	Measure string `json:"measure"`
	Aspect  string `json:"aspect"`
	// Category of a share.
	Category string `json:"category,omitempty"`
	// Z is how many standard errors there are between baseline and now, signed where the
	// aspect has a direction.
	Z float64 `json:"z"`
	// P is the probability of such a finding in any aspect of any measure when nothing has
	// changed. It is rough above [LookAlpha], where the look ends early.
	P float64 `json:"p"`
}

// strength orders findings: a chi-square below what is expected is a weak one.
func (f Finding) strength() float64 {
	if f.Aspect == Tasks || f.Aspect == Mix {
		return f.Z
	}
	return math.Abs(f.Z)
}

// Result of a look.
type Result struct {
	// Drift says that the runs differ, at the level of one look.
	Drift bool `json:"drift"`
	// P of the strongest finding.
	P        float64   `json:"p"`
	Findings []Finding `json:"findings"` // the strongest first
}

// Look compares runs with those of the baseline, both in the order of time. The result is
// the same for the same runs. Fewer runs than [LeastNow], or a baseline of fewer than
// [Window], are not compared.
func Look(baseline, now []Run) Result {
	if len(now) < LeastNow || len(baseline) < Window {
		return Result{P: 1}
	}
	return compare(baseline, now, LookAlpha, permutations)
}

// Steady tells whether the two halves of a baseline agree, at the level of 1%: what moves
// while it is recorded is no baseline.
func Steady(baseline []Run) Result {
	half := len(baseline) / 2
	if half < LeastNow {
		return Result{P: 1}
	}
	return compare(baseline[:half], baseline[half:], 0.01, 2000)
}

func compare(baseline, now []Run, alpha float64, shuffles int) Result {
	all := slices.Concat(baseline, now)
	m := scores(all)
	m.scale(len(now))
	m.count(len(baseline))
	at := make([]int, len(all))
	for i := range at {
		at[i] = i
	}
	sums := make([]float64, m.width)
	m.sum(sums, at[len(baseline):])
	if len(m.aspects) == 0 {
		return Result{P: 1}
	}
	found := make([]Finding, len(m.aspects))
	strength := make([]float64, len(m.aspects))
	for i, a := range m.aspects {
		strength[i] = a.strength(sums, a.inflation)
		found[i] = Finding{Measure: a.measure, Aspect: a.name, Category: a.category, Z: strength[i]}
		if len(a.columns) == 1 && sums[a.columns[0]] < 0 {
			found[i].Z = -strength[i]
		}
	}
	most := slices.Max(strength)
	// A shuffle whose strongest aspect is as strong as what was seen counts against it. When
	// more than alpha of all shuffles have, the rest is not needed.
	limit := alpha * float64(shuffles)
	beaten := make([]int, len(found))
	random := rand.New(rand.NewPCG(uint64(len(baseline)), uint64(len(now)))) //nolint:gosec // shuffles, not secrets
	against, done := 0, 0
	for done < shuffles-1 && float64(against+1) <= limit {
		for i := range len(now) {
			j := i + random.IntN(len(at)-i)
			at[i], at[j] = at[j], at[i]
		}
		m.sum(sums, at[:len(now)])
		strongest := math.Inf(-1)
		for _, a := range m.aspects {
			strongest = max(strongest, a.strength(sums, 1))
		}
		done++
		if strongest >= most-1e-9 {
			against++
		}
		for i, s := range strength {
			if strongest >= s-1e-9 {
				beaten[i]++
			}
		}
	}
	for i := range found {
		found[i].P = float64(beaten[i]+1) / float64(done+1)
	}
	r := Result{P: float64(against+1) / float64(done+1), Findings: found}
	r.Drift = float64(against+1) <= limit
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(b.strength(), a.strength()) })
	return r
}
