package taskstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/taskstore"
)

// pusher records what a replica is given to deliver.
type pusher struct {
	mu   sync.Mutex
	full bool
	got  []taskstore.Pushed
}

func (p *pusher) Room() bool { return !p.full }

func (p *pusher) Pushed(x taskstore.Pushed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, x)
}

// take gives what has come since it was last asked: the versions by configuration.
func (p *pusher) take() map[string][]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	versions := map[string][]int64{}
	for _, x := range p.got {
		for _, c := range x.Configs {
			for i := range x.Events {
				versions[c.ID] = append(versions[c.ID], c.Target-int64(len(x.Events))+1+int64(i))
			}
		}
	}
	p.got = nil
	return versions
}

func pushing(s *taskstore.Store) *pusher {
	p := &pusher{}
	s.SetPusher(p)
	return p
}

func webhook(task, id string) *a2apb.TaskPushNotificationConfig {
	return &a2apb.TaskPushNotificationConfig{TaskId: task, Id: id, Url: "https://example.com/" + id, Token: "t-" + id}
}

// createPushed creates a task with configurations.
func (r *rig) createPushed(s *taskstore.Store, id string, configs ...string) *taskstore.Handle {
	r.Helper()
	rec := r.record(id)
	var rows []taskstore.Rows
	for _, c := range configs {
		put, err := s.PutPush(webhook(id, c), 0, false)
		r.must(err)
		rec.Push = true
		rows = append(rows, put)
	}
	h, err := s.Create(r.Context(), rec, "m-"+id, rows...)
	r.must(err)
	return h
}

// put adds a configuration to a task as any replica does.
func (r *rig) put(s *taskstore.Store, task, id string, due bool) {
	r.Helper()
	_, err := s.Update(r.Context(), task, func(rec *taskstore.Record) (taskstore.Change, error) {
		rec.Push = true
		version := rec.Version
		if due {
			version--
		}
		rows, err := s.PutPush(webhook(task, id), version, due)
		return taskstore.Change{Rows: rows}, err
	})
	r.must(err)
}

func (r *rig) push(s *taskstore.Store, task, id string) *taskstore.Push {
	r.Helper()
	p, err := s.Push(r.Context(), taskstore.PushKey{TaskID: task, ID: id})
	r.must(err)
	return p
}

// settle settles and waits.
func (r *rig) settle(s *taskstore.Store, x taskstore.Settlement) taskstore.Settled {
	r.Helper()
	done := make(chan taskstore.Settled, 1)
	s.SettlePushes([]taskstore.Settlement{x}, func(list []taskstore.Settled, err error) {
		if err != nil || len(list) != 1 {
			r.Errorf("settled %v, %v", list, err)
			list = make([]taskstore.Settled, 1)
		}
		done <- list[0]
	})
	return <-done
}

func of(p *taskstore.Push, version int64) taskstore.Settlement {
	return taskstore.Settlement{PushKey: p.PushKey, Claim: p.Claim, Version: version}
}

// due are the configurations that a replica may claim.
func (r *rig) due(s *taskstore.Store) []string {
	r.Helper()
	list, err := s.DuePushes(r.Context(), false, 100)
	r.must(err)
	var ids []string
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	return ids
}

func (r *rig) claim(s *taskstore.Store) []*taskstore.Push {
	r.Helper()
	list, err := s.DuePushes(r.Context(), false, 100)
	r.must(err)
	claimed, err := s.ClaimPushes(r.Context(), list)
	r.must(err)
	return claimed
}

func wantVersions(t testing.TB, what string, got map[string][]int64, want map[string][]int64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestACommitClaimsWhatItNotifies(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		p := pushing(s)
		h := r.createPushed(s, "t1", "one", "two")
		r.must(h.Commit(t.Context(), emit(working("x"), artifact("a", "y", false))))
		wantVersions(t, "told", p.take(), map[string][]int64{"one": {1, 2, 3}, "two": {1, 2, 3}})
		got := r.push(s, "t1", "one")
		if got.ClaimedBy != "a" || got.Claim != 2 || got.Version != 0 || got.Target != 3 || got.DueAt != start || !proto.Equal(got.Config, webhook("t1", "one")) {
			t.Errorf("stored %+v", got)
		}
		if list := r.due(s); len(list) != 0 {
			t.Errorf("%v are due for others while they are claimed", list)
		}
		// What is delivered is given back with the next commit, and claimed with the next event.
		if x := r.settle(s, of(got, 3)); x.Lost || x.Target != 3 {
			t.Errorf("settled as %+v", x)
		}
		if got := r.push(s, "t1", "one"); got.Version != 3 || !got.DueAt.IsZero() || got.ClaimedBy != "" {
			t.Errorf("after delivery %+v", got)
		}
		r.must(h.Commit(t.Context(), emit(working("z"))))
		wantVersions(t, "told", p.take(), map[string][]int64{"one": {4}, "two": {4}})
		if got := r.push(s, "t1", "one"); got.ClaimedBy != "a" || got.Claim != 3 || got.Target != 4 {
			t.Errorf("after the next event %+v", got)
		}
		// A settlement that is behind keeps the claim.
		two := r.push(s, "t1", "two")
		if x := r.settle(s, of(two, 2)); x.Lost || x.Target != 4 {
			t.Errorf("settled as %+v", x)
		}
		if got := r.push(s, "t1", "two"); got.Version != 2 || got.ClaimedBy != "a" || got.DueAt.IsZero() {
			t.Errorf("while more is to be delivered: %+v", got)
		}
	})
}

