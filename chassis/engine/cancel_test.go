package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
)

// compensating makes an agent whose skill waits for a cancel and then undoes.
func compensating(undo func(context.Context, agent.Run) (agent.Outcome, error)) agent.Agent {
	return one(agent.Skill{Compensates: true, Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		select {
		case <-run.Canceling():
			return undo(ctx, run)
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
	}})
}

func cancelOn(t *testing.T, p *replica, id string) *a2apb.Task {
	t.Helper()
	task, err := p.CancelTask(alice(t), &a2apb.CancelTaskRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestACancelThatCompensatesReportsHowItEnded(t *testing.T) {
	for _, c := range []struct {
		name string
		undo func(context.Context, agent.Run) (agent.Outcome, error)
		says string
	}{
		{"with its report", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Canceled(agent.Text("two steps undone")), nil
		}, "two steps undone"},
		{"although the skill completes", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Completed(agent.Text("too late to undo")), nil
		}, "too late to undo"},
		{"although the skill fails", func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Outcome{}, errBroken
		}, "canceled; what had been begun could not be undone: internal error; the operator finds it in the log by trace id"},
		{"although the skill panics", func(context.Context, agent.Run) (agent.Outcome, error) {
			panic("secret")
		}, "canceled; what had been begun could not be undone: internal error; the operator finds it in the log by trace id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothEngines(t, func(t *testing.T, r *rig) {
				a := compensating(c.undo)
				p, q := r.start("p", a), r.start("q", a)
				blocked := p.sending(request("m1", "do", "go"))
				var id string
				r.soon("the task runs", func() bool {
					list, err := p.ListTasks(alice(t), &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_WORKING})
					r.must(err)
					if len(list.GetTasks()) == 1 {
						id = list.GetTasks()[0].GetId()
					}
					return id != ""
				})
				answer := cancelOn(t, q, id) // on the replica that does not run it
				if got := answer.GetStatus().GetState(); got != a2apb.TaskState_TASK_STATE_WORKING || said(answer) != "cancelling" {
					t.Errorf("the cancel was answered with %v %q", got, said(answer))
				}
				r.soon("the task ends", p.reached(id, a2apb.TaskState_TASK_STATE_CANCELED))
				if got := <-blocked; got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED || said(got) != c.says {
					t.Errorf("the sender got %v %q, want %q", got.GetStatus().GetState(), said(got), c.says)
				}
				if again := cancelOn(t, q, id); again.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
					t.Errorf("a second cancel gave %v", again)
				}
			})
		})
	}
}

func TestACancelReachesAParkedTaskThatCompensates(t *testing.T) {
	r := onSQLite(t)
	p := r.start("p", one(agent.Skill{Compensates: true, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
		select {
		case <-run.Canceling():
			return agent.Canceled(agent.Text("undone")), nil
		default:
			return agent.Parked(run.Deadline()), nil
		}
	}}))
	task := p.send(atOnce(request("m1", "do", "go")))
	r.soon("it is parked", func() bool {
		rec, err := p.store.Get(t.Context(), task.GetId())
		return err == nil && rec.RunOwner == ""
	})
	cancelOn(t, p, task.GetId())
	r.soon("the task ends", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_CANCELED))
	if got := said(p.task(task.GetId())); got != "undone" {
		t.Errorf("it says %q", got)
	}
}

func TestACancelThatComesAsTheSkillEndsIsCompensated(t *testing.T) {
	r := onSQLite(t)
	began, end := make(chan struct{}, 10), make(chan struct{})
	p := r.start("p", one(agent.Skill{Compensates: true, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
		select {
		case <-run.Canceling():
			return agent.Canceled(agent.Text("undone")), nil
		default:
		}
		began <- struct{}{}
		<-end // it does not look at Canceling
		return agent.Completed(agent.Text("done")), nil
	}}))
	task := p.send(atOnce(request("m1", "do", "go")))
	<-began
	cancelOn(t, p, task.GetId())
	close(end)
	r.soon("the task ends", p.reached(task.GetId(), a2apb.TaskState_TASK_STATE_CANCELED))
	if got := said(p.task(task.GetId())); got != "undone" {
		t.Errorf("it says %q", got)
	}
}

func TestACanceledRunIsInterrupted(t *testing.T) {
	r := onSQLite(t)
	interrupted := make(chan error, 1)
	p := r.start("p", running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		<-ctx.Done()
		interrupted <- run.Commit(context.WithoutCancel(ctx), agent.Change{Events: []*a2apb.StreamResponse{artifact("late")}})
		return agent.Completed(agent.Text("done anyway")), nil
	}))
	task := p.send(atOnce(request("m1", "do", "go")))
	if got := cancelOn(t, p, task.GetId()); got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
		t.Errorf("the cancel was answered with %v", got)
	}
	if err := <-interrupted; err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a write after the cancel gave %v", err)
	}
	if got := p.task(task.GetId()); got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED || len(got.GetArtifacts()) != 0 {
		t.Errorf("the task is %v", got)
	}
}

// The database refuses one outcome. The task is taken up again and ends.
func TestAnOutcomeThatCouldNotBeStoredIsTriedAgain(t *testing.T) {
	r := onSQLite(t)
	runs := make(chan struct{}, 100)
	p := r.start("p", running(func(_ context.Context, run agent.Run) (agent.Outcome, error) {
		runs <- struct{}{}
		o := agent.Completed(agent.Text("stored"))
		if len(runs) == 1 {
			o.Rows = failingRows
		}
		return o, nil
	}))
	blocked := p.sending(request("m1", "do", "go"))
	select {
	case <-blocked:
		t.Error("the sender got an answer that is not stored")
	default:
	}
	var got *a2apb.Task
	r.eventually("the sender has its answer", func() bool {
		select {
		case got = <-blocked:
			return true
		default:
			return false
		}
	})
	if said(got) != "stored" || len(runs) != 2 || said(p.task(got.GetId())) != "stored" {
		t.Errorf("%v %q after %d runs", got.GetStatus().GetState(), said(got), len(runs))
	}
}

var errDatabase = errors.New("the disk is full")

func failingRows(context.Context, *sql.Tx) error { return errDatabase }
