package request

import (
	"cmp"
	"slices"
	"strings"
	"time"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Hop is one call between agents.
type Hop struct {
	TaskID, ParentTaskID string
	Caller, Agent, Skill string
	Started, Ended       time.Time // Ended is zero while it runs
	Outcome              State     // Answered, or the state of the task
	Reason               string
	Admission            string
	// What the audit has of the call beside that.
	Principal, AgentVersion, Protocol, TraceID, RequestDigest, ResponseDigest string
	// Depth under the call that the client made, from 0.
	Depth int
}

// Answered is the outcome of a call that made no task.
const Answered State = "message"

// Took is how long the call has taken by now, never negative.
func (h Hop) Took(now time.Time) time.Duration {
	end := h.Ended
	if end.IsZero() {
		end = now
	}
	return max(0, end.Sub(h.Started))
}

// Trail puts the hops of a request in the order in which they began.
func Trail(hops []*adminv1.Hop) []Hop {
	list := make([]Hop, 0, len(hops))
	for _, h := range hops {
		list = append(list, Hop{
			TaskID: h.GetTaskId(), ParentTaskID: h.GetParentTaskId(), Caller: h.GetCaller(), Agent: h.GetAgent(), Skill: h.GetSkill(),
			Started: at(h.GetStartedAt()), Ended: at(h.GetEndedAt()),
			Outcome: FromWire(h.GetOutcome()), Reason: strings.TrimSpace(h.GetReason()), Admission: h.GetAdmission(),
			Principal: Principal(h.GetPrincipal()), AgentVersion: h.GetAgentVersion(), Protocol: h.GetProtocolVersion(), TraceID: h.GetTraceId(),
			RequestDigest: h.GetRequestDigest(), ResponseDigest: h.GetResponseDigest(),
		})
	}
	slices.SortStableFunc(list, func(a, b Hop) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.Agent+a.TaskID, b.Agent+b.TaskID))
	})
	depth := map[string]int{}
	for i := range list {
		h := &list[i]
		if parent, ok := depth[h.ParentTaskID]; ok && h.ParentTaskID != "" {
			h.Depth = parent + 1
		}
		if h.TaskID != "" {
			depth[h.TaskID] = h.Depth
		}
	}
	return list
}
