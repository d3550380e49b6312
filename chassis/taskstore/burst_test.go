package taskstore_test

import (
	"fmt"
	"testing"
	"time"

	"sabha.dev/chassis/taskstore"
)

// More rows than one statement takes, one of them with what PostgreSQL takes in no text.
func TestABurstOfAuditRowsIsStoredWhole(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		const rows = 70
		for i := range rows {
			h := taskstore.Hop{TraceID: "burst", Agent: "echo", Skill: fmt.Sprintf("s%d", i), StartedAt: start, EndedAt: start, Outcome: "MESSAGE"}
			if i == 3 {
				h.Outcome, h.Reason = "ERROR", "unknown field x\x00"
			}
			s.Record(h)
		}
		var hops []taskstore.Hop
		for range 200 {
			var err error
			hops, err = s.Hops(t.Context(), "", "burst")
			r.must(err)
			if len(hops) == rows {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		reasons := 0
		for _, h := range hops {
			if h.Reason == "unknown field x\uFFFD" {
				reasons++
			}
		}
		if len(hops) != rows || reasons != 1 {
			t.Errorf("%d rows with %d reasons, want %d with 1", len(hops), reasons, rows)
		}
	})
}
