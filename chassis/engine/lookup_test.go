package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
)

func TestASkillThatIsLookedUpIsOneLikeOthers(t *testing.T) {
	r := onSQLite(t)
	var there, direct atomic.Bool
	there.Store(true)
	asks := func(_ context.Context, run agent.Run) (agent.Outcome, error) {
		if len(run.Task().GetHistory()) == 1 {
			return agent.InputRequired(agent.Text("which?")), nil
		}
		return agent.Completed(agent.Text("took " + agent.TextOf(run.Request().Message.GetParts()))), nil
	}
	a := agent.Agent{Tenant: "agent", Name: "Agent", Version: "1", Lookup: func(id string) *agent.Skill {
		if !there.Load() || !strings.HasPrefix(id, "acme/") {
			return nil
		}
		s := &agent.Skill{ID: id, Name: id, Budget: time.Hour, Run: asks}
		if direct.Load() {
			s.Answer = func(context.Context, *agent.Request) (*a2apb.Message, error) {
				return agent.Message(agent.Text("at once")), nil
			}
		}
		return s
	}}
	p := r.start("p", a)
	task := p.send(request("m1", "acme/sell", "a hat"))
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		t.Fatalf("the task is %s", task.GetStatus().GetState())
	}
	p.die()

	// The skill has come to answer at once. A task of it goes on all the same, elsewhere.
	direct.Store(true)
	q := r.start("q", a)
	res, err := q.SendMessage(alice(t), request("m2", "acme/sell", "a hat"))
	r.must(err)
	if got := agent.TextOf(res.GetMessage().GetParts()); got != "at once" {
		t.Errorf("a direct answer is %q", got)
	}
	if got := said(q.send(followUp("m3", task.GetId(), "the red one"))); got != "took the red one" {
		t.Errorf("the task ended with %q", got)
	}

	for _, skill := range []string{"other/sell", ""} {
		_, err = q.SendMessage(alice(t), request("m4"+skill, skill, "a hat"))
		wantReason(t, err, fault.UnknownSkill)
		if !strings.Contains(err.Error(), "those that its extended card lists") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestATaskWhoseSkillIsGoneWaitsForOneThatHasIt(t *testing.T) {
	r := onSQLite(t)
	var there atomic.Bool
	there.Store(true)
	a := agent.Agent{Tenant: "agent", Name: "Agent", Version: "1", Lookup: func(id string) *agent.Skill {
		if !there.Load() {
			return nil
		}
		return &agent.Skill{ID: id, Name: id, Budget: time.Hour, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
			if len(run.Task().GetHistory()) == 1 {
				return agent.InputRequired(agent.Text("which?")), nil
			}
			return agent.Completed(), nil
		}}
	}}
	p := r.start("p", a)
	task := p.send(request("m1", "acme/sell", "a hat"))
	there.Store(false)
	p.send(atOnce(followUp("m2", task.GetId(), "the red one")))
	r.eventually("the task says what it waits for", func() bool {
		return strings.Contains(said(p.task(task.GetId())), "does not have the skill acme/sell")
	})
	there.Store(true)
	r.eventually("the task completes", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_COMPLETED))
}
