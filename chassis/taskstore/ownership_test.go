package taskstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
)

func TestAReplicaThatLostItsLeaseWritesNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b := r.store("a"), r.store("b")
		h := r.create(a, "t1")
		r.must(h.Commit(t.Context(), emit(artifact("x", "before", false))))

		r.clock.Advance(lease)
		r.must(b.Renew(t.Context()))
		due, err := b.Due(t.Context(), 10)
		if err != nil || len(due) != 0 {
			t.Fatalf("due %v, %v before the lease ran out", due, err)
		}
		_, err = b.Claim(t.Context(), "t1")
		wantErr(t, "claim before the lease ran out", err, taskstore.ErrFenced)

		r.clock.Advance(time.Nanosecond)
		if due, err = b.Due(t.Context(), 10); err != nil || !slices.Equal(due, []string{"t1"}) {
			t.Fatalf("due %v, %v; want t1", due, err)
		}
		rec, err := b.Claim(t.Context(), "t1")
		r.must(err)
		if rec.RunOwner != "b" || rec.RunEpoch != 2 || rec.Takeovers != 1 {
			t.Errorf("claimed as owner %q, epoch %d, takeovers %d; want b, 2, 1", rec.RunOwner, rec.RunEpoch, rec.Takeovers)
		}

		wantErr(t, "the stalled replica's commit", h.Commit(t.Context(), emit(artifact("x", "late", true))), taskstore.ErrFenced)
		wantErr(t, "its next note", h.Note(emit(working("late"))), taskstore.ErrFenced)
		got := r.get(b, "t1")
		if summary(got.Task) != "TASK_STATE_SUBMITTED [x: before]" || got.Version != 2 {
			t.Errorf("stored %s at version %d", summary(got.Task), got.Version)
		}
		r.wantPublished("t1", 2)

		next := b.Adopt(rec)
		r.must(next.Commit(t.Context(), emit(artifact("x", "after", true), status(a2apb.TaskState_TASK_STATE_COMPLETED, ""))))
		if got := summary(r.get(b, "t1").Task); got != "TASK_STATE_COMPLETED [x: before after]" {
			t.Errorf("stored %s", got)
		}
		// The stalled replica finds its row again, and its handle stays fenced.
		r.must(a.Renew(t.Context()))
		wantErr(t, "refresh on the stalled replica", h.Refresh(t.Context()), taskstore.ErrFenced)
	})
}

func TestAReplicaThatWasBuriedIsToldAndMayRejoin(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b := r.store("a"), r.store("b")
		h := r.create(a, "t1")
		r.clock.Advance(lease + 1)
		r.must(b.Renew(t.Context()))
		r.must(b.Bury(t.Context()))
		r.must(a.Renew(t.Context())) // it still owns t1: not buried

		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, ""))))
		relayAll(r, a)
		r.clock.Advance(lease + 1)
		r.must(b.Renew(t.Context()))
		r.must(b.Bury(t.Context()))
		wantErr(t, "renewal of a buried replica", a.Renew(t.Context()), taskstore.ErrFenced)
		r.must(a.Rejoin(t.Context()))
		r.must(a.Renew(t.Context()))
		r.create(a, "t2")
		if due, err := b.Due(t.Context(), 10); err != nil || len(due) != 0 {
			t.Errorf("the tasks of a replica that rejoined are due: %v, %v", due, err)
		}
	})
}

// relayAll confirms what waits in a replica's outbox.
func relayAll(r *rig, s *taskstore.Store) {
	r.Helper()
	for {
		list, err := s.Waiting(r.Context(), 10)
		r.must(err)
		if len(list) == 0 {
			break
		}
		var done []eventlog.Position
		for _, e := range list {
			done = append(done, e.Position)
		}
		r.must(s.Relayed(r.Context(), done))
	}
	r.clock.Advance(time.Second) // own rows go with a later commit
	for len(r.entries()) > 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestOneOfManyClaimersGetsTheTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		dead := r.open("dead", false)
		for i := range 10 {
			r.create(dead, fmt.Sprintf("t%d", i))
		}
		r.clock.Advance(lease + 1)
		stores := []*taskstore.Store{r.store("a"), r.store("b"), r.store("c")}
		for i := range 10 {
			id := fmt.Sprintf("t%d", i)
			winners := make(chan string, len(stores))
			var wait sync.WaitGroup
			for _, s := range stores {
				wait.Go(func() {
					rec, err := s.Claim(t.Context(), id)
					switch {
					case err == nil:
						winners <- rec.RunOwner
					case !errors.Is(err, taskstore.ErrFenced):
						t.Errorf("claim of %s by %s: %v", id, s.Replica(), err)
					}
				})
			}
			wait.Wait()
			close(winners)
			rec := r.get(stores[0], id)
			if len(winners) != 1 || rec.RunEpoch != 2 {
				t.Fatalf("%s: %d winners, epoch %d", id, len(winners), rec.RunEpoch)
			}
			if winner := <-winners; winner != rec.RunOwner {
				t.Errorf("%s: %s thinks it won, stored is %s", id, winner, rec.RunOwner)
			}
		}
	})
}

