package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"sabha.dev/chassis/label"
	"sabha.dev/services/memory/internal/memory"
	"sabha.dev/services/memory/internal/sqlstore"
)

func store1(t *testing.T, s *sqlstore.Store, m memory.Memory, budget int) memory.Added {
	t.Helper()
	m.Told = []memory.Telling{{At: m.CreatedAt, Context: m.Context}}
	added, err := s.Add(t.Context(), receipt(m.Owner, "m-"+m.ID), m, budget)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func fact(id, value string, age time.Duration, confidence float64) memory.Memory {
	f := memory.Fact{Subject: "Customer 7", Predicate: "prefers", Value: value, Confidence: confidence, At: start.Add(-age)}
	return memory.Memory{
		ID: id, Owner: "acme/alice", Kind: memory.FactKind, Text: f.Text(), Fact: &f, CreatedAt: start,
		Labels: label.Labels{Integrity: label.Trusted},
	}
}

func TestWhatIsToldAgainIsMerged(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		first := note("acme/alice", "a", "")
		first.Text, first.ExpiresAt = "The customer prefers letters.", start.Add(time.Hour)
		store1(t, s, first, 0)
		again := note("acme/alice", "b", "")
		again.Text, again.Labels = "customer prefers letters", label.Labels{Integrity: label.Untrusted}
		if got := store1(t, s, again, 0); got.ID != "a" || !got.Merged {
			t.Errorf("%+v", got)
		}
		elsewhere := again
		elsewhere.ID, elsewhere.Kind, elsewhere.Context = "c", memory.Context, "c1"
		if got := store1(t, s, elsewhere, 0); got.Merged {
			t.Errorf("a note of a context was merged with a long-term one: %+v", got)
		}
		all, err := s.List(t.Context(), "acme/alice", "", start.Add(2*time.Hour))
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v %v", all, err)
		}
		if m := all[0]; len(m.Told) != 2 || m.Labels.Integrity != label.Untrusted || !m.ExpiresAt.IsZero() || m.Text != first.Text {
			t.Errorf("%+v", m)
		}
		// The message of the second telling gives the merged memory again, and is forgotten with it.
		if got := store1(t, s, again, 0); got.ID != "a" {
			t.Errorf("%+v", got)
		}
	})
}

func TestOneFactOfATopicHolds(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		store1(t, s, fact("old", "letters", time.Hour, 0.8), 0)
		if got := store1(t, s, fact("same", "LETTERS", time.Minute, 0.9), 0); got.ID != "old" || !got.Merged {
			t.Errorf("%+v", got)
		}
		if got := store1(t, s, fact("doubtful", "calls", 0, 0.3), 0); got.SupersededBy != "old" {
			t.Errorf("%+v", got)
		}
		if got := store1(t, s, fact("new", "mail", 0, 0.9), 0); got.Superseded != 1 || got.SupersededBy != "" {
			t.Errorf("%+v", got)
		}
		all, err := s.Export(t.Context(), "acme/alice")
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]string{}
		for _, m := range all {
			by[m.ID] = m.SupersededBy
		}
		if want := map[string]string{"old": "new", "doubtful": "new", "new": ""}; fmt.Sprint(by) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", by, want)
		}
		// Forgetting what holds forgets what it took the place of.
		if n, err := s.Remove(t.Context(), receipt("acme/alice", "forget"), memory.Selector{ID: "new"}, start); err != nil || n != 3 {
			t.Errorf("%d forgotten, %v", n, err)
		}
	})
}

func TestAnEarlierFactHoldsAgainWhenTheLaterExpires(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		store1(t, s, fact("old", "letters", time.Hour, 1), 0)
		brief := fact("brief", "calls", 0, 1)
		brief.ExpiresAt = start.Add(time.Minute)
		store1(t, s, brief, 0)
		if err := s.Purge(t.Context(), start.Add(time.Minute), start.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		all, err := s.Export(t.Context(), "acme/alice")
		if err != nil || len(all) != 1 || all[0].SupersededBy != "" {
			t.Errorf("%+v %v", all, err)
		}
	})
}

func TestTheOldestOfAContextMakeRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		for i := range 4 {
			m := note("acme/alice", fmt.Sprint(i), "c1")
			m.Text = fmt.Sprintf("note number %d of sixty bytes or so, which are about 15 tokens", i)
			m.CreatedAt = start.Add(time.Duration(i) * time.Second)
			if got, want := store1(t, s, m, 50).Dropped, i/3; got != want {
				t.Errorf("note %d: %d dropped, want %d", i, got, want)
			}
		}
		if got := ids(t, s, "acme/alice", "c1", start); got != "1 2 3" {
			t.Errorf("left %s", got)
		}
		huge := note("acme/alice", "huge", "c1")
		huge.Text, huge.CreatedAt = fmt.Sprintf("%0400d", 1), start.Add(time.Minute)
		if got := store1(t, s, huge, 50); got.Dropped != 3 {
			t.Errorf("%+v", got)
		}
		if got := ids(t, s, "acme/alice", "c1", start); got != "huge" {
			t.Errorf("left %s", got)
		}
	})
}
