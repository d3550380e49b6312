package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/taskstore"
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

func TestACancelIsHeardWhileProgressIsOnItsWay(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		stop := make(chan struct{})
		a := one(agent.Skill{ID: "do", Compensates: true, Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
			for {
				if err := run.Working(agent.Message(agent.Text("still"))); err != nil {
					return agent.Outcome{}, err
				}
				select {
				case <-run.Canceling():
					return agent.Canceled(agent.Text("undone")), nil
				case <-stop:
					return agent.Completed(agent.Text("never heard")), nil
				case <-ctx.Done():
					return agent.Outcome{}, ctx.Err()
				case <-time.After(3 * time.Millisecond):
				}
			}
		}})
		p, q := r.start("p", a), r.start("q", a)
		defer close(stop)
		for i := range 10 {
			task := p.send(atOnce(request(fmt.Sprintf("m%d", i), "do", "go")))
			_, err := q.CancelTask(alice(t), &a2apb.CancelTaskRequest{Id: task.GetId()})
			r.must(err)
			r.calmly("the run hears of the cancel", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_CANCELED))
			if says := said(p.task(task.GetId())); says != "undone" {
				t.Errorf("the task ended with %q", says)
			}
		}
	})
}

// What tells a run at once may be lost on its way: the sweep finds the cancel all the same.
func TestACancelIsHeardThoughNobodyTells(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a := one(agent.Skill{ID: "do", Compensates: true, Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
			select {
			case <-run.Canceling():
				return agent.Canceled(agent.Text("undone")), nil
			case <-ctx.Done():
				return agent.Outcome{}, ctx.Err()
			}
		}})
		p, q := r.start("p", a), r.start("q", a)
		task := p.send(atOnce(request("m1", "do", "go")))
		_, err := q.Store.Update(t.Context(), task.GetId(), func(rec *taskstore.Record) (taskstore.Change, error) {
			rec.CancelRequested = true
			return taskstore.Change{}, nil
		})
		r.must(err)
		r.calmly("the run hears of the cancel", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_CANCELED))
	})
}
