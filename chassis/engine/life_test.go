package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
)

// one makes an agent with one skill.
func one(s agent.Skill) agent.Agent {
	s.ID = "do"
	return agent.Agent{Tenant: "doer", Name: "Doer", Version: "1", Skills: []agent.Skill{s}}
}

func running(run func(context.Context, agent.Run) (agent.Outcome, error)) agent.Agent {
	return one(agent.Skill{Run: run})
}

func TestHowARunEndsIsWhatTheClientReads(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func(context.Context, agent.Run) (agent.Outcome, error)
		state a2apb.TaskState
		says  string
	}{
		{"completed", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Completed(agent.Text("all is well")), nil
		}, a2apb.TaskState_TASK_STATE_COMPLETED, "all is well"},
		{"failed with a reason", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Failed(agent.Text("no such file")), nil
		}, a2apb.TaskState_TASK_STATE_FAILED, "no such file"},
		{"rejected", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Rejected(agent.Text("against the rules")), nil
		}, a2apb.TaskState_TASK_STATE_REJECTED, "against the rules"},
		{"an error made for clients", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Outcome{}, fault.New(fault.Unavailable, "the index is being built").Because(errBroken)
		}, a2apb.TaskState_TASK_STATE_FAILED, "the index is being built"},
		{"any other error stays inside", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Outcome{}, errBroken
		}, a2apb.TaskState_TASK_STATE_FAILED, "internal error; the operator finds it in the log by trace id"},
		{"a panic stays inside", func(context.Context, agent.Run) (agent.Outcome, error) {
			panic("secret")
		}, a2apb.TaskState_TASK_STATE_FAILED, "internal error; the operator finds it in the log by trace id"},
		{"no outcome", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Outcome{}, nil
		}, a2apb.TaskState_TASK_STATE_FAILED, "the agent gave no outcome"},
		{"an artifact before a failure is kept", func(_ context.Context, run agent.Run) (agent.Outcome, error) {
			if err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{agent.Text("half")}}); err != nil {
				return agent.Outcome{}, err
			}
			return agent.Failed(agent.Text("then nothing")), nil
		}, a2apb.TaskState_TASK_STATE_FAILED, "then nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onSQLite(t)
			p := r.start("a", running(c.run))
			task := p.send(request("m1", "do", "go"))
			stored := p.task(task.GetId())
			for _, got := range []*a2apb.Task{task, stored} {
				if got.GetStatus().GetState() != c.state || said(got) != c.says {
					t.Errorf("%v: %q; want %v: %q", got.GetStatus().GetState(), said(got), c.state, c.says)
				}
			}
			if strings.Contains(c.name, "artifact") && artifacts(stored) != "half" {
				t.Errorf("artifacts %q", artifacts(stored))
			}
			if strings.Contains(c.name, "stays inside") && !strings.Contains(r.log.String(), "secret") {
				t.Errorf("the log does not tell the operator: %s", r.log)
			}
		})
	}
}

func TestARunIsParkedAndWokenAtItsTime(t *testing.T) {
	r := onSQLite(t)
	calls := make(chan time.Time, 10)
	p := r.start("a", one(agent.Skill{Budget: time.Hour, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
		now := r.clock.Now()
		calls <- now
		if now.Before(start.Add(time.Minute)) {
			return agent.Parked(start.Add(time.Minute)), nil
		}
		return agent.Completed(agent.Text("later")), nil
	}}))
	task := p.send(atOnce(request("m1", "do", "go")))
	<-calls
	r.soon("the replica has let go of the task", func() bool {
		rec, err := p.store.Get(t.Context(), task.GetId())
		return err == nil && rec.RunOwner == "" && rec.WakeAt.Equal(start.Add(time.Minute))
	})
	if got := p.state(task.GetId()); got != a2apb.TaskState_TASK_STATE_WORKING {
		t.Errorf("a parked task shows %v", got)
	}
	r.eventually("the task completes", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_COMPLETED))
	if at := <-calls; at.Before(start.Add(time.Minute)) {
		t.Errorf("woken at %v, before its time", at)
	}
}

