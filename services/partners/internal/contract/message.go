package contract

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// count narrows what is bounded far below.
func count(n int) int32 { return int32(n) } //nolint:gosec // bounded by the suite

func suiteMessage(s *Suite) *partnersv1.Suite {
	return &partnersv1.Suite{
		Partner: s.Partner, Owner: s.Owner, EverySeconds: int64(s.Every.Seconds()), Tasks: count(len(s.Tasks)), Calls: count(s.Calls()),
		OnDrift: string(s.OnDrift), OnFailure: string(s.OnFailure), Notes: s.Notes,
	}
}

func baselineMessage(b *Baseline) *partnersv1.Baseline {
	if b == nil {
		return nil
	}
	return &partnersv1.Baseline{
		Number: b.Number, Size: count(b.Size), BegunAt: stamp(b.BegunAt), CompleteAt: stamp(b.CompleteAt), BegunBy: b.By, Reason: b.Reason,
	}
}

func runMessage(r Run, samples bool) *partnersv1.Run {
	m := &partnersv1.Run{
		Number: r.Number, State: string(r.State), AskedBy: r.By, Reason: r.Reason, CreatedAt: stamp(r.CreatedAt), StartedAt: stamp(r.StartedAt),
		EndedAt: stamp(r.EndedAt), Calls: count(r.Calls), Good: count(r.Good), Failed: count(r.Failed), Baseline: r.Baseline, Look: r.Look,
	}
	if !samples {
		return m
	}
	for _, x := range r.Samples {
		m.Samples = append(m.Samples, &partnersv1.Sample{
			Task: x.Task, Outcome: x.Outcome, Problem: x.Problem, Digest: x.Digest, TookSeconds: x.Took, Numbers: x.Numbers, Categories: x.Categories,
		})
	}
	return m
}

func findingMessage(v Verdict) *partnersv1.Finding {
	m := &partnersv1.Finding{
		Run: v.Number, Kind: v.Kind, Action: string(v.Action), FoundAt: stamp(v.FoundAt), ClosedAt: stamp(v.ClosedAt), ClosedBy: v.ClosedBy,
	}
	var f Figures
	if json.Unmarshal(v.Figures, &f) == nil {
		m.Reason, m.Figures = reason(v.Kind, f), figuresMessage(f)
	}
	return m
}

func figuresMessage(f Figures) *partnersv1.Figures {
	m := &partnersv1.Figures{
		Baseline: f.Baseline, BaselineRuns: count(f.BaselineRuns), Runs: count(f.Runs), P: f.P, Bad: count(f.Bad), Allowed: count(f.Allowed),
		Answers: count(f.Answers), Problems: f.Problems,
	}
	for _, a := range f.Findings {
		m.Aspects = append(m.Aspects, &partnersv1.Aspect{Measure: a.Measure, Aspect: a.Aspect, Category: a.Category, Z: a.Z, P: a.P})
	}
	for _, x := range f.Measures {
		m.Measures = append(m.Measures, &partnersv1.Measure{
			Name: x.Measure, Kind: string(x.Kind), Edges: x.Edges, Baseline: summaryMessage(x.Baseline), Now: summaryMessage(x.Now),
		})
	}
	return m
}

func summaryMessage(s Summary) *partnersv1.Summary {
	m := &partnersv1.Summary{Values: count(s.Values), Mean: s.Mean, Deviation: s.SD, P5: s.P5, Median: s.Median, P95: s.P95}
	for _, n := range s.Counts {
		m.Counts = append(m.Counts, count(n))
	}
	for name, n := range s.Categories {
		if m.Categories == nil {
			m.Categories = map[string]int32{}
		}
		m.Categories[name] = count(n)
	}
	return m
}
