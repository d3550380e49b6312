package engine

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/taskstore"
)

// elsewhereAfter is how long a task rests that this replica does not know how to carry
// out. Whichever replica looks first then has it, so while releases are replaced one by
// one it comes to one that knows within a few of these.
const elsewhereAfter = 5 * time.Second

// elsewhere lets go of a task for another replica. It stays as it is, with the reason
// told once. Its budget bounds this, except while it waits for people: then the budget
// stands still.
func (r *run) elsewhere(o agent.Outcome) agent.Outcome {
	var now *a2apb.TaskStatus
	canceling := false
	r.h.View(func(rec *taskstore.Record) { now, canceling = rec.Task.GetStatus(), rec.CancelRequested })
	at := r.e.Clock.Now()
	switch {
	case canceling:
		return agent.Canceled(append([]*a2apb.Part{agent.Text("Canceled. What had been begun is neither stopped nor undone: ")}, o.Message.GetParts()...)...)
	case !interrupted(now.GetState()) && !at.Before(r.deadline):
		return agent.Failed(o.Message.GetParts()...)
	}
	why := agent.TextOf(o.Message.GetParts())
	if agent.TextOf(now.GetMessage().GetParts()) == why {
		o.Message = nil
	} else {
		r.e.Logger.Warn("a task is left to a replica of another release", "task_id", r.id, "skill", r.req.Skill, "reason", why)
	}
	return agent.Outcome{State: now.GetState(), Message: o.Message, WakeAt: at.Add(elsewhereAfter)}
}
