package sqlstore_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/document"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/internal/sqlstore"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// eachEngine runs a test on a fresh store of either engine.
func eachEngine(t *testing.T, test func(t *testing.T, s *sqlstore.Store)) {
	urls := map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "research.db") },
		"postgres": func(t *testing.T) string { return postgres.URL(t) },
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), url(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := sqlstore.Migrate(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			if err := sqlstore.Migrate(t.Context(), db); err != nil {
				t.Fatalf("a second time: %v", err)
			}
			test(t, sqlstore.New(db, clocktest.New(time.Unix(1_800_000_000, 0))))
		})
	}
}

func doc(name, digest string, texts ...string) ingest.Document {
	d := ingest.Document{
		Document:    &document.Document{Name: name, Title: "Title of " + name, Format: document.Markdown, Bytes: 7, Metadata: document.Metadata{"kind": {"a", "b"}}},
		Fingerprint: ingest.Fingerprint{Digest: digest, Splitter: "s1", Embedding: "e1"},
	}
	for i, text := range texts {
		d.Chunks = append(d.Chunks, chunk.Chunk{Ordinal: i, HeadingPath: []string{"A", fmt.Sprint(i)}, Start: 10 * i, End: 10*i + 5, Text: text, Words: 2})
		d.Vectors = append(d.Vectors, []float32{0.25, -1, float32(i)})
	}
	return d
}

func TestWhatIsStoredComesBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		if err := s.Apply(ctx, "docs", ingest.Change{Put: []ingest.Document{doc("b.md", "d1", "b zero", "b 'one' \U0001F600"), doc("a/a.md", "d2", "a zero")}}); err != nil {
			t.Fatal(err)
		}
		prints, err := s.Fingerprints(ctx, "docs")
		want := map[string]ingest.Fingerprint{"b.md": {Digest: "d1", Splitter: "s1", Embedding: "e1"}, "a/a.md": {Digest: "d2", Splitter: "s1", Embedding: "e1"}}
		if err != nil || !reflect.DeepEqual(prints, want) {
			t.Fatalf("fingerprints %v, %v; want %v", prints, err, want)
		}
		n, documents, err := load(ctx, s, 0)
		if err != nil || n != 1 || len(documents) != 2 {
			t.Fatalf("generation %d, %d documents, %v", n, len(documents), err)
		}
		wantB := retrieval.Document{
			Name: "b.md", Title: "Title of b.md", Digest: "d1", Version: 1, Embedding: "e1", Metadata: map[string][]string{"kind": {"a", "b"}},
			Passages: []retrieval.Passage{
				{Chunk: chunk.Chunk{Ordinal: 0, HeadingPath: []string{"A", "0"}, Start: 0, End: 5, Text: "b zero", Words: 2}, Vector: vector(0)},
				{Chunk: chunk.Chunk{Ordinal: 1, HeadingPath: []string{"A", "1"}, Start: 10, End: 15, Text: "b 'one' \U0001F600", Words: 2}, Vector: vector(1)},
			},
		}
		if documents[0].Name != "a/a.md" || !reflect.DeepEqual(documents[1], wantB) {
			t.Errorf("got %+v, want a/a.md and %+v", documents, wantB)
		}
	})
}

func TestAChangeReplacesRemovesAndCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		if n, err := s.Generation(ctx, "docs"); n != 0 || err != nil {
			t.Fatalf("generation of nothing: %d, %v", n, err)
		}
		for _, change := range []ingest.Change{
			{Put: []ingest.Document{doc("a.md", "d1", "one", "two"), doc("b.md", "d1", "three"), doc("c.md", "d1", "four")}},
			{Put: []ingest.Document{doc("a.md", "d2", "five")}, Remove: []string{"b.md", "never-there.md"}},
		} {
			if err := s.Apply(ctx, "docs", change); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Apply(ctx, "other", ingest.Change{Put: []ingest.Document{doc("a.md", "d9", "elsewhere")}}); err != nil {
			t.Fatal(err)
		}
		n, documents, err := load(ctx, s, 1)
		if err != nil || n != 2 || len(documents) != 1 {
			t.Fatalf("generation %d, documents %+v, %v", n, documents, err)
		}
		if a := documents[0]; a.Name != "a.md" || a.Version != 2 || len(a.Passages) != 1 || a.Passages[0].Text != "five" {
			t.Errorf("the replaced document is %+v", a)
		}
	})
}

