package taskstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/postgrestest"
)

// cuts of a connection around its commit, by name.
var cuts = map[string]postgrestest.Cut{
	"before": postgrestest.BeforeCommit, "during": postgrestest.DuringCommit, "after": postgrestest.AfterCommit,
}

// throughProxy is a store whose connections can be cut, and one beside it.
func throughProxy(t *testing.T, url string) (*rig, *postgrestest.Proxy) {
	t.Helper()
	proxy := postgrestest.NewProxy(t, url)
	return newRig(t, proxy.URL()), proxy
}

// patient opens a replica whose writes wait for the database for as long as a slow
// machine needs.
func (r *rig) patient(replica string) *taskstore.Store {
	r.Helper()
	s, err := taskstore.Open(r.Context(), r.db(), taskstore.Options{
		Replica: replica, AgentVersion: "7", Clock: r.clock, Log: slog.New(slog.DiscardHandler), Lease: 5 * time.Minute,
	})
	r.must(err)
	r.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func TestACommitWhoseConnectionBrokeIsNeitherLostNorRepeated(t *testing.T) {
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			r, proxy := throughProxy(t, postgres.URL(t))
			s := r.patient("a")
			heard := listen(s)
			cutNext := func(what string, do func() error) {
				t.Helper()
				proxy.CutNext(cut)
				before := proxy.Made()
				if err := do(); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if proxy.Made() != before+1 {
					t.Fatalf("%s: no connection was cut", what)
				}
			}
			var h *taskstore.Handle
			cutNext("a new task", func() (err error) {
				h, err = s.Create(t.Context(), r.record("t1"), "m-t1")
				return err
			})
			cutNext("an event", func() error { return h.Commit(t.Context(), emit(artifact("x", "one", true))) })
			cutNext("a change without an event", func() error {
				return h.Commit(t.Context(), func(rec *taskstore.Record) (taskstore.Change, error) {
					rec.Attempts = 3
					return taskstore.Change{}, nil
				})
			})
			cutNext("another's change", func() error {
				_, err := s.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
					rec.WakeAt = start.Add(time.Hour)
					return taskstore.Change{MessageID: "m2", Digest: "d2"}, nil
				})
				return err
			})
			cutNext("the lease", func() error { return s.Renew(t.Context()) })
			cutNext("the end", func() error {
				return h.Commit(t.Context(), emit(artifact("x", "two", true), status(a2apb.TaskState_TASK_STATE_COMPLETED, "done")))
			})
			rec := r.get(s, "t1")
			if got := summary(rec.Task); got != "TASK_STATE_COMPLETED done [x: one two]" || rec.Version != 4 || rec.Attempts != 3 {
				t.Errorf("stored %s at version %d after %d attempts", got, rec.Version, rec.Attempts)
			}
			r.wantPublished("t1", 4)
			if got := fmt.Sprint(heard.of("t1")); got != "[1 2 3 4]" {
				t.Errorf("the listener heard %s", got)
			}
			if hops, err := s.Hops(t.Context(), "t1", ""); err != nil || len(hops) != 1 {
				t.Errorf("%d audit rows, %v; want 1", len(hops), err)
			}
			if known, err := s.Known(t.Context(), "acme/alice", "m2", "d2"); err != nil || known == nil || !known.Same {
				t.Errorf("the second message is %+v, %v", known, err)
			}
			// The relay gives every commit once, those of cut connections too.
			var given []int64
			for list := waiting(r, s, 2); len(list) > 0; list = waiting(r, s, 2) {
				for _, e := range list {
					for _, b := range e.Commit.GetBundles() {
						for _, ev := range b.GetEvents() {
							given = append(given, ev.GetVersion())
						}
					}
					r.must(s.Relayed(t.Context(), []eventlog.Position{e.Position}))
				}
			}
			if fmt.Sprint(given) != "[1 2 3 4]" {
				t.Errorf("the relay was given versions %v", given)
			}
		})
	}
}

