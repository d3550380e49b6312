package request

import (
	"cmp"
	"slices"
	"time"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Figures of a span of time up to now.
type Figures struct {
	Span time.Duration
	// Tasks by state, of all time.
	Tasks map[State]int64
	// Buckets are equal parts of the span, oldest first.
	Buckets []Bucket
	// Skills, those with most failures first. More says that of some not every call was counted.
	Skills []Skill
	More   bool
	// Missing names services that gave no figures.
	Missing []string
}

// Bucket counts the tasks that began in a part of the span, and what became of them.
type Bucket struct {
	From                                 time.Time
	Started, Completed, Failed, Canceled int64
}

// Skill is how calls of a skill fared.
type Skill struct {
	Agent, Skill    string
	Calls, Failures int64
	P50, P95        time.Duration
}

// Of a skill; nil when no call of it was counted.
func (f Figures) Of(agent, skill string) *Skill {
	for i, s := range f.Skills {
		if s.Agent == agent && s.Skill == skill {
			return &f.Skills[i]
		}
	}
	return nil
}

// Sum of the buckets.
func (f Figures) Sum() Bucket {
	var sum Bucket
	for _, b := range f.Buckets {
		sum.Started += b.Started
		sum.Completed += b.Completed
		sum.Failed += b.Failed
		sum.Canceled += b.Canceled
	}
	return sum
}

// Add takes the figures of a service from the contract: those of its skills, and, of
// the one that has the requests, those of the tasks.
func (f *Figures) Add(res *adminv1.GetFiguresResponse, requests bool) {
	f.More = f.More || res.GetSkillsMore()
	for _, s := range res.GetSkills() {
		f.Skills = append(f.Skills, Skill{
			Agent: s.GetAgent(), Skill: s.GetSkill(), Calls: s.GetCalls(), Failures: s.GetFailures(),
			P50: milliseconds(s.GetP50()), P95: milliseconds(s.GetP95()),
		})
	}
	slices.SortFunc(f.Skills, func(a, b Skill) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Skill, b.Skill))
	})
	if !requests {
		return
	}
	f.Tasks = map[State]int64{}
	for name, n := range res.GetTasks() {
		f.Tasks[FromWire(name)] = n
	}
	for _, b := range res.GetBuckets() {
		f.Buckets = append(f.Buckets, Bucket{From: at(b.GetFrom()), Started: b.GetStarted(), Completed: b.GetCompleted(), Failed: b.GetFailed(), Canceled: b.GetCanceled()})
	}
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