func TestAParkedTaskIsDueAtItsTime(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, "t1")
		r.must(h.Commit(t.Context(), func(rec *taskstore.Record) (taskstore.Change, error) {
			rec.RunOwner, rec.WakeAt = "", start.Add(5*time.Second)
			return taskstore.Change{}, nil
		}))
		r.clock.Advance(5*time.Second - 1)
		if due, err := s.Due(t.Context(), 10); err != nil || len(due) != 0 {
			t.Fatalf("due %v, %v a moment too early", due, err)
		}
		r.clock.Advance(1)
		if due, err := s.Due(t.Context(), 10); err != nil || !slices.Equal(due, []string{"t1"}) {
			t.Fatalf("due %v, %v", due, err)
		}
		rec, err := s.Claim(t.Context(), "t1")
		r.must(err)
		if rec.Takeovers != 0 || rec.RunEpoch != 2 || !rec.WakeAt.IsZero() {
			t.Errorf("takeovers %d, epoch %d, wake %v; want 0, 2, none", rec.Takeovers, rec.RunEpoch, rec.WakeAt)
		}
	})
}

func TestATaskThatWaitsForTheClientIsNeverDue(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, "t1")
		r.must(h.Commit(t.Context(), func(rec *taskstore.Record) (taskstore.Change, error) {
			rec.RunOwner = ""
			return taskstore.Change{Events: []*a2apb.StreamResponse{status(a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, "which?")}}, nil
		}))
		r.clock.Advance(1000 * time.Hour)
		if due, err := s.Due(t.Context(), 10); err != nil || len(due) != 0 {
			t.Errorf("due %v, %v", due, err)
		}
	})
}

// A cancel and a completion meet, from two replicas: exactly one of them is stored,
// published and acknowledged.
// A run that asks the client and goes on with other things may end with its process: what
// was left of its budget when it asked is there when another takes it up.
func TestTheClockStandsFromTheQuestionOn(t *testing.T) {
	for name, end := range map[string]func(*rig, *taskstore.Store){
		"the process stops": func(r *rig, a *taskstore.Store) { r.must(a.Close(r.Context())) },
		"the process dies":  func(r *rig, _ *taskstore.Store) { r.clock.Advance(lease + time.Nanosecond) },
	} {
		t.Run(name, func(t *testing.T) {
			onBothEngines(t, func(t *testing.T, r *rig) {
				a, b := r.store("a"), r.store("b")
				h := r.create(a, "t1") // with a minute
				r.clock.Advance(time.Second)
				r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_AUTH_REQUIRED, "who are you?"))))
				end(r, a)
				r.clock.Advance(time.Hour)
				r.must(b.Renew(t.Context()))
				rec, err := b.Claim(t.Context(), "t1")
				r.must(err)
				if left := rec.Deadline.Sub(r.clock.Now()); left != 59*time.Second {
					t.Errorf("%s are left, want 59s", left)
				}
			})
		})
	}
}

func TestTerminalTransitionsHappenOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b := r.store("a"), r.store("b")
		const rounds = 60
		won := map[string]int{}
		for i := range rounds {
			id := fmt.Sprintf("t%d", i)
			h := r.create(a, id)
			var completed, canceled, failed error
			var wait sync.WaitGroup
			racers := []func(){
				func() {
					completed = h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "done")))
				},
				func() {
					_, canceled = b.Update(t.Context(), id, emit(status(a2apb.TaskState_TASK_STATE_CANCELED, "")))
				},
				func() {
					_, failed = a.Update(t.Context(), id, emit(status(a2apb.TaskState_TASK_STATE_FAILED, "")))
				},
			}
			for n := range racers {
				wait.Go(racers[(i+n)%len(racers)])
			}
			wait.Wait()
			rec := r.get(a, id)
			outcomes := 0
			for _, o := range []struct {
				state a2apb.TaskState
				err   error
			}{
				{a2apb.TaskState_TASK_STATE_COMPLETED, completed}, {a2apb.TaskState_TASK_STATE_CANCELED, canceled}, {a2apb.TaskState_TASK_STATE_FAILED, failed},
			} {
				switch {
				case o.err == nil:
					outcomes++
					if rec.Task.GetStatus().GetState() != o.state {
						t.Errorf("%s: %v was acknowledged, %v is stored", id, o.state, rec.Task.GetStatus().GetState())
					}
					won[o.state.String()]++
				case !errors.Is(o.err, taskstore.ErrEnded):
					t.Errorf("%s: %v: %v", id, o.state, o.err)
				}
			}
			if outcomes != 1 || rec.Version != 2 {
				t.Errorf("%s: %d outcomes at version %d, want 1 at 2", id, outcomes, rec.Version)
			}
			hops, err := a.Hops(t.Context(), id, "")
			if err != nil || len(hops) != 1 {
				t.Errorf("%s has %d audit rows (%v), want 1", id, len(hops), err)
			}
		}
		if got := len(r.entries()); got > 2*rounds {
			t.Errorf("%d outbox rows of %d commits", got, 2*rounds)
		}
		t.Logf("won: %v", won)
	})
}