func TestABurstWhoseConnectionBrokeIsStoredOnce(t *testing.T) {
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			r, proxy := throughProxy(t, postgres.URL(t))
			s := r.patient("a")
			const rows = 40
			proxy.CutNext(cut)
			for i := range rows {
				s.Record(taskstore.Hop{TraceID: "burst", Agent: "echo", Skill: fmt.Sprintf("s%d", i), StartedAt: start, EndedAt: start, Outcome: "MESSAGE"})
			}
			r.wait("the connection is cut", func() bool { return proxy.Made() == 1 })
			r.must(s.Renew(t.Context())) // a commit after the one that was cut
			hops, err := s.Hops(t.Context(), "", "burst")
			if err != nil || len(hops) != rows {
				t.Errorf("%d audit rows, %v; want %d", len(hops), err, rows)
			}
		})
	}
}

// wait waits for a condition.
func (r *rig) wait(what string, reached func() bool) {
	r.Helper()
	for end := time.Now().Add(time.Minute); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("not within a minute: %s", what)
		}
	}
}

// The database is away for longer than the lease, and meanwhile another replica
// relays and removes the row that would have told how the commit ended.
func TestAnEndThatNobodyCanTellIsNotGuessed(t *testing.T) {
	url := postgres.URL(t)
	r, proxy := throughProxy(t, url)
	direct := &rig{T: t, url: url, clock: r.clock}
	s, b := r.store("a"), direct.store("b")
	h := r.create(s, "t1")
	// away does something whose commit happens unheard, and gives its error after the
	// other replica has cleared up.
	away := func(do func() error) error {
		t.Helper()
		made := proxy.Made()
		proxy.CutNext(postgrestest.AfterCommitForLong)
		result := make(chan error, 1)
		go func() { result <- do() }()
		r.wait("the connections are cut", func() bool { return proxy.Made() == made+1 })
		r.clock.Advance(lease + time.Second)
		r.must(b.Renew(t.Context()))
		for len(direct.entries()) > 0 {
			var done []eventlog.Position
			for _, e := range waiting(direct, b, 10) {
				done = append(done, e.Position)
			}
			direct.must(b.Relayed(t.Context(), done))
			r.clock.Advance(3 * time.Second)
			r.must(b.Renew(t.Context()))
		}
		proxy.Admit()
		return <-result
	}
	err := away(func() error { return h.Commit(t.Context(), emit(artifact("x", "one", true))) })
	if !taskstore.Interrupted(err) {
		t.Errorf("an end that nobody can tell is given as %v", err)
	}
	wantErr(t, "the next change through the same handle", h.Note(emit(working(""))), err)
	if got := summary(r.get(b, "t1").Task); got != "TASK_STATE_SUBMITTED [x: one]" {
		t.Errorf("stored %s", got)
	}
	r.must(s.Renew(t.Context()))
	// A new task speaks for itself.
	r.must(away(func() error {
		_, err := s.Create(t.Context(), r.record("t2"), "m-t2")
		return err
	}))
	if due, err := b.Due(t.Context(), 10); err != nil || len(due) != 2 {
		t.Errorf("due at the other replica are %v, %v; want both tasks", due, err)
	}
}

