package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/document"
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
		n, documents, err := s.Load(ctx, "docs", nil)
		if err != nil || n != 1 || len(documents) != 2 {
			t.Fatalf("generation %d, %d documents, %v", n, len(documents), err)
		}
		wantB := retrieval.Document{
			Name: "b.md", Title: "Title of b.md", Digest: "d1", Version: 1, Embedding: "e1", Metadata: map[string][]string{"kind": {"a", "b"}},
			Passages: []retrieval.Passage{
				{Chunk: chunk.Chunk{Ordinal: 0, HeadingPath: []string{"A", "0"}, Start: 0, End: 5, Text: "b zero", Words: 2}, Vector: []float32{0.25, -1, 0}},
				{Chunk: chunk.Chunk{Ordinal: 1, HeadingPath: []string{"A", "1"}, Start: 10, End: 15, Text: "b 'one' \U0001F600", Words: 2}, Vector: []float32{0.25, -1, 1}},
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
		n, documents, err := s.Load(ctx, "docs", map[string]int64{"c.md": 1, "a.md": 1})
		if err != nil || n != 2 || len(documents) != 2 {
			t.Fatalf("generation %d, documents %+v, %v", n, documents, err)
		}
		a, c := documents[0], documents[1]
		if a.Version != 2 || len(a.Passages) != 1 || a.Passages[0].Text != "five" {
			t.Errorf("the replaced document is %+v", a)
		}
		if c.Version != 1 || c.Passages != nil {
			t.Errorf("the known document came as %+v", c)
		}
	})
}

func TestAFailedChangeLeavesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ctx := t.Context()
		broken := doc("b.md", "d1", "text")
		broken.Vectors = nil
		if err := s.Apply(ctx, "docs", ingest.Change{Put: []ingest.Document{doc("a.md", "d1", "text"), broken}}); err == nil {
			t.Fatal("a document without its vectors was stored")
		}
		if n, documents, err := s.Load(ctx, "docs", nil); n != 0 || len(documents) != 0 || err != nil {
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