func TestATaskWhoseBudgetIsSpentFails(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(context.Context, agent.Run) (agent.Outcome, error)
	}{
		{"while it is parked", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Parked(start.Add(24 * time.Hour)), nil
		}},
		{"although it parks again and again", func(_ context.Context, run agent.Run) (agent.Outcome, error) {
			return agent.Parked(run.Deadline().Add(time.Second)), nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onSQLite(t)
			p := r.start("a", one(agent.Skill{Budget: time.Minute, Run: c.run}))
			task := p.send(atOnce(request("m1", "do", "go")))
			r.eventually("the task fails", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_FAILED))
			if got := said(p.task(task.GetId())); got != "the task ran longer than its budget" {
				t.Errorf("the client reads %q", got)
			}
			if now := r.clock.Now(); now.Before(start.Add(time.Minute)) {
				t.Errorf("failed at %v, before its budget was spent", now)
			}
		})
	}
}

func TestARunIsInterruptedWhenItsBudgetIsSpent(t *testing.T) {
	r := onSQLite(t)
	p := r.start("a", one(agent.Skill{Budget: 30 * time.Millisecond, Run: func(ctx context.Context, _ agent.Run) (agent.Outcome, error) {
		<-ctx.Done()
		return agent.Outcome{}, ctx.Err()
	}}))
	task := p.send(request("m1", "do", "go"))
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_FAILED || said(task) != "the task ran longer than its budget" {
		t.Errorf("%v: %q", task.GetStatus().GetState(), said(task))
	}
}

func TestInputIsAskedForAndTheTaskGoesOnWithIt(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		deadlines := make(chan time.Duration, 10)
		a := one(agent.Skill{Budget: time.Minute, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
			deadlines <- run.Deadline().Sub(r.clock.Now())
			if agent.TextOf(run.Request().Message.GetParts()) == "order" {
				r.clock.Advance(10 * time.Second) // its work takes a while
				return agent.InputRequired(agent.Text("which colour?")), nil
			}
			return agent.Completed(agent.Text("a " + agent.TextOf(run.Request().Message.GetParts()) + " one")), nil
		}})
		p, q := r.start("a", a), r.start("b", a)
		asked := p.send(request("m1", "do", "order"))
		if asked.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || said(asked) != "which colour?" {
			t.Fatalf("%v: %q", asked.GetStatus().GetState(), said(asked))
		}
		// The client takes a day; its time does not count.
		r.clock.Advance(24 * time.Hour)
		r.must(p.store.Rejoin(t.Context()))
		r.must(q.store.Rejoin(t.Context()))
		done := q.send(followUp("m2", asked.GetId(), "red"))
		if done.GetId() != asked.GetId() || done.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || said(done) != "a red one" {
			t.Fatalf("%v: %q", done.GetStatus().GetState(), said(done))
		}
		if first, second := <-deadlines, <-deadlines; first != time.Minute || second < 49*time.Second || second > 50*time.Second {
			t.Errorf("the budget was %v, and %v after 10 s of work and a day of waiting; want 1m0s and 50s", first, second)
		}
		var history []string
		for _, m := range done.GetHistory() {
			history = append(history, agent.TextOf(m.GetParts()))
		}
		if got := strings.Join(history, ", "); got != "order, which colour?, red" {
			t.Errorf("history: %s", got)
		}
		if done.GetContextId() != asked.GetContextId() {
			t.Errorf("context %s became %s", asked.GetContextId(), done.GetContextId())
		}
	})
}