func TestWhoHasTooMuchIsToldWhatIsLeft(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		for _, change := range []ingest.Change{
			{Put: []ingest.Document{doc("a.md", "d1", "one"), doc("b.md", "d1", "two")}},
			{Put: []ingest.Document{doc("c.md", "d1", "three")}, Remove: []string{"a.md"}},
		} {
			if err := s.Apply(ctx, "docs", change); err != nil {
				t.Fatal(err)
			}
		}
		r := receiver{have: map[string]bool{"a.md": true, "b.md": true}}
		if _, err := s.Changes(ctx, "docs", 1, &r); err != nil {
			t.Fatal(err)
		}
		if want := map[string]bool{"b.md": true, "c.md": true}; !reflect.DeepEqual(r.have, want) || len(r.put) != 1 {
			t.Errorf("left with %v after %d documents, want %v", r.have, len(r.put), want)
		}
	})
}

func TestPassagesOfAnotherVersionAreNotGiven(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		if err := s.Apply(ctx, "docs", ingest.Change{Put: []ingest.Document{doc("a.md", "d1", "zero", "one", "two")}}); err != nil {
			t.Fatal(err)
		}
		at := func(version int64, ordinal int) retrieval.Place {
			return retrieval.Place{Document: "a.md", Version: version, Ordinal: ordinal}
		}
		got, err := s.Passages(ctx, "docs", []retrieval.Place{at(1, 2), at(1, 9), at(2, 0), at(1, 0)})
		slices.SortFunc(got, func(a, b retrieval.Read) int { return a.Place.Ordinal - b.Place.Ordinal })
		if err != nil || len(got) != 2 || got[0].Chunk.Text != "zero" || got[1].Chunk.Text != "two" || got[1].Chunk.HeadingPath[1] != "2" || got[1].Place != at(1, 2) {
			t.Errorf("got %+v, %v", got, err)
		}
		if got, err := s.Passages(ctx, "docs", nil); err != nil || got != nil {
			t.Errorf("of nothing: %+v, %v", got, err)
		}
	})
}

// receiver keeps what it is told.
type receiver struct {
	put  []retrieval.Document
	have map[string]bool
}

func (r *receiver) Put(d retrieval.Document) {
	r.put = append(r.put, d)
	r.have[d.Name] = true
}

func (r *receiver) Count() int { return len(r.have) }

func (r *receiver) Retain(names map[string]bool) {
	maps.DeleteFunc(r.have, func(name string, _ bool) bool { return !names[name] })
}

func load(ctx context.Context, s *sqlstore.Store, after int64) (int64, []retrieval.Document, error) {
	r := receiver{have: map[string]bool{}}
	n, err := s.Changes(ctx, "docs", after, &r)
	return n, r.put, err
}

func vector(last float32) embed.Quantised { return embed.Quantise([]float32{0.25, -1, last}) }

func TestAFailedChangeLeavesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		broken := doc("b.md", "d1", "text")
		broken.Vectors = nil
		if err := s.Apply(ctx, "docs", ingest.Change{Put: []ingest.Document{doc("a.md", "d1", "text"), broken}}); err == nil {
			t.Fatal("a document without its vectors was stored")
		}
		if n, documents, err := load(ctx, s, 0); n != 0 || len(documents) != 0 || err != nil {
			t.Errorf("generation %d, %d documents, %v", n, len(documents), err)
		}
	})
}

func TestCanceledCallsGiveTheContextsError(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Apply(ctx, "docs", ingest.Change{Put: []ingest.Document{doc("a.md", "d", "x")}}); err == nil {
			t.Error("stored although canceled")
		}
	})
}

func TestDeletedDocumentsLeaveNoTrace(t *testing.T) {
	ctx, folder := t.Context(), t.TempDir()
	db, err := sqldb.Open(ctx, "sqlite:"+filepath.Join(folder, "research.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := sqlstore.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	s := sqlstore.New(db, clocktest.New(time.Unix(1_800_000_000, 0)))
	long := strings.Repeat("the word is xylomarimba, ", 400) // of several pages
	found := func(word string) (in []string) {
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(raw, []byte(word)) {
				in = append(in, f.Name())
			}
		}
		return in
	}
	change := func(c ingest.Change) {
		t.Helper()
		if err := s.Apply(ctx, "docs", c); err != nil {
			t.Fatal(err)
		}
	}
	change(ingest.Change{Put: []ingest.Document{doc("gone-marker.md", "d1", long), doc("replaced.md", "d1", "zyzzogeton"), doc("stays.md", "d1", "quercitron")}})
	if len(found("xylomarimba")) == 0 {
		t.Fatal("what is stored is not found")
	}
	change(ingest.Change{Put: []ingest.Document{doc("replaced.md", "d2", "new")}, Remove: []string{"gone-marker.md"}})
	for _, word := range []string{"xylomarimba", "gone-marker", "zyzzogeton"} {
		if in := found(word); in != nil {
			t.Errorf("%s is still in %v", word, in)
		}
	}
	if len(found("quercitron")) == 0 {
		t.Error("the document that stays is gone")
	}
}
