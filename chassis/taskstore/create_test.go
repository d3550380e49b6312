package taskstore_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/taskstore"
)

func TestCreateStoresTheTaskOwnedByTheReplica(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		want := r.record("t1")
		r.create(s, "t1")
		got := r.get(s, "t1")
		if !proto.Equal(got.Task, want.Task) {
			t.Errorf("stored task\n%v\nwant\n%v", got.Task, want.Task)
		}
		if got.Version != 1 || got.Rev != 1 || got.RunOwner != "a" || got.RunEpoch != 1 {
			t.Errorf("version %d, rev %d, owner %q, epoch %d; want 1, 1, a, 1", got.Version, got.Rev, got.RunOwner, got.RunEpoch)
		}
		if !got.CreatedAt.Equal(start) || !got.Deadline.Equal(start.Add(time.Minute)) || !got.WakeAt.IsZero() {
			t.Errorf("created %v, deadline %v, wake %v", got.CreatedAt, got.Deadline, got.WakeAt)
		}
		if got.Info.Principal.Key() != "acme/alice" || got.Info.Budget != time.Minute || got.Agent != "echo" || got.RootTask != "t1" {
			t.Errorf("stored facts %+v of agent %q, root %q", got.Info, got.Agent, got.RootTask)
		}
		r.wantPublished("t1", 1)
	})
}

func TestMissingTaskIsNotFound(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		_, err := s.Get(t.Context(), "nothing")
		wantErr(t, "get", err, taskstore.ErrNotFound)
		_, err = s.Update(t.Context(), "nothing", emit(working("")))
		wantErr(t, "update", err, taskstore.ErrNotFound)
		_, err = s.Claim(t.Context(), "nothing")
		wantErr(t, "claim", err, taskstore.ErrNotFound)
	})
}

func TestMessageIDNamesOneTaskPerOwner(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s, other := r.store("a"), r.store("b")
		r.create(s, "t1")
		for _, c := range []struct {
			name, owner, digest string
			same, created       bool
		}{
			{"the same message", "acme/alice", "digest-t1", true, false},
			{"another message under its id", "acme/alice", "another", false, false},
			{"the same id of another owner", "acme/bob", "digest-t1", false, true},
			{"no owner is remembered", "", "digest-t1", false, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				rec := r.record("second-" + c.owner + c.digest)
				rec.Owner, rec.Info.Digest = c.owner, c.digest
				_, err := other.Create(t.Context(), rec, "m-t1")
				var known *taskstore.Existing
				switch {
				case c.created && err != nil:
					t.Fatalf("refused: %v", err)
				case c.created:
				case !errors.As(err, &known):
					t.Fatalf("error %v, want *Existing", err)
				case known.TaskID != "t1" || known.Same != c.same:
					t.Errorf("existing %+v, want task t1, same %v", known, c.same)
				}
				if !c.created {
					_, err = s.Get(t.Context(), rec.Task.GetId())
					wantErr(t, "the refused task", err, taskstore.ErrNotFound)
				}
			})
		}
		known, err := other.Known(t.Context(), "acme/alice", "m-t1", "digest-t1")
		if err != nil || known == nil || known.TaskID != "t1" || !known.Same {
			t.Errorf("Known gives %+v, %v", known, err)
		}
		if known, err = other.Known(t.Context(), "acme/alice", "never", "d"); known != nil || err != nil {
			t.Errorf("Known of an unused id gives %+v, %v", known, err)
		}
	})
}

func TestConcurrentSendsOfOneMessageMakeOneTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		stores := []*taskstore.Store{r.store("a"), r.store("b")}
		const senders = 8
		ids := make(chan string, senders)
		var wait sync.WaitGroup
		for i := range senders {
			wait.Go(func() {
				rec := r.record("t" + string(rune('0'+i)))
				rec.Info.Digest = "one"
				_, err := stores[i%2].Create(t.Context(), rec, "same")
				var known *taskstore.Existing
				switch {
				case errors.As(err, &known) && known.Same:
					ids <- known.TaskID
				case err == nil:
					ids <- rec.Task.GetId()
				default:
					t.Errorf("sender %d: %v", i, err)
				}
			})
		}
		wait.Wait()
		close(ids)
		first := <-ids
		for id := range ids {
			if id != first {
				t.Errorf("one message made tasks %s and %s", first, id)
			}
		}
		_, total, err := stores[0].List(t.Context(), taskstore.Filter{Limit: 10})
		if err != nil || total != 1 {
			t.Errorf("%d tasks stored (%v), want 1", total, err)
		}
	})
}

func TestDigestTellsMessagesApart(t *testing.T) {
	a, b := agentText("one"), agentText("one")
	if taskstore.Digest(a) != taskstore.Digest(b) {
		t.Error("equal messages have different digests")
	}
	b.Parts = append(b.Parts, text("more"))
	if taskstore.Digest(a) == taskstore.Digest(b) {
		t.Error("different messages have the same digest")
	}
}
