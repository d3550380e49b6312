// Package attainment keeps the ledger of what partners were asked and how they answered,
// and says how that stands against what was agreed on.
package attainment

import (
	"math"
	"slices"
	"time"

	"sabha.dev/services/partners/internal/gate"
)

// Figures of a skill, or of a partner's probes, over a time.
type Figures struct {
	From, To time.Time
	// OK to Abandoned are calls by result, outside of maintenance.
	OK, Failed, Invalid, Throttled, Abandoned int64
	// Slow are those of them that took longer than the breaker's limit.
	Slow int64
	// Maintenance are calls that began or ended in a window; they are in no other figure.
	Maintenance int64
	// Held are calls that were not made, by why.
	Held map[gate.Why]int64
	// Probes of the registry, and those that were answered.
	Probes, Answered int64
	// Peak is the most calls that ended in one minute.
	Peak int64
	// Times of the answers: of OK and Invalid.
	Times Times
}

// Counted are the calls that the partner answers for.
func (f *Figures) Counted() int64 { return f.OK + f.Failed + f.Invalid + f.Throttled }

// Percentile is the time within which a share of the answers came, by nearest rank; false
// without answers. See slot for how exact it is.
func (f *Figures) Percentile(share float64) (time.Duration, bool) {
	rank := int64(math.Ceil(share * float64(f.Times.Count())))
	slots := make([]int, 0, len(f.Times))
	for s := range f.Times {
		slots = append(slots, s)
	}
	slices.Sort(slots)
	for _, s := range slots {
		if rank -= f.Times[s]; rank <= 0 {
			return middle(s), true
		}
	}
	return 0, false
}

// Day is what trust reads of a partner: one day, UTC, over all its skills.
type Day struct {
	Date                                                                time.Time
	Calls, OK, Invalid, Failed, Throttled, Slow, Probes, ProbesAnswered int64
}
