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
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/taskstore"
)

func TestNotesAreStoredInTheirOrder(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		heard := listen(s)
		h := r.create(s, "t1")
		r.must(h.Note(emit(working("one"))))
		r.must(h.Note(emit(artifact("x", "first", false))))
		r.must(h.Note(emit(artifact("x", "second", true), artifact("y", "other", false))))
		r.must(h.Note(emit(artifact("y", "replaced", false))))
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "done"))))
		rec := r.get(s, "t1")
		if got := summary(rec.Task); got != "TASK_STATE_COMPLETED done [x: first second] [y: replaced]" {
			t.Errorf("stored %s", got)
		}
		if rec.Version != 7 || rec.RunOwner != "" {
			t.Errorf("version %d, owner %q; want 7 and none", rec.Version, rec.RunOwner)
		}
		r.wantPublished("t1", 7)
		if got := heard.of("t1"); !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("the listener heard versions %v", got)
		}
		if got := summary(h.Record().Task); got != summary(rec.Task) {
			t.Errorf("the handle shows %s", got)
		}
	})
}

// summary is what a reader sees of a task, on one line.
func summary(t *a2apb.Task) string {
	out := t.GetStatus().GetState().String()
	for _, p := range t.GetStatus().GetMessage().GetParts() {
		out += " " + p.GetText()
	}
	for _, a := range t.GetArtifacts() {
		out += " [" + a.GetArtifactId() + ":"
		for _, p := range a.GetParts() {
			out += " " + p.GetText()
		}
		out += "]"
	}
	return out
}

func TestNotesBehindACommitShareTheNextOne(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, "t1")
		other := r.create(s, "t2")
		// The commit of t2 is held until every note of t1 waits behind it.
		holding, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		held := make(chan error, 1)
		go func() {
			held <- other.Commit(t.Context(), func(*taskstore.Record) (taskstore.Change, error) {
				return taskstore.Change{Rows: func(context.Context, *sql.Tx) error {
					once.Do(func() { close(holding) })
					<-release
					return nil
				}}, nil
			})
		}()
		<-holding
		before := len(r.entries())
		for i := range 20 {
			r.must(h.Note(emit(artifact("x", fmt.Sprint(i), i > 0))))
		}
		last := make(chan error, 1)
		go func() { last <- h.Commit(t.Context(), emit(working("all"))) }()
		for h.Record().Version != 22 {
			time.Sleep(time.Millisecond) // until the last waits too
		}
		close(release)
		r.must(<-last)
		r.must(<-held)
		if got := len(r.entries()) - before; got != 1 {
			t.Errorf("21 changes took %d commits, want 1", got)
		}
		rec := r.get(s, "t1")
		if rec.Version != 22 || rec.Rev != 2 {
			t.Errorf("version %d, rev %d; want 22 events in 2 writes", rec.Version, rec.Rev)
		}
		r.wantPublished("t1", 22)
	})
}