func TestTasksWithoutConfigurationsAreNotLookedAt(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		p := pushing(s)
		r.must(r.create(s, "t1").Commit(t.Context(), emit(working("x"))))
		if got := p.take(); len(got) != 0 || r.get(s, "t1").Push {
			t.Errorf("told of %v", got)
		}
	})
}

// The owner of a task has it in memory; what another replica adds to it is seen
// by the owner's next commit.
func TestAConfigurationThatAnotherReplicaAddsIsSeen(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b := r.store("a"), r.store("b")
		p := pushing(a)
		pushing(b)
		h := r.create(a, "t1")
		r.put(b, "t1", "one", false)
		r.must(h.Commit(t.Context(), emit(working("x"))))
		wantVersions(t, "the owner is told", p.take(), map[string][]int64{"one": {2}})
	})
}

func TestAReplicaWithoutRoomLeavesItToOthers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b, none := r.store("a"), r.store("b"), r.store("none")
		pushing(a).full = true
		pushing(b)
		r.createPushed(a, "t1", "one")
		r.createPushed(none, "t2", "two")
		if got := r.due(b); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("%v are due", got)
		}
		if got := r.claim(b); len(got) != 2 || got[0].ClaimedBy != "b" || got[0].Version != 0 || got[0].Target != 1 {
			t.Errorf("claimed %+v", got)
		}
		if again := r.claim(b); len(again) != 0 {
			t.Errorf("claimed again: %+v", again)
		}
	})
}

func TestOfTwoReplicasOneClaims(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b := r.store("a"), r.store("b")
		for i := range 20 {
			r.createPushed(a, fmt.Sprintf("t%d", i), fmt.Sprintf("c%d", i))
		}
		list, err := a.DuePushes(t.Context(), false, 100)
		r.must(err)
		var wg sync.WaitGroup
		var got [2][]*taskstore.Push
		for i, s := range []*taskstore.Store{a, b} {
			wg.Go(func() {
				var err error
				if got[i], err = s.ClaimPushes(context.WithoutCancel(t.Context()), list); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(got[0])+len(got[1]) != 20 {
			t.Errorf("%d and %d claimed of 20", len(got[0]), len(got[1]))
		}
	})
}

func TestTheClaimsOfADeadReplicaAreTakenOverAfterItsLease(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a := r.open("a", false) // dies: it is never closed
		b := r.store("b")
		pushing(a)
		r.createPushed(a, "t1", "one")
		stale := r.push(b, "t1", "one")
		r.clock.Advance(lease / 2)
		r.must(b.Renew(t.Context()))
		if got := r.due(b); len(got) != 0 {
			t.Errorf("%v are due within the lease", got)
		}
		r.clock.Advance(lease/2 + time.Second)
		if got := r.claim(b); len(got) != 1 || got[0].ClaimedBy != "b" || got[0].Claim != stale.Claim+1 {
			t.Fatalf("claimed %+v", got)
		}
		if x := r.settle(a, of(stale, 1)); !x.Lost {
			t.Errorf("the former claim settled: %+v", x)
		}
		if got := r.push(b, "t1", "one"); got.Version != 0 || got.ClaimedBy != "b" {
			t.Errorf("stored %+v", got)
		}
		a.Close(context.Background())
	})
}

func TestAReplicaThatLeavesGivesItsClaimsBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a, b := r.open("a", false), r.store("b")
		pushing(a)
		r.createPushed(a, "t1", "one")
		r.must(a.Close(t.Context()))
		if got := r.due(b); !slices.Equal(got, []string{"one"}) {
			t.Errorf("%v are due", got)
		}
	})
}

func TestAFailureIsDueAgainAtItsTime(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		p := pushing(s)
		h := r.createPushed(s, "t1", "one")
		p.take()
		x := of(r.push(s, "t1", "one"), 0)
		x.RetryAt, x.Failures, x.Reason = start.Add(4*time.Second), 1, "HTTP 500"
		r.settle(s, x)
		r.must(h.Commit(t.Context(), emit(working("x")))) // is no reason to try sooner
		if got := p.take(); len(got) != 0 {
			t.Errorf("told of %v while the receiver is left alone", got)
		}
		if next, err := s.NextPush(t.Context()); err != nil || next != x.RetryAt {
			t.Errorf("next at %v, %v", next, err)
		}
		if got := r.due(s); len(got) != 0 {
			t.Errorf("%v are due too early", got)
		}
		r.clock.Advance(4 * time.Second)
		if got := r.claim(s); len(got) != 1 || got[0].Failures != 1 || got[0].Reason != "HTTP 500" || got[0].Target != 2 {
			t.Errorf("claimed %+v", got)
		}
	})
}

