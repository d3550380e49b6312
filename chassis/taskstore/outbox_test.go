package taskstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/taskstore"
)

// rows names entries as replica/seq.
func rows(list []eventlog.Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s/%d", e.Replica, e.Seq))
	}
	return strings.Join(out, " ")
}

func waiting(r *rig, s *taskstore.Store, limit int) []eventlog.Entry {
	r.Helper()
	list, err := s.Waiting(r.Context(), limit)
	r.must(err)
	return list
}

func TestTheOutboxGivesADeadReplicasRowsFirst(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		dead, a := r.open("dead", false), r.store("a")
		for i := range 3 {
			r.create(dead, fmt.Sprintf("d%d", i))
		}
		r.create(a, "t1")
		if got := rows(waiting(r, a, 10)); got != "a/1" {
			t.Fatalf("while the other lives: %s", got)
		}
		r.clock.Advance(lease + 1)
		r.must(a.Renew(t.Context()))
		if _, err := a.Claim(t.Context(), "d0"); err != nil {
			t.Fatal(err)
		}
		got := waiting(r, a, 2)
		if rows(got) != "dead/1 dead/2" {
			t.Fatalf("first: %s, want dead/1 dead/2", rows(got))
		}
		r.must(a.Relayed(t.Context(), []eventlog.Position{got[0].Position, got[1].Position}))
		got = waiting(r, a, 2)
		if !strings.HasPrefix(rows(got), "dead/3") {
			t.Fatalf("then: %s, want dead/3 first", rows(got))
		}
		r.must(a.Relayed(t.Context(), []eventlog.Position{got[0].Position}))
		if got := rows(waiting(r, a, 10)); got != "a/1" {
			t.Errorf("at last: %s, want a/1", got)
		}
	})
}

func TestConfirmedRowsAreNotGivenAgainAndGoWithALaterCommit(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		r.create(s, "t1")
		r.create(s, "t2")
		first := waiting(r, s, 1)
		if rows(first) != "a/1" {
			t.Fatalf("waiting %s, want a/1", rows(first))
		}
		r.must(s.Relayed(t.Context(), []eventlog.Position{first[0].Position}))
		if got := rows(waiting(r, s, 10)); got != "a/2" {
			t.Errorf("waiting %s, want a/2", got)
		}
		r.create(s, "t3")
		if got := rows(r.entries()); got != "a/2 a/3" {
			t.Errorf("stored %s after a further commit, want a/2 a/3", got)
		}
	})
}

// More commits than the relay's memory takes are read from the database, in order.
func TestALongOutageKeepsTheOrder(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, "t1")
		const commits = 1100
		for i := range commits {
			r.must(h.Commit(t.Context(), emit(artifact("x", fmt.Sprint(i), false))))
		}
		next := int64(1)
		for {
			list := waiting(r, s, 64)
			if len(list) == 0 {
				break
			}
			var done []eventlog.Position
			for _, e := range list {
				for _, ev := range e.Commit.GetBundles()[0].GetEvents() {
					if ev.GetVersion() != next {
						t.Fatalf("version %d, want %d", ev.GetVersion(), next)
					}
					next++
				}
				done = append(done, e.Position)
			}
			r.must(s.Relayed(t.Context(), done))
			if next == 600 { // commits go on meanwhile
				r.create(s, "t2")
			}
		}
		if next != commits+2 {
			t.Errorf("the outbox gave versions up to %d, want %d", next-1, commits+1)
		}
		r.create(s, "t3")
		if got := rows(waiting(r, s, 10)); !strings.HasPrefix(got, "a/") {
			t.Errorf("after the outage the outbox gives %q", got)
		}
	})
}

// A replica that stalled finds that another has relayed its rows: nothing waits, and
// what it commits next is given.
func TestRowsThatAnotherReplicaRelayedAreForgotten(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		stalled, b := r.store("stalled"), r.store("b")
		h := r.create(stalled, "t1")
		for i := range 1100 { // beyond what is kept in memory
			r.must(h.Commit(t.Context(), emit(artifact("x", fmt.Sprint(i), false))))
		}
		r.clock.Advance(lease + 1)
		r.must(b.Renew(t.Context()))
		for {
			list := waiting(r, b, 500)
			if len(list) == 0 {
				break
			}
			r.must(b.Relayed(t.Context(), []eventlog.Position{list[len(list)-1].Position}))
		}
		r.must(stalled.Rejoin(t.Context()))
		got := make(chan string, 1)
		go func() {
			list, err := stalled.Waiting(t.Context(), 10)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- rows(list)
		}()
		select {
		case list := <-got:
			if list != "" {
				t.Errorf("the stalled replica's outbox gives %s", list)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the stalled replica looks for its rows without end")
		}
		r.create(stalled, "t2")
		if got := rows(waiting(r, stalled, 10)); !strings.HasPrefix(got, "stalled/") {
			t.Errorf("after a further commit it gives %q", got)
		}
	})
}