func TestAnExclusiveStartFreesWhatAnyoneOwned(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		before := r.open("before", false)
		r.create(before, "t1")
		next := r.open("next", true) // the lease of the former has not run out
		t.Cleanup(func() { _ = next.Close(t.Context()) })
		due, err := next.Due(t.Context(), 10)
		if err != nil || !slices.Equal(due, []string{"t1"}) {
			t.Fatalf("due %v, %v", due, err)
		}
		if rec, err := next.Claim(t.Context(), "t1"); err != nil || rec.RunOwner != "next" {
			t.Errorf("claimed %+v, %v", rec, err)
		}
		wantErr(t, "the former replica", before.Renew(t.Context()), taskstore.ErrFenced)
	})
}

func TestTheEpochRisesAfterAnUncleanStopOnly(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		first := r.open("first", false)
		if first.Epoch() != 1 {
			t.Fatalf("a new store has epoch %d", first.Epoch())
		}
		r.must(first.Close(t.Context()))
		second := r.open("second", false)
		if second.Epoch() != 1 {
			t.Errorf("epoch %d after a clean stop, want 1", second.Epoch())
		}
		// second dies; its lease runs out.
		r.clock.Advance(lease + 1)
		third := r.store("third")
		want := int64(2)
		if second.DB().Dialect == sqldb.Postgres {
			want = 1 // a replica that dies is no power loss of the database
		}
		if third.Epoch() != want {
			t.Errorf("epoch %d after an unclean stop, want %d", third.Epoch(), want)
		}
	})
}

// A replica that starts beside one that lives shares its epoch: there was no power loss.
func TestTheEpochStaysWhileAReplicaLives(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		living := r.store("living")
		r.open("dead", false)
		r.clock.Advance(lease - 1)
		r.must(living.Renew(t.Context()))
		r.clock.Advance(2)
		if next := r.store("next"); next.Epoch() != living.Epoch() {
			t.Errorf("epoch %d, want that of the living replica, %d", next.Epoch(), living.Epoch())
		}
	})
}

// What a stalled replica has locked is free again before its lease has run out.
func TestAReplicaStalledWithinACommitHoldsNobodyUp(t *testing.T) {
	r := newRig(t, postgres.URL(t)+"&idle_in_transaction_session_timeout=300ms")
	stalled, living := r.store("stalled"), r.store("living")
	h := r.create(stalled, "t1")
	within, resume := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	var once sync.Once
	go func() {
		result <- h.Commit(t.Context(), func(rec *taskstore.Record) (taskstore.Change, error) {
			rec.Attempts = 7
			return taskstore.Change{Rows: func(context.Context, *sql.Tx) error {
				once.Do(func() { close(within); <-resume })
				return nil
			}}, nil
		})
	}()
	<-within
	r.clock.Advance(lease + 1)
	rec, err := living.Claim(t.Context(), "t1")
	if err != nil || rec.RunOwner != "living" {
		t.Fatalf("claimed %+v, %v", rec, err)
	}
	close(resume)
	// Its transaction was ended. Tried again, it finds that the task has another owner.
	wantErr(t, "the stalled commit", <-result, taskstore.ErrFenced)
	if rec, err := living.Get(t.Context(), "t1"); err != nil || rec.RunOwner != "living" || rec.Attempts != 0 {
		t.Errorf("stored %+v, %v", rec, err)
	}
	if _, err := stalled.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
		rec.Attempts = 8
		return taskstore.Change{}, nil
	}); err != nil {
		t.Errorf("the stalled replica does not serve again: %v", err)
	}
}

func TestADatabaseOfANewerReleaseIsRefused(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		db := r.db()
		_, err := db.Write.ExecContext(t.Context(), `INSERT INTO goose_tasks (version_id, is_applied) VALUES (99999, true)`)
		r.must(err)
		wantErr(t, "migration", taskstore.Migrate(t.Context(), db), sqldb.ErrNewer)
	})
}
