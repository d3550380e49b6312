package taskstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/taskstore"
)

func TestFlowCountsWhatHasBecomeOfTasksByWhenTheyBegan(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := archive(r) // completed, working, failed, completed, needs input, canceled, completed: a minute each
		flow, err := s.Flow(t.Context(), start.Add(time.Minute), 2*time.Minute, 4)
		r.must(err)
		var got []string
		for _, f := range flow {
			got = append(got, fmt.Sprint(f.From.Sub(start).Minutes(), f.Started, f.Completed, f.Failed, f.Canceled))
		}
		if want := "[1 2 0 1 0 3 2 1 0 0 5 2 1 0 1 7 0 0 0 0]"; fmt.Sprint(got) != want {
			t.Errorf("from, started, completed, failed, canceled: %v, want %s", got, want)
		}
	})
}

func TestSkillFiguresAreOfTheCallsForRequestsOfTheSpan(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		call := func(minute int, skill, outcome string, took time.Duration) {
			at := r.clock.Now()
			s.Record(taskstore.Hop{
				RootTaskID: madeAt(minute), Agent: "echo", Skill: skill, StartedAt: at, EndedAt: at.Add(took), Outcome: outcome,
			})
		}
		call(0, "old", "MESSAGE", time.Second)
		for i := range 100 {
			call(1, "say", "MESSAGE", time.Duration(100-i)*time.Millisecond)
		}
		call(2, "run", "TASK_STATE_FAILED", 3*time.Second)
		call(2, "run", "TASK_STATE_COMPLETED", time.Second)
		call(2, "run", taskstore.CancelRequested, 0)
		s.Record(taskstore.Hop{Agent: "echo", Skill: "of no request", StartedAt: start, EndedAt: start, Outcome: "MESSAGE"})
		h := r.create(s, madeAt(3))
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_REJECTED, "")))) // what was recorded before it is stored with it
		list, more, err := s.SkillFigures(t.Context(), start.Add(time.Minute))
		r.must(err)
		want := "[{echo run 2 1 1s 3s} {echo say 101 1 50ms 95ms}]"
		if fmt.Sprint(list) != want || more {
			t.Errorf("figures %v, want %s", list, want)
		}
	})
}
