package render

import (
	"slices"
	"strings"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Hops draws the audited calls of a request in the order in which they began;
// a call made for another is set in under it.
func (s Style) Hops(hops []*adminv1.Hop) []string {
	hops = slices.Clone(hops)
	slices.SortStableFunc(hops, func(a, b *adminv1.Hop) int { return a.GetStartedAt().AsTime().Compare(b.GetStartedAt().AsTime()) })
	depth := map[string]int{}
	rows := make([][]string, len(hops))
	for i, h := range hops {
		d := 0
		if parent, ok := depth[h.GetParentTaskId()]; ok && h.GetParentTaskId() != "" {
			d = parent + 1
		}
		if h.GetTaskId() != "" {
			depth[h.GetTaskId()] = d
		}
		took := "running"
		if h.GetEndedAt() != nil {
			took = Took(h.GetEndedAt().AsTime().Sub(h.GetStartedAt().AsTime()))
		}
		rows[i] = []string{
			s.millis(h), took, strings.Repeat("  ", d) + h.GetCaller() + " → " + h.GetAgent() + "/" + h.GetSkill(), h.GetProtocolVersion(), outcome(h), h.GetAdmission(),
		}
	}
	lines := s.Table([]string{"TIME", "TOOK", "CALL", "A2A", "OUTCOME", "ADMISSION"}, rows)
	out := lines[:1:1]
	for i, h := range hops {
		out = append(out, lines[i+1])
		if why := line(h.GetReason()); why != "" {
			out = append(out, s.paint(dim, cut("              "+why, s.Width)))
		}
	}
	return out
}

func (s Style) millis(h *adminv1.Hop) string {
	t := h.GetStartedAt().AsTime()
	if s.Zone != nil {
		t = t.In(s.Zone)
	}
	return t.Format("15:04:05.000")
}

// outcome of a hop: the last state of its task, or that it answered directly.
func outcome(h *adminv1.Hop) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(h.GetOutcome(), "TASK_STATE_"), "_", " "))
}