// An update by somebody who does not own the task comes between two of the
// owner's changes: neither is lost and the versions have no hole.
func TestForeignUpdatesAndNotesAllStand(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		owner, other := r.store("a"), r.store("b")
		heard := listen(owner)
		h := r.create(owner, "t1")
		const each = 30
		var wait sync.WaitGroup
		wait.Go(func() {
			for i := range each {
				if err := h.Note(emit(artifact("owner", fmt.Sprintf("o%d", i), i > 0))); err != nil {
					t.Errorf("note %d: %v", i, err)
					return
				}
				h.Record() // readers look while commits are on their way
			}
		})
		for n, s := range []*taskstore.Store{owner, other} {
			wait.Go(func() {
				for i := range each {
					_, err := s.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
						rec.Task.History = append(rec.Task.History, agentText(fmt.Sprintf("u%d-%d", n, i)))
						ch := taskstore.Change{}
						if i%2 == 0 {
							ch.Events = append(ch.Events, artifact(fmt.Sprintf("foreign-%d", n), fmt.Sprintf("f%d", i), i > 0))
						}
						return ch, nil
					})
					if err != nil {
						t.Errorf("update %d of %d: %v", i, n, err)
						return
					}
				}
			})
		}
		wait.Wait()
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, ""))))
		rec := r.get(owner, "t1")
		const events = 1 + each + 2*(each/2) + 1
		if rec.Version != events {
			t.Errorf("version %d after %d events", rec.Version, events)
		}
		if got := len(rec.Task.GetHistory()); got != 1+2*each {
			t.Errorf("history holds %d messages, want %d", got, 1+2*each)
		}
		for _, a := range rec.Task.GetArtifacts() {
			want := each
			if a.GetArtifactId() != "owner" {
				want = each / 2
			}
			if len(a.GetParts()) != want {
				t.Errorf("artifact %s has %d parts, want %d", a.GetArtifactId(), len(a.GetParts()), want)
			}
		}
		got := r.published("t1")
		slices.Sort(got) // two replicas' rows; each version once
		for i, v := range got {
			if v != int64(i+1) {
				t.Fatalf("the outbox holds versions %v: want 1 to %d, each once", got, events)
			}
		}
		if len(got) != events {
			t.Errorf("%d events in the outbox, want %d", len(got), events)
		}
		if !slices.IsSorted(heard.of("t1")) {
			t.Errorf("the owner's listener heard %v", heard.of("t1"))
		}
	})
}

func TestOwnersChangesSeeWhatOthersWrote(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s, other := r.store("a"), r.store("b")
		h := r.create(s, "t1")
		_, err := other.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
			rec.CancelRequested = true
			return taskstore.Change{Events: []*a2apb.StreamResponse{working("cancelling")}}, nil
		})
		r.must(err)
		err = h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "")))
		wantErr(t, "completion after a cancel request", err, taskstore.ErrCanceling)
		rec := r.get(s, "t1")
		if got := summary(rec.Task); got != "TASK_STATE_WORKING cancelling" || !rec.CancelRequested {
			t.Errorf("stored %s, cancel requested %v", got, rec.CancelRequested)
		}
		r.must(h.Refresh(t.Context()))
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_CANCELED, "undone"))))
		if got := summary(r.get(s, "t1").Task); got != "TASK_STATE_CANCELED undone" {
			t.Errorf("stored %s", got)
		}
	})
}

func TestRefreshShowsWhatOthersWrote(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s, other := r.store("a"), r.store("b")
		h := r.create(s, "t1")
		_, err := other.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
			rec.SetMetadata(map[string]*structpb.Value{"seen": structpb.NewStringValue("yes")})
			return taskstore.Change{}, nil
		})
		r.must(err)
		if got := h.Record().Task.GetMetadata(); got != nil {
			t.Fatalf("the handle knew before it looked: %v", got)
		}
		r.must(h.Refresh(t.Context()))
		if got := h.Record().Task.GetMetadata().GetFields()["seen"].GetStringValue(); got != "yes" {
			t.Errorf("metadata after the refresh: %q", got)
		}
		_, err = other.Update(t.Context(), "t1", emit(status(a2apb.TaskState_TASK_STATE_CANCELED, "")))
		r.must(err)
		wantErr(t, "refresh of a task that ended", h.Refresh(t.Context()), taskstore.ErrEnded)
	})
}

