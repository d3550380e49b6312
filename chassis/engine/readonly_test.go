package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"sabha.dev/chassis/agent"
)

func TestASkillThatOnlyReadsRunsOnceForOneMessage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		var runs atomic.Int32
		p := r.start("a", one(agent.Skill{ID: "do", ReadOnly: true, Run: func(context.Context, agent.Run) (agent.Outcome, error) {
			runs.Add(1)
			return agent.Completed(agent.Text("read")), nil
		}}))
		first := p.send(request("m1", "do", "go"))
		if said(first) != "read" {
			t.Fatalf("the task ended with %q", said(first))
		}
		if again := p.send(request("m1", "do", "go")); again.GetId() != first.GetId() {
			t.Errorf("the same message became task %s, was %s", again.GetId(), first.GetId())
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("the skill ran %d times", n)
		}
		if stored := p.task(first.GetId()); said(stored) != "read" || len(stored.GetHistory()) != 1 {
			t.Errorf("stored: %v", stored)
		}
	})
}
