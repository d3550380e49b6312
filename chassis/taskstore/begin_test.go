package taskstore_test

import (
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/taskstore"
)

func TestWhatHappensBeforeATaskIsStoredIsStoredWithIt(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h, stored := s.Begin(r.record("t1"), "m-t1")
		r.must(h.Note(emit(status(a2apb.TaskState_TASK_STATE_WORKING, "at it"))))
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "done"))))
		r.must(s.Stored(stored))
		got := r.get(s, "t1")
		if got.Version != 3 || got.RunOwner != "" || summary(got.Task) != "TASK_STATE_COMPLETED done" {
			t.Errorf("version %d, owner %q, %s", got.Version, got.RunOwner, summary(got.Task))
		}
		r.wantPublished("t1", 3)
		hops, err := s.Hops(t.Context(), "t1", "")
		r.must(err)
		if len(hops) != 1 || hops[0].Outcome != "TASK_STATE_COMPLETED" {
			t.Errorf("audit rows: %+v", hops)
		}
	})
}

func TestARepeatedMessageIsToldToTheRunThatBeganWithIt(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		first, stored := s.Begin(r.record("t1"), "m1")
		r.must(s.Stored(stored))
		second, stored := s.Begin(r.record("t2"), "m1")
		r.must(second.Note(emit(status(a2apb.TaskState_TASK_STATE_WORKING, "twice"))))
		var known *taskstore.Existing
		if err := s.Stored(stored); !errors.As(err, &known) || known.TaskID != "t1" {
			t.Fatalf("the second task was stored: %v", err)
		}
		if err := second.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "twice"))); !errors.As(err, &known) {
			t.Errorf("the second run's end gave %v", err)
		}
		if _, err := s.Get(t.Context(), "t2"); !errors.Is(err, taskstore.ErrNotFound) {
			t.Errorf("the second task exists: %v", err)
		}
		r.must(first.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "once"))))
	})
}