func TestDeadPushesAreListedAndSentAgain(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		p := pushing(s)
		var want []string
		for i := range 5 {
			h := r.createPushed(s, fmt.Sprintf("t%d", i), "one")
			x := of(r.push(s, fmt.Sprintf("t%d", i), "one"), 0)
			x.Disable, x.Failures, x.Reason = true, 3, "HTTP 500"
			r.settle(s, x)
			p.take()
			r.must(h.Commit(t.Context(), emit(working("x"))))
			want = append([]string{fmt.Sprintf("t%d", i)}, want...)
			if i%2 == 0 {
				r.clock.Advance(time.Second) // some share their time
			}
		}
		if got := p.take(); len(got) != 0 {
			t.Errorf("told of %v after it was disabled", got)
		}
		slices.SortFunc(want, func(a, b string) int { return cmpDead(a, b) })
		var got []string
		before, after := time.Time{}, taskstore.PushKey{}
		for {
			page, err := s.DeadPushes(t.Context(), before, after, 2)
			r.must(err)
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				got = append(got, d.TaskID)
				if d.Version != 0 || d.Target != 2 || d.Reason != "HTTP 500" || d.Failures != 3 {
					t.Errorf("listed %+v", d)
				}
			}
			before, after = page[len(page)-1].DisabledAt, page[len(page)-1].PushKey
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
		if n, err := s.CountDeadPushes(t.Context()); err != nil || n != 5 {
			t.Errorf("counted %d, %v", n, err)
		}
		key := taskstore.PushKey{TaskID: "t3", ID: "one"}
		r.must(s.ResendPush(t.Context(), key))
		wantErr(t, "sent again twice", s.ResendPush(t.Context(), key), taskstore.ErrNoPush)
		if got := r.claim(s); len(got) != 1 || got[0].TaskID != "t3" || got[0].Failures != 0 || got[0].Disabled() || got[0].Target != 2 {
			t.Errorf("claimed %+v", got)
		}
	})
}

// cmpDead orders the tasks of the test: newest first, and by id where the time is the same.
func cmpDead(a, b string) int {
	at := map[string]int{"t0": 0, "t1": 1, "t2": 1, "t3": 2, "t4": 2}
	if at[a] != at[b] {
		return at[b] - at[a]
	}
	return int(a[1]) - int(b[1])
}

func TestAReplacedOrDeletedConfigurationSettlesNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		pushing(s)
		r.createPushed(s, "t1", "one", "two")
		one, two := r.push(s, "t1", "one"), r.push(s, "t1", "two")
		r.put(s, "t1", "one", true)
		r.must(s.DeletePush(t.Context(), two.PushKey))
		r.must(s.DeletePush(t.Context(), two.PushKey))
		for _, p := range []*taskstore.Push{one, two} {
			if x := r.settle(s, of(p, 1)); !x.Lost {
				t.Errorf("%s settled: %+v", p.ID, x)
			}
		}
		_, err := s.Push(t.Context(), two.PushKey)
		wantErr(t, "read a deleted one", err, taskstore.ErrNoPush)
		if got := r.claim(s); len(got) != 1 || got[0].ID != "one" || got[0].Version != 0 || got[0].Target != 1 {
			t.Errorf("due at once after it was replaced: %+v", got)
		}
		list, err := s.Pushes(t.Context(), "t1", "", 10)
		if err != nil || len(list) != 1 {
			t.Errorf("listed %v, %v", list, err)
		}
	})
}

// An older release beside this one commits events without looking at
// configurations, and a restore may take configurations back behind their task.
func TestWhatWasNotMarkedIsFoundAtTheNextStart(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		pushing(s)
		r.createPushed(s, "t1", "one")
		r.settle(s, of(r.push(s, "t1", "one"), 1))
		_, err := r.db().Write.ExecContext(t.Context(), `UPDATE tasks SET version = 3 WHERE id = 't1'`)
		r.must(err)
		b := r.store("b")
		if got := r.claim(b); len(got) != 1 || got[0].Version != 1 || got[0].Target != 3 {
			t.Errorf("claimed %+v", got)
		}
	})
}

func TestConfigurationsGoWithTheirTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		pushing(s)
		r.createPushed(s, "t1", "one")
		_, err := r.db().Write.ExecContext(t.Context(), `DELETE FROM tasks WHERE id = 't1'`)
		r.must(err)
		if list, err := s.Pushes(t.Context(), "t1", "", 10); err != nil || len(list) != 0 {
			t.Errorf("left %v, %v", list, err)
		}
	})
}
