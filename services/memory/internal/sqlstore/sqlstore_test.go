package sqlstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/memory/internal/memory"
	"sabha.dev/services/memory/internal/sqlstore"
	"sabha.dev/services/memory/migrations"
	"sabha.dev/testrig/postgrestest"
)

var (
	postgres postgrestest.Shared
	start    = time.Date(2026, 5, 4, 12, 0, 0, 123000, time.UTC)
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

func open(t *testing.T, url string) *sqlstore.Store {
	t.Helper()
	return store(t, database(t, url))
}

func store(t *testing.T, db *sqldb.DB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// file is the URL of a new SQLite database.
func file(folder string) string {
	return "sqlite:" + filepath.Join(folder, "memory.db") + "?secure_delete=on"
}

func database(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, "memory", migrations.Files); err != nil {
		t.Fatal(err)
	}
	return db
}

// eachEngine runs a test on a fresh store of either engine.
func eachEngine(t *testing.T, test func(t *testing.T, s *sqlstore.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, file(t.TempDir()))) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, postgres.URL(t))) })
}

func receipt(owner, id string) memory.Receipt {
	return memory.Receipt{Owner: owner, MessageID: id, Digest: "digest of " + id}
}

func note(owner, id, contextID string) memory.Memory {
	m := memory.Memory{ID: id, Owner: owner, Context: contextID, Kind: memory.LongTerm, Text: "text of " + id, CreatedAt: start}
	if contextID != "" {
		m.Kind = memory.Context
	}
	return m
}

func add(t *testing.T, s *sqlstore.Store, m memory.Memory) {
	t.Helper()
	if got, err := s.Add(t.Context(), receipt(m.Owner, "m-"+m.ID), m, 0); err != nil || got.ID != m.ID {
		t.Fatalf("stored as %+v, error %v", got, err)
	}
}

func ids(t *testing.T, s *sqlstore.Store, owner, contextID string, now time.Time) string {
	t.Helper()
	list, err := s.List(t.Context(), owner, contextID, now)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestListGivesBackWhatWasStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		want := note("acme/alice", "a", "c1")
		want.Text, want.Tags = "naïve 'quotes' \"and\" 😀\n\\", []string{"x", "y z"}
		want.Labels = label.Labels{Integrity: "untrusted", Confidentiality: "internal"}
		want.ExpiresAt = start.Add(time.Hour)
		add(t, s, want)
		got, err := s.List(t.Context(), "acme/alice", "c1", start)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func TestOnlyTheOwnerInTheContextSees(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		add(t, s, note("acme/alice", "long", ""))
		add(t, s, note("acme/alice", "c1", "c1"))
		add(t, s, note("acme/alice", "c2", "c2"))
		add(t, s, note("acme/bob", "bob", "c1"))
		add(t, s, note("other/alice", "namesake", ""))
		for _, c := range []struct{ owner, context, want string }{
			{"acme/alice", "c1", "c1 long"},
			{"acme/alice", "c2", "c2 long"},
			{"acme/alice", "", "long"},
			{"acme/bob", "c1", "bob"},
			{"acme/bob", "", ""},
			{"other/alice", "c1", "namesake"},
			{"", "c1", ""},
		} {
			if got := ids(t, s, c.owner, c.context, start); got != c.want {
				t.Errorf("%s in %q sees %q, want %q", c.owner, c.context, got, c.want)
			}
		}
	})
}

func TestSameMessageStoresOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		r := receipt("acme/alice", "m1")
		for i := range 3 {
			added, err := s.Add(t.Context(), r, note("acme/alice", fmt.Sprintf("try%d", i), ""), 0)
			id := added.ID
			if err != nil || id != "try0" {
				t.Fatalf("try %d: id %q, error %v", i, id, err)
			}
		}
		changed := r
		changed.Digest = "another"
		if _, err := s.Add(t.Context(), changed, note("acme/alice", "b", ""), 0); !errors.Is(err, memory.ErrConflict) {
			t.Errorf("error %v, want a conflict", err)
		}
		if got, err := s.Add(t.Context(), receipt("acme/bob", "m1"), note("acme/bob", "bobs", ""), 0); err != nil || got.ID != "bobs" {
			t.Errorf("another owner's message with the id: %+v, %v", got, err)
		}
		if got := ids(t, s, "acme/alice", "", start); got != "try0" {
			t.Errorf("stored %s", got)
		}
	})
}

func TestSameMessageAtOnceStoresOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		got := make([]string, 8)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				added, err := s.Add(t.Context(), receipt("acme/alice", "m1"), note("acme/alice", fmt.Sprintf("try%d", i), ""), 0)
				id := added.ID
				if err != nil {
					t.Error(err)
				}
				got[i] = id
			})
		}
		all.Wait()
		stored := ids(t, s, "acme/alice", "", start)
		for i, id := range got {
			if id != stored {
				t.Errorf("try %d was told %q, stored is %q", i, id, stored)
			}
		}
	})
}

func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		selector memory.Selector
		removed  int
		left     string // in c1
	}{
		"by id":             {memory.Selector{ID: "long"}, 1, "c1 c1b"},
		"by id of another":  {memory.Selector{ID: "bob"}, 0, "c1 c1b long"},
		"by unknown id":     {memory.Selector{ID: "nosuch"}, 0, "c1 c1b long"},
		"by context":        {memory.Selector{Context: "c1"}, 2, "long"},
		"by unused context": {memory.Selector{Context: "c9"}, 0, "c1 c1b long"},
		"all":               {memory.Selector{All: true}, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
				for id, context := range map[string]string{"long": "", "c1": "c1", "c1b": "c1", "c2": "c2"} {
					add(t, s, note("acme/alice", id, context))
				}
				add(t, s, note("acme/bob", "bob", "c1"))
				for range 2 { // the same message again: the same answer, and nothing more happens
					n, err := s.Remove(t.Context(), receipt("acme/alice", "forget"), c.selector, start)
					if err != nil || n != c.removed {
						t.Fatalf("%d removed, error %v; want %d", n, err, c.removed)
					}
				}
				if got := ids(t, s, "acme/alice", "c1", start); got != c.left {
					t.Errorf("left %q, want %q", got, c.left)
				}
				if got := ids(t, s, "acme/bob", "c1", start); got != "bob" {
					t.Errorf("bob has %q", got)
				}
			})
		})
	}
}

func TestRepeatedForgetSparesWhatCameLater(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		add(t, s, note("acme/alice", "a", ""))
		forget := receipt("acme/alice", "forget")
		if n, err := s.Remove(t.Context(), forget, memory.Selector{All: true}, start); err != nil || n != 1 {
			t.Fatalf("%d removed, error %v", n, err)
		}
		add(t, s, note("acme/alice", "later", ""))
		if n, err := s.Remove(t.Context(), forget, memory.Selector{All: true}, start); err != nil || n != 1 {
			t.Fatalf("%d removed, error %v", n, err)
		}
		if got := ids(t, s, "acme/alice", "", start); got != "later" {
			t.Errorf("left %q", got)
		}
		changed := forget
		changed.Digest = "another"
		if _, err := s.Remove(t.Context(), changed, memory.Selector{ID: "later"}, start); !errors.Is(err, memory.ErrConflict) {
			t.Errorf("error %v, want a conflict", err)
		}
		// What told a forgotten memory is not stored again either.
		if got, err := s.Add(t.Context(), receipt("acme/alice", "m-a"), note("acme/alice", "again", ""), 0); err != nil || got.ID != "a" {
			t.Errorf("stored as %+v, error %v", got, err)
		}
		if got := ids(t, s, "acme/alice", "", start); got != "later" {
			t.Errorf("left %q", got)
		}
	})
}

func TestExpiry(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		brief := note("acme/alice", "brief", "")
		brief.ExpiresAt = start.Add(time.Minute)
		add(t, s, brief)
		add(t, s, note("acme/alice", "kept", ""))
		for at, want := range map[time.Duration]string{59 * time.Second: "brief kept", time.Minute: "kept"} {
			if got := ids(t, s, "acme/alice", "", start.Add(at)); got != want {
				t.Errorf("after %v: %q, want %q", at, got, want)
			}
		}
		if err := s.Purge(t.Context(), start.Add(time.Minute), start.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		// Even for a clock that is behind it is gone now, its neighbour is not.
		if got := ids(t, s, "acme/alice", "", start); got != "kept" {
			t.Errorf("after the purge: %q", got)
		}
	})
}

func TestOldReceiptsAreForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		add(t, s, note("acme/alice", "a", ""))
		if err := s.Purge(t.Context(), start, start.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Add(t.Context(), receipt("acme/alice", "m-a"), note("acme/alice", "b", ""), 0); err != nil || got.ID != "b" {
			t.Errorf("stored as %+v, error %v", got, err)
		}
	})
}

func TestOwnerCannotHaveEndlesslyMany(t *testing.T) {
	db := database(t, file(t.TempDir()))
	_, err := db.Write.ExecContext(t.Context(),
		`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		 INSERT INTO memories (id, owner, context, kind, body, tags, labels, created_at, expires_at)
		 SELECT 'id' || i, 'acme/alice', '', 'long_term', 'text', '[]', '{}', 0, 0 FROM n`, memory.MaxPerOwner)
	if err != nil {
		t.Fatal(err)
	}
	s := store(t, db)
	add(t, s, note("acme/alice", "last", ""))
	if _, err := s.Add(t.Context(), receipt("acme/alice", "more"), note("acme/alice", "more", ""), 0); !errors.Is(err, memory.ErrFull) {
		t.Errorf("error %v, want full", err)
	}
	add(t, s, note("acme/bob", "bobs", ""))
}

// TestForgottenTextIsGoneFromTheFiles reads the database files themselves.
func TestForgottenTextIsGoneFromTheFiles(t *testing.T) {
	folder := t.TempDir()
	s := open(t, file(folder))
	holds := func(text string) (found bool) {
		t.Helper()
		files, err := os.ReadDir(folder)
		if err != nil || len(files) == 0 {
			t.Fatalf("files %v, error %v", files, err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(raw), text)
		}
		return found
	}
	// Enough of it to fill pages, split them and spill into overflow pages.
	for i := range 200 {
		m := note("acme/alice", fmt.Sprint(i), "")
		m.Text = fmt.Sprintf("kingfisher %d %s", i, strings.Repeat("padding ", i*10))
		m.Tags = []string{"heronry"}
		if i%2 == 1 {
			m.ExpiresAt = start.Add(time.Minute)
		}
		add(t, s, m)
	}
	goldcrest := memory.Fact{Subject: "goldcrest", Predicate: "nests in", Value: "spruces", Source: "bullfinch.md", Confidence: 1, At: start}
	add(t, s, memory.Memory{ID: "fact", Owner: "acme/alice", Kind: memory.FactKind, Text: goldcrest.Text(), Fact: &goldcrest, CreatedAt: start})
	siskin := memory.Episode{Plan: "siskin", Outcome: "completed", Approved: []string{"nuthatch"}}
	add(t, s, memory.Memory{ID: "episode", Owner: "acme/alice", Kind: memory.EpisodeKind, Text: siskin.Text(), Episode: &siskin, CreatedAt: start})
	other := note("acme/bob", "bob", "")
	other.Text = "woodpecker"
	add(t, s, other)
	if !holds("kingfisher 150") || !holds("heronry") || !holds("digest of m-150") || !holds("bullfinch") || !holds("nuthatch") {
		t.Fatal("the text was not in the files before; the test sees nothing")
	}
	if err := s.Purge(t.Context(), start.Add(time.Minute), start.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if holds("kingfisher 151") || holds("digest of m-151") {
		t.Error("expired text is still in the files")
	}
	if !holds("kingfisher 150") {
		t.Error("text that had not expired is gone")
	}
	if n, err := s.Remove(t.Context(), receipt("acme/alice", "forget"), memory.Selector{All: true}, start); err != nil || n != 102 {
		t.Fatalf("%d removed, error %v", n, err)
	}
	for _, text := range []string{"kingfisher", "heronry", "padding padding", "digest of m-150", "goldcrest", "bullfinch", "siskin", "nuthatch"} {
		if holds(text) {
			t.Errorf("%q is still in the files", text)
		}
	}
	if !holds("woodpecker") {
		t.Error("another owner's text is gone")
	}
}

func TestDatabaseThatKeepsDeletedTextIsRefused(t *testing.T) {
	db := database(t, "sqlite:"+filepath.Join(t.TempDir(), "memory.db"))
	_, err := sqlstore.New(t.Context(), db)
	if err == nil || err.Error() != "memories need a database that overwrites what is deleted; open it with secure_delete=on" {
		t.Errorf("error %v", err)
	}
}