func TestRowsCommitWithTheTaskAndAFailureTouchesNobodyElse(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		_, err := s.DB().Write.ExecContext(t.Context(), `CREATE TABLE notes (task TEXT PRIMARY KEY)`)
		r.must(err)
		rows := func(task string) func(context.Context, *sql.Tx) error {
			return func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO notes (task) VALUES ($1)`, task)
				return err
			}
		}
		// Ten tasks commit at once; every third breaks its statement, as a constraint would.
		const n = 9
		handles := make([]*taskstore.Handle, n)
		for i := range n {
			handles[i] = r.create(s, fmt.Sprintf("t%d", i))
		}
		release := hold(r, s)
		errs := make([]error, n)
		var wait sync.WaitGroup
		for i, h := range handles {
			wait.Go(func() {
				task := fmt.Sprintf("t%d", i)
				if i%3 == 2 {
					task = "t0"
				}
				errs[i] = h.Commit(t.Context(), func(*taskstore.Record) (taskstore.Change, error) {
					return taskstore.Change{Events: []*a2apb.StreamResponse{working("noted")}, Rows: rows(task)}, nil
				})
			})
		}
		// t0 must be first in the queue, and all in one transaction: the others follow once all have enqueued.
		for {
			queued := 0
			for _, h := range handles {
				if h.Record().Version == 2 {
					queued++
				}
			}
			if queued == n {
				break
			}
		}
		release()
		wait.Wait()
		var stored []string
		list, err := s.DB().Read.QueryContext(t.Context(), `SELECT task FROM notes ORDER BY task`)
		r.must(err)
		for list.Next() {
			var task string
			r.must(list.Scan(&task))
			stored = append(stored, task)
		}
		r.must(list.Close())
		winners := 0
		for i := range n {
			rec := r.get(s, fmt.Sprintf("t%d", i))
			if (errs[i] == nil) != (rec.Version == 2) {
				t.Errorf("t%d: error %v, but version %d is stored", i, errs[i], rec.Version)
			}
			r.wantPublished(fmt.Sprintf("t%d", i), rec.Version)
			if errs[i] == nil && (i%3 == 2 || i == 0) {
				winners++
			}
			if errs[i] != nil && i%3 != 2 && i != 0 {
				t.Errorf("t%d failed with its neighbour: %v", i, errs[i])
			}
		}
		if winners != 1 {
			t.Errorf("%d of the writes of one key stand, want 1", winners)
		}
		if want := []string{"t0", "t1", "t3", "t4", "t6", "t7"}; !slices.Equal(stored, want) {
			t.Errorf("rows %v, want %v", stored, want)
		}
		// The handle of a failed commit writes nothing more: what came after stood on it.
		if err := handles[2].Note(emit(working("again"))); errs[2] != nil && err == nil {
			t.Error("a handle went on after a commit that failed")
		}
	})
}

// hold keeps the store's commits waiting until the function it returns is called.
func hold(r *rig, s *taskstore.Store) func() {
	r.Helper()
	h := r.create(s, "hold")
	holding, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.must(h.Note(func(*taskstore.Record) (taskstore.Change, error) {
		return taskstore.Change{Rows: func(context.Context, *sql.Tx) error {
			once.Do(func() { close(holding) })
			<-release
			return nil
		}}, nil
	}))
	<-holding
	return func() { close(release) }
}

var errRows = errors.New("the rows cannot be written")

// A foreign update, the owner's change on top of it and a third write share a
// transaction that the third breaks. Tried alone the update fails, so the owner's
// change must keep no trace of it.
func TestAChangeRebasedOnAnUpdateThatFailedKeepsNothingOfIt(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h, other := r.create(s, "t1"), r.create(s, "t2")
		release := hold(r, s)
		updated, enqueued := make(chan error, 1), make(chan struct{})
		go func() {
			close(enqueued)
			calls := 0
			_, err := s.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
				rec.SetMetadata(map[string]*structpb.Value{"ghost": structpb.NewBoolValue(true)})
				return taskstore.Change{
					Events: []*a2apb.StreamResponse{artifact("ghost", "boo", false)},
					Rows: func(context.Context, *sql.Tx) error {
						if calls++; calls > 1 {
							return errRows
						}
						return nil
					},
				}, nil
			})
			updated <- err
		}()
		<-enqueued
		time.Sleep(20 * time.Millisecond) // the update enters the queue first, or else the test shows less
		r.must(h.Note(emit(artifact("x", "mine", false))))
		r.must(other.Note(func(*taskstore.Record) (taskstore.Change, error) {
			return taskstore.Change{Rows: func(context.Context, *sql.Tx) error { return errRows }}, nil
		}))
		release()
		wantErr(t, "the update", <-updated, errRows)
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "done"))))
		rec := r.get(s, "t1")
		if got := summary(rec.Task); got != "TASK_STATE_COMPLETED done [x: mine]" || rec.Task.GetMetadata() != nil {
			t.Errorf("stored %s with metadata %v", got, rec.Task.GetMetadata())
		}
		if rec.Version != 3 {
			t.Errorf("version %d, want 3", rec.Version)
		}
		r.wantPublished("t1", 3)
	})
}

func TestCommitWaitsNoLongerThanItsContextAndStillHappens(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, "t1")
		release := hold(r, s)
		gone, leave := context.WithCancel(t.Context())
		leave()
		wantErr(t, "commit of a caller that left", h.Commit(gone, emit(working("kept"))), context.Canceled)
		release()
		r.must(h.Commit(t.Context(), emit(artifact("x", "later", false))))
		if got := summary(r.get(s, "t1").Task); got != "TASK_STATE_WORKING kept [x: later]" {
			t.Errorf("stored %s", got)
		}
	})
}

// Whoever stored a task must run it, so a caller who leaves meanwhile is told.
func TestACreateIsToldThoughItsCallerLeft(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		release := hold(r, s)
		ctx, leave := context.WithCancel(t.Context())
		created := make(chan error, 1)
		rec := r.record("t1")
		go func() {
			h, err := s.Create(ctx, rec, "m-t1")
			if err == nil {
				err = h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "run")))
			}
			created <- err
		}()
		time.Sleep(20 * time.Millisecond) // it waits for its commit
		leave()
		release()
		err := <-created
		if errors.Is(err, context.Canceled) {
			// It had left before it began: then nothing is stored.
			_, err = s.Get(t.Context(), "t1")
			wantErr(t, "the task", err, taskstore.ErrNotFound)
			return
		}
		r.must(err)
		if got := summary(r.get(s, "t1").Task); got != "TASK_STATE_COMPLETED run" {
			t.Errorf("stored %s", got)
		}
	})
}

func TestAClosedStoreSaysSo(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.open("a", false)
		r.must(s.Close(t.Context()))
		if _, err := s.Create(t.Context(), r.record("t1"), "m-t1"); err == nil {
			t.Error("a closed store took a task")
		}
	})
}

func TestCloseCommitsWhatIsQueued(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.open("a", false)
		h := r.create(s, "t1")
		for i := range 50 {
			r.must(h.Note(emit(artifact("x", fmt.Sprint(i), i > 0))))
		}
		s.Record(taskstore.Hop{Agent: "echo", Skill: "say", TraceID: "trace-x", Outcome: "MESSAGE"})
		r.must(s.Close(t.Context()))
		next := r.store("b")
		rec := r.get(next, "t1")
		if rec.Version != 51 || rec.RunOwner != "" || !rec.WakeAt.Equal(start) {
			t.Errorf("version %d, owner %q, due %v; want 51, none, at once", rec.Version, rec.RunOwner, rec.WakeAt)
		}
		hops, err := next.Hops(t.Context(), "", "trace-x")
		if err != nil || len(hops) != 1 {
			t.Errorf("audit rows %v, %v; want the one of the direct answer", hops, err)
		}
	})
}

// The owner's second write is prepared while its first is on its way. A foreign
// write came before both and left the very revision that the second was prepared for.
func TestAWriteBehindARefusedOneIsRefusedToo(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h, slow := r.create(s, "t1"), r.create(s, "slow")
		_, err := s.Update(t.Context(), "t1", emit(status(a2apb.TaskState_TASK_STATE_CANCELED, "")))
		r.must(err)
		release := hold(r, s)
		r.must(h.Note(emit(working("")))) // the first
		inCommit, finish := make(chan struct{}), make(chan struct{})
		r.must(slow.Note(func(*taskstore.Record) (taskstore.Change, error) {
			return taskstore.Change{Rows: func(context.Context, *sql.Tx) error {
				close(inCommit)
				<-finish
				return nil
			}}, nil
		}))
		release()
		<-inCommit // with the first
		second := make(chan error, 1)
		go func() {
			second <- h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "")))
		}()
		for h.Record().Task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			time.Sleep(time.Millisecond) // until the second is prepared
		}
		close(finish)
		wantErr(t, "the second write", <-second, taskstore.ErrEnded)
		if got := summary(r.get(s, "t1").Task); got != "TASK_STATE_CANCELED" {
			t.Errorf("stored %s", got)
		}
		r.wantPublished("t1", 2)
	})
}
