package contract

import (
	"math"
	"slices"

	"sabha.dev/services/partners/internal/drift"
)

// bins of a histogram.
const bins = 20

// Figures are why a verdict was found, or what a look sees now.
type Figures struct {
	// Baseline by number, and how many runs of it and after it were compared.
	Baseline     int64 `json:"baseline"`
	BaselineRuns int   `json:"baseline_runs"`
	Runs         int   `json:"runs"`
	// P is the probability of the strongest finding when nothing has changed; a drift is
	// called at most at [drift.LookAlpha].
	P        float64         `json:"p"`
	Findings []drift.Finding `json:"findings,omitempty"`
	Measures []MeasureFigure `json:"measures,omitempty"`
	// Bad answers of the latest runs, how many those allow, and how many answers there were.
	Bad     int `json:"bad"`
	Allowed int `json:"allowed"`
	Answers int `json:"answers"`
	// Problems are the latest different ones of bad answers.
	Problems []string `json:"problems,omitempty"`
}

// MeasureFigure is one measure then and now.
type MeasureFigure struct {
	Measure string     `json:"measure"`
	Kind    drift.Kind `json:"kind"`
	// Edges of the bins of both histograms: bin i holds what is at least edge i and, but for
	// the last, under edge i+1.
	Edges    []float64 `json:"edges,omitempty"`
	Baseline Summary   `json:"baseline"`
	Now      Summary   `json:"now"`
}

// Summary of the values of a measure: in its own unit, times in seconds.
type Summary struct {
	Values     int            `json:"values"`
	Mean       float64        `json:"mean"`
	SD         float64        `json:"sd"`
	P5         float64        `json:"p5"`
	Median     float64        `json:"median"`
	P95        float64        `json:"p95"`
	Counts     []int          `json:"counts,omitempty"`
	Categories map[string]int `json:"categories,omitempty"`
}

// maxAspects that are kept of a look.
const maxAspects = 10

// figures of a look.
func (s *Suite) figures(b *Baseline, baseline, now []Run, look drift.Result) Figures {
	f := Figures{Baseline: b.Number, BaselineRuns: len(baseline), Runs: len(now), P: look.P}
	f.Findings = look.Findings[:min(len(look.Findings), maxAspects)]
	all := append([]Measure{{Name: Outcome, Kind: drift.Category}, {Name: Took, Kind: drift.Latency}}, s.Measures...)
	for _, m := range all {
		one := MeasureFigure{Measure: m.Name, Kind: m.Kind}
		if m.Kind == drift.Category {
			one.Baseline, one.Now = names(baseline, m.Name), names(now, m.Name)
		} else {
			then, since := values(baseline, m.Name), values(now, m.Name)
			one.Edges = edges(then, since)
			one.Baseline, one.Now = summary(then, one.Edges), summary(since, one.Edges)
		}
		f.Measures = append(f.Measures, one)
	}
	return f
}

// values are those of a measure, in order of size.
func values(runs []Run, measure string) []float64 {
	var list []float64
	for _, r := range runs {
		for _, x := range r.Samples {
			v, ok := x.Numbers[measure]
			if measure == Took {
				v, ok = x.Took, x.Outcome != Failed
			}
			if ok {
				list = append(list, v)
			}
		}
	}
	slices.Sort(list)
	return list
}

func names(runs []Run, measure string) Summary {
	s := Summary{Categories: map[string]int{}}
	for _, r := range runs {
		for _, x := range r.Samples {
			c, ok := x.Categories[measure]
			if measure == Outcome {
				c, ok = x.Outcome, true
			}
			if ok {
				s.Categories[c]++
				s.Values++
			}
		}
	}
	return s
}

func edges(then, since []float64) []float64 {
	all := slices.Concat(then, since)
	if len(all) == 0 {
		return nil
	}
	low, high := slices.Min(all), slices.Max(all)
	if low == high {
		return []float64{low, high}
	}
	list := make([]float64, bins+1)
	for i := range list {
		list[i] = low + (high-low)*float64(i)/bins
	}
	return list
}

func summary(sorted, edges []float64) Summary {
	n := len(sorted)
	s := Summary{Values: n}
	if n == 0 {
		return s
	}
	s.Counts = make([]int, len(edges)-1)
	for _, x := range sorted {
		s.Mean += x / float64(n)
		i, found := slices.BinarySearch(edges, x)
		if !found {
			i--
		}
		s.Counts[min(max(i, 0), len(s.Counts)-1)]++
	}
	for _, x := range sorted {
		s.SD += (x - s.Mean) * (x - s.Mean) / float64(n)
	}
	s.SD = math.Sqrt(s.SD)
	at := func(q float64) float64 { return sorted[int(math.Round(q*float64(n-1)))] }
	s.P5, s.Median, s.P95 = at(0.05), at(0.5), at(0.95)
	return s
}

// count notes bad answers of runs.
func (f *Figures) count(s *Suite, runs []Run) {
	f.Bad, f.Answers, f.Problems = 0, 0, nil
	for _, r := range slices.Backward(runs) {
		for _, x := range r.Samples {
			if x.Outcome == Failed {
				continue
			}
			f.Answers++
			if x.Outcome == Good {
				continue
			}
			f.Bad++
			if said := x.Task + ": " + x.Problem; len(f.Problems) < 5 && !slices.Contains(f.Problems, said) {
				f.Problems = append(f.Problems, said)
			}
		}
	}
	f.Allowed = s.Calls() * drift.Window * (100 - s.Passes) / 100
}
