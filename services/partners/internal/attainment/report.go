package attainment

import (
	"context"
	"time"

	"sabha.dev/services/partners/internal/agreement"
)

// Window is a rolling time up to now.
type Window string

// The windows.
const (
	LastHour  Window = "1h"
	LastDay   Window = "24h"
	LastMonth Window = "30d"
)

// Windows are all of them.
var Windows = []Window{LastHour, LastDay, LastMonth}

// Bounds of the window: to is the end of the minute that runs, from that far before it, by
// the minute, and of the longest by the hour.
func (w Window) Bounds(now time.Time) (from, to time.Time) {
	to = now.UTC().Truncate(time.Minute).Add(time.Minute)
	switch w {
	case LastHour:
		return to.Add(-time.Hour), to
	case LastDay:
		return to.Add(-24 * time.Hour), to
	}
	return to.Add(-30 * 24 * time.Hour).Truncate(time.Hour), to
}

// Status says whether something is as was agreed on.
type Status string

// The states.
const (
	Attained Status = "attained"
	Missed   Status = "missed"
	Unknown  Status = "unknown" // there was nothing to tell it by
)

// Target is something that was agreed on, and what it was.
type Target struct {
	// Name is p50, p95, p99 (in seconds), availability (in percent) or throughput (in calls
	// a minute).
	Name   string
	Status Status
	// Agreed and Measured in the unit of the target. Margin is how much better than agreed
	// it was; below zero: worse.
	Agreed, Measured, Margin float64
}

// Budget is how many calls may fail before the availability agreed on is missed.
type Budget struct {
	Allowed float64
	Used    int64
	// Left is the share that is left: 1 of an untouched one, 0 of one that is used up, less
	// when it is exceeded.
	Left float64
}

// Report says how a skill stands against its agreement over a time.
type Report struct {
	Terms   *agreement.Terms
	Figures *Figures
	Targets []Target
	// Budget is nil where no availability was agreed on or nothing was asked.
	Budget *Budget
	// Maintenance is how much of the time lay in windows of the agreement.
	Maintenance time.Duration
}

// Report reports on a skill from a time until another. What was gathered and not written
// yet is written first.
func (l *Ledger) Report(ctx context.Context, t *agreement.Terms, from, to time.Time) (*Report, error) {
	if err := l.Flush(ctx); err != nil {
		return nil, err
	}
	f, err := l.Figures(ctx, t.Address.Partner, t.Address.Skill, from, to)
	if err != nil {
		return nil, err
	}
	return Assess(t, f), nil
}

// Assess compares figures with what was agreed on.
//
// A call counts as available when it was answered as agreed: availability is OK among all
// that ended and were not given up by us. Response times are those of answers, valid or
// not, since what was never answered is availability's. Throughput is attained while the
// partner has not said that it is asked too much: calls beyond what was agreed on are never
// made.
func Assess(t *agreement.Terms, f *Figures) *Report {
	r := &Report{Terms: t, Figures: f, Maintenance: t.MaintenanceBetween(f.From, f.To)}
	for _, p := range []struct {
		name   string
		share  float64
		agreed time.Duration
	}{{"p50", .5, t.Response.P50}, {"p95", .95, t.Response.P95}, {"p99", .99, t.Response.P99}} {
		if p.agreed == 0 {
			continue
		}
		measured, known := f.Percentile(p.share)
		r.add(p.name, p.agreed.Seconds(), measured.Seconds(), (p.agreed - measured).Seconds(), known)
	}
	counted := f.Counted()
	if t.Availability > 0 {
		measured := 0.0
		if counted > 0 {
			measured = 100 * float64(f.OK) / float64(counted)
			r.Budget = budget(t.Availability, counted, counted-f.OK)
		}
		r.add("availability", t.Availability, measured, measured-t.Availability, counted > 0)
	}
	r.throughput(counted)
	return r
}

func (r *Report) add(name string, agreed, measured, margin float64, known bool) {
	target := Target{Name: name, Status: Unknown, Agreed: agreed}
	if known {
		target.Measured, target.Margin, target.Status = measured, margin, Missed
		if margin >= 0 {
			target.Status = Attained
		}
	}
	r.Targets = append(r.Targets, target)
}

// throughput is missed as soon as the partner has refused a call: how much less than agreed
// it serves nobody can tell, so the margin then is none.
func (r *Report) throughput(counted int64) {
	agreed := float64(r.Terms.Throughput.PerMinute)
	t := Target{Name: "throughput", Status: Unknown, Agreed: agreed, Measured: float64(r.Figures.Peak)}
	switch {
	case r.Figures.Throttled > 0:
		t.Status = Missed
	case counted > 0:
		t.Status = Attained
	}
	r.Targets = append(r.Targets, t)
}

func budget(availability float64, counted, failed int64) *Budget {
	b := &Budget{Allowed: float64(counted) * (100 - availability) / 100, Used: failed}
	switch {
	case b.Allowed > 0:
		b.Left = 1 - float64(failed)/b.Allowed
	case failed == 0:
		b.Left = 1
	}
	return b
}