func TestTheBudgetStandsStillWhileAnAuthorisationIsAwaited(t *testing.T) {
	r := onSQLite(t)
	left := make(chan time.Duration, 10)
	p := r.start("a", one(agent.Skill{Budget: time.Minute, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
		left <- run.Deadline().Sub(r.clock.Now())
		if run.Task().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_AUTH_REQUIRED {
			return agent.AuthRequired(start.Add(3*time.Minute), agent.Text("sign in first")), nil
		}
		return agent.Completed(agent.Text("signed in")), nil
	}}))
	asked := p.send(request("m1", "do", "go"))
	if asked.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_AUTH_REQUIRED || said(asked) != "sign in first" {
		t.Fatalf("%v: %q", asked.GetStatus().GetState(), said(asked))
	}
	r.eventually("the task completes", p.reached(asked.GetId(), a2apb.TaskState_TASK_STATE_COMPLETED))
	// The clock moves on between the claim and the run.
	if first, second := <-left, <-left; first != time.Minute || second < 55*time.Second {
		t.Errorf("the budget was %v before and %v after three minutes of waiting", first, second)
	}
}

func TestADisconnectLeavesTheTaskRunning(t *testing.T) {
	r := onSQLite(t)
	release := make(chan struct{})
	p := r.start("a", running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		select {
		case <-release:
			return agent.Completed(agent.Text("still here")), nil
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
	}))
	ctx, leave := context.WithCancel(alice(t))
	sent := make(chan error, 1)
	go func() {
		_, err := p.SendMessage(ctx, request("m1", "do", "go"))
		sent <- err
	}()
	var id string
	r.soon("the task is stored", func() bool {
		list, err := p.ListTasks(alice(t), &a2apb.ListTasksRequest{})
		r.must(err)
		if len(list.GetTasks()) == 1 {
			id = list.GetTasks()[0].GetId()
		}
		return id != ""
	})
	leave()
	if err := <-sent; err == nil {
		t.Error("the call of a client that left gave an answer")
	}
	close(release)
	r.soon("the task completes", p.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
}

// doing begins a task of the skill "do" on a release whose replica then dies. The next
// release has another skill.
func doing(r *rig) (id string, next agent.Agent) {
	old := r.start("a", running(func(ctx context.Context, _ agent.Run) (agent.Outcome, error) {
		<-ctx.Done()
		return agent.Outcome{}, ctx.Err()
	}))
	id = old.send(atOnce(request("m1", "do", "go"))).GetId()
	old.die()
	next = one(agent.Skill{Run: func(context.Context, agent.Run) (agent.Outcome, error) { return agent.Completed(), nil }})
	next.Skills[0].ID = "other"
	return id, next
}

const noSkill = "this release of the agent does not have the skill do"

func TestATaskWaitsForAReplicaThatHasItsSkill(t *testing.T) {
	r := onSQLite(t)
	id, next := doing(r)
	p := r.start("b", next)
	r.eventually("the task says what it waits for", func() bool { return said(p.task(id)) == noSkill })
	if s := p.task(id).GetStatus().GetState(); s != a2apb.TaskState_TASK_STATE_WORKING {
		t.Errorf("the task is %s", s)
	}
	p.die()
	p = r.start("c", running(func(context.Context, agent.Run) (agent.Outcome, error) {
		return agent.Completed(agent.Text("done")), nil
	}))
	r.eventually("the task completes", p.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
}

func TestATaskWhoseSkillIsGoneForGoodFailsAtItsBudget(t *testing.T) {
	r := onSQLite(t)
	id, next := doing(r)
	p := r.start("b", next)
	r.eventually("the task fails", p.reached(id, a2apb.TaskState_TASK_STATE_FAILED))
	if got := said(p.task(id)); got != noSkill {
		t.Errorf("the client reads %q", got)
	}
}

func TestATaskWhoseSkillIsGoneIsCanceled(t *testing.T) {
	r := onSQLite(t)
	id, next := doing(r)
	p := r.start("b", next)
	r.eventually("the task says what it waits for", func() bool { return said(p.task(id)) == noSkill })
	_, err := p.CancelTask(alice(t), &a2apb.CancelTaskRequest{Id: id})
	r.must(err)
	r.eventually("the task is canceled", p.reached(id, a2apb.TaskState_TASK_STATE_CANCELED))
}