// Many replicas' writes meet while the server crashes under them again and again.
func TestWritesOutliveTheServersCrashes(t *testing.T) {
	server := postgres.Server(t) // tests of a package run one after the other
	r := newRig(t, postgres.URL(t))
	stores := []*taskstore.Store{r.patient("a"), r.patient("b")}
	const tasks, chunks = 8, 12
	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for n := range tasks {
		all.Go(func() {
			id, s := fmt.Sprintf("t%d", n), stores[n%2]
			h, err := s.Create(t.Context(), r.record(id), "m-"+id)
			if err != nil {
				t.Errorf("create %s: %v", id, err)
				return
			}
			for i := range chunks {
				if err := h.Commit(t.Context(), emit(artifact("x", fmt.Sprint(i), true))); err != nil {
					t.Errorf("%s, chunk %d: %v", id, i, err)
					return
				}
				acknowledged.Add(1)
				if i%4 == 0 { // meets the other replica's writes
					if _, err := stores[(n+1)%2].Update(t.Context(), id, func(rec *taskstore.Record) (taskstore.Change, error) {
						rec.Attempts++
						return taskstore.Change{}, nil
					}); err != nil {
						t.Errorf("%s, update %d: %v", id, i, err)
					}
				}
			}
			if err := h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, ""))); err != nil {
				t.Errorf("the end of %s: %v", id, err)
			}
		})
	}
	// It crashes whenever so many writes have been acknowledged.
	stop, crashed := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { crashed <- n }()
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if acknowledged.Load() < int64(30*(n+1)) {
				continue
			}
			server.Stop()
			if err := server.Start(); err != nil {
				t.Error(err)
				return
			}
			n++
		}
	}()
	all.Wait()
	close(stop)
	if n := <-crashed; n == 0 {
		t.Error("the server never crashed")
	}
	want := "TASK_STATE_COMPLETED [x:"
	for i := range chunks {
		want += fmt.Sprintf(" %d", i)
	}
	want += "]"
	for n := range tasks {
		id := fmt.Sprintf("t%d", n)
		rec := r.get(stores[0], id)
		if got := summary(rec.Task); got != want {
			t.Errorf("%s: stored %s", id, got)
		}
		r.wantPublished(id, chunks+2)
		hops, err := stores[0].Hops(t.Context(), id, "")
		if err != nil || len(hops) != 1 {
			t.Errorf("%s: %d audit rows, %v; want 1", id, len(hops), err)
		}
	}
}

// A replica whose idle connections the server's crash has cut stops as any other.
func TestAReplicaLeavesThoughTheServerHasCrashed(t *testing.T) {
	server := postgres.Server(t)
	r := newRig(t, postgres.URL(t))
	s, other := r.patient("a"), r.patient("b")
	r.create(s, "t1")
	server.Stop()
	r.must(server.Start())
	r.must(s.Close(t.Context()))
	if due, err := other.Due(t.Context(), 10); err != nil || len(due) != 1 {
		t.Errorf("due at the other replica are %v, %v; want the task of the one that left", due, err)
	}
}

// A transaction that PostgreSQL ends to break a deadlock is tried again.
func TestADeadlockIsTriedAgain(t *testing.T) {
	r := newRig(t, postgres.URL(t))
	s := r.patient("a")
	h := r.create(s, "t1")
	tx, err := r.db().Write.BeginTx(t.Context(), nil)
	r.must(err)
	defer func() { _ = tx.Rollback() }()
	exec := func(query string) {
		t.Helper()
		_, err := tx.ExecContext(t.Context(), query)
		r.must(err)
	}
	exec(`SET LOCAL deadlock_timeout = '1h'`) // it is the store's transaction that gives way
	exec(`UPDATE store_facts SET value = value WHERE name = 'epoch'`)
	waiting := make(chan struct{}, 8)
	result := make(chan error, 1)
	go func() {
		result <- h.Commit(t.Context(), func(*taskstore.Record) (taskstore.Change, error) {
			return taskstore.Change{Events: []*a2apb.StreamResponse{artifact("x", "one", true)}, Rows: func(ctx context.Context, tx *sql.Tx) error {
				waiting <- struct{}{}
				_, err := tx.ExecContext(ctx, `UPDATE store_facts SET value = value WHERE name = 'epoch'`)
				return err
			}}, nil
		})
	}()
	<-waiting
	exec(`UPDATE tasks SET info = info WHERE id = 't1'`) // and waits for the other
	r.must(tx.Commit())
	r.must(<-result)
	if len(waiting) == 0 {
		t.Error("the transaction was not tried again")
	}
	if got := summary(r.get(s, "t1").Task); got != "TASK_STATE_SUBMITTED [x: one]" {
		t.Errorf("stored %s", got)
	}
	r.wantPublished("t1", 2)
}
