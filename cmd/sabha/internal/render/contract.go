package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Suites draws the golden tasks of partners with what stands of each.
func (s Style) Suites(suites []*partnersv1.Suite) []string {
	rows := make([][]string, len(suites))
	for n, x := range suites {
		state := "no finding"
		if b := x.GetBaseline(); b == nil || b.GetCompleteAt() == nil {
			state = "recording a baseline"
		}
		for _, f := range x.GetOpen() {
			state = f.GetKind()
		}
		rows[n] = []string{line(x.GetPartner()), strconv.Itoa(int(x.GetTasks())), strconv.Itoa(int(x.GetCalls())), s.moment(x.GetLatest().GetCreatedAt()), state}
	}
	return s.Table([]string{"PARTNER", "TASKS", "CALLS A RUN", "LATEST RUN", "STATE"}, rows)
}

// Runs draws runs of golden tasks.
func (s Style) Runs(runs []*partnersv1.Run) []string {
	rows := make([][]string, len(runs))
	for n, x := range runs {
		by := "schedule"
		if x.GetAskedBy() != "" {
			by = x.GetAskedBy()
		}
		look := "–"
		if x.GetLook() < 1 {
			look = strconv.FormatFloat(x.GetLook(), 'g', 2, 64)
		}
		rows[n] = []string{
			strconv.FormatInt(x.GetNumber(), 10), s.moment(x.GetCreatedAt()), x.GetState(), fmt.Sprintf("%d of %d", x.GetGood(), x.GetCalls()), look, line(by),
		}
	}
	return s.Table([]string{"RUN", "AT", "STATE", "GOOD", "CHANCE", "BY"}, rows)
}

// Behaviour draws what the runs of a partner show.
func (s Style) Behaviour(v *partnersv1.GetVerdictResponse) []string {
	out := []string{s.paint(bold, line(v.GetPartner())+": "+v.GetState())}
	if b := v.GetBaseline(); b != nil {
		out = append(out, fmt.Sprintf("  baseline %d: %d of %d runs, since %s: %s", b.GetNumber(), v.GetRecorded(), b.GetSize(), s.moment(b.GetBegunAt()), line(b.GetReason())))
	}
	for _, f := range v.GetFindings() {
		state := "stands; " + f.GetAction()
		if f.GetClosedAt() != nil {
			state = "closed by " + line(f.GetClosedBy())
		}
		out = append(out, fmt.Sprintf("  %s  run %d, %s (%s): %s", s.moment(f.GetFoundAt()), f.GetRun(), f.GetKind(), state, line(f.GetReason())))
		if f.GetClosedAt() == nil {
			for _, p := range f.GetFigures().GetProblems() {
				out = append(out, "    "+line(p))
			}
		}
	}
	if f := v.GetFigures(); f != nil {
		out = append(out, "", fmt.Sprintf("the last %d runs against %d of the baseline:", f.GetRuns(), f.GetBaselineRuns()))
		out = append(out, s.measures(f.GetMeasures())...)
	}
	return out
}

func (s Style) measures(list []*partnersv1.Measure) []string {
	var rows [][]string
	figure := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	for _, m := range list {
		then, now := m.GetBaseline(), m.GetNow()
		if m.GetKind() != "category" {
			rows = append(rows, []string{line(m.GetName()), figure(then.GetMean()) + " ± " + figure(then.GetDeviation()), figure(now.GetMean()) + " ± " + figure(now.GetDeviation())})
			continue
		}
		for _, name := range categories(then.GetCategories(), now.GetCategories()) {
			share := func(x *partnersv1.Summary) string {
				return fmt.Sprintf("%.1f%%", 100*float64(x.GetCategories()[name])/float64(max(1, x.GetValues())))
			}
			rows = append(rows, []string{line(m.GetName() + " " + name), share(then), share(now)})
		}
	}
	return s.Table([]string{"MEASURE", "BASELINE", "NOW"}, rows)
}

// categories are those of either, in order.
func categories(then, now map[string]int32) []string {
	all := map[string]bool{}
	for name := range then {
		all[name] = true
	}
	for name := range now {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}
