package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/retrieval"
)

// shelf is a source in memory.
type shelf struct {
	mu         sync.Mutex
	generation int64
	documents  map[string]retrieval.Document
	loads      [][]string // names loaded with passages, load by load
	reads      int
	err        error
	changes    int // documents that are stored again before as many reads
}

func newShelf() *shelf { return &shelf{documents: map[string]retrieval.Document{}} }

// put stores a document of one passage per text.
func (s *shelf) put(name string, metadata map[string][]string, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	d := retrieval.Document{Name: name, Title: strings.TrimSuffix(name, ".md"), Version: s.generation, Embedding: embed.BuiltinName, Metadata: metadata, Digest: "sha256:x"}
	vectors, _ := embed.Builtin{}.Embed(context.Background(), label.Labels{}, texts)
	for i, text := range texts {
		d.Passages = append(d.Passages, retrieval.Passage{
			Chunk:  chunk.Chunk{Ordinal: i, Text: text, HeadingPath: []string{"Part " + fmt.Sprint(i)}, Start: i * 100, End: i*100 + len(text)},
			Vector: embed.Quantise(vectors[i]),
		})
	}
	s.documents[name] = d
}

func (s *shelf) titled(name, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[name]
	d.Title = title
	s.documents[name] = d
}

func (s *shelf) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	delete(s.documents, name)
}

func (s *shelf) Generation(context.Context, string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation, s.err
}

func (s *shelf) Changes(_ context.Context, _ string, after int64, to retrieval.Receiver) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var loaded []string
	names := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.documents)) {
		names[name] = true
		if d := s.documents[name]; d.Version > after {
			loaded = append(loaded, name)
			to.Put(d)
		}
	}
	if to.Count() != len(names) {
		to.Retain(names)
	}
	s.loads = append(s.loads, loaded)
	return s.generation, nil
}

func (s *shelf) Passages(_ context.Context, _ string, places []retrieval.Place) ([]retrieval.Read, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.changes > 0 {
		s.changes--
		for name, d := range s.documents {
			s.generation++
			d.Version = s.generation
			s.documents[name] = d
		}
	}
	var out []retrieval.Read
	for _, p := range places {
		if d := s.documents[p.Document]; d.Version == p.Version {
			out = append(out, retrieval.Read{Place: p, Chunk: d.Passages[p.Ordinal].Chunk})
		}
	}
	return out, nil
}

func animals() *shelf {
	s := newShelf()
	s.put("cats.md", map[string][]string{"kind": {"guide"}, "product": {"pets", "indoor"}}, "Cats sleep for sixteen hours a day.", "A cat purrs when it is content.")
	s.put("dogs.md", map[string][]string{"kind": {"guide"}, "product": {"pets"}}, "Dogs need a walk three times a day.", "A dog wags its tail when it is content.")
	s.put("trains.md", map[string][]string{"kind": {"report"}}, "The night train sleeps sixty passengers.")
	return s
}

func search(t *testing.T, e *retrieval.Engine, q retrieval.Query) []string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 5
	}
	results, err := e.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	var names []string
	for i, r := range results {
		if r.Confidence < 0 || r.Confidence > 1 || r.Text == "" || r.Digest == "" || len(r.HeadingPath) == 0 {
			t.Errorf("result %+v", r)
		}
		if i > 0 && r.Score > results[i-1].Score {
			t.Errorf("results are not in the order of their scores: %+v", results)
		}
		names = append(names, fmt.Sprintf("%s/%d", r.Document, r.Ordinal))
	}
	return names
}

func TestSearchRanksFiltersAndMisses(t *testing.T) {
	s := animals()
	for i := range 3 {
		s.put(fmt.Sprintf("zoo-%d.md", i+1), map[string][]string{"date": {fmt.Sprintf("2026-01-0%d", i+1)}}, fmt.Sprintf("Notice %d of the zoo.", i+1))
	}
	// What a document was updated counts before what it is dated.
	s.put("zoo-1.md", map[string][]string{"date": {"2026-03-01"}, "updated": {"2026-01-01T10:00:00Z"}}, "Notice 1 of the zoo.")
	s.put("b/parrots.md", nil, "Parrots repeat words.")
	s.put("c/parrots.md", nil, "parrots  repeat WORDS")
	s.titled("c/parrots.md", "b/parrots")
	s.put("c/turtles.md", nil, "Turtles live 80 years.")
	s.put("d/turtles.md", nil, "Turtles live 90 years.")
	s.titled("d/turtles.md", "c/turtles")
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	e := retrieval.New(s, embed.Builtin{}, "docs")
	cases := []struct {
		name string
		q    retrieval.Query
		want []string
	}{
		{"the best first", retrieval.Query{Text: "when does a cat purr", Limit: 1}, []string{"cats.md/1"}},
		{"forms of a word", retrieval.Query{Text: "dog walking", Limit: 1}, []string{"dogs.md/0"}},
		{"a subject nobody has is a miss", retrieval.Query{Text: "quantum chromodynamics"}, nil},
		{"punctuation alone is a miss", retrieval.Query{Text: `"*^()" ;--`}, nil},
		{"filter", retrieval.Query{Text: "content", Filters: map[string][]string{"Product": {"INDOOR"}}}, []string{"cats.md/1"}},
		{"one of several values", retrieval.Query{Text: "tail purr", Filters: map[string][]string{"product": {"indoor", "pets"}}}, []string{"cats.md/1", "dogs.md/1"}},
		{"every key of a filter", retrieval.Query{Text: "sleep", Filters: map[string][]string{"kind": {"report"}, "product": {"pets"}}}, nil},
		{"an unknown key", retrieval.Query{Text: "sleep", Filters: map[string][]string{"colour": {"red"}}}, nil},
		{"since a day", retrieval.Query{Text: "notice of the zoo", Since: day(2)}, []string{"zoo-2.md/0", "zoo-3.md/0"}},
		{"until a day, that day left out", retrieval.Query{Text: "notice of the zoo", Until: day(3)}, []string{"zoo-1.md/0", "zoo-2.md/0"}},
		{"between days", retrieval.Query{Text: "notice of the zoo", Since: day(2), Until: day(3)}, []string{"zoo-2.md/0"}},
		{"what has no day is of no time", retrieval.Query{Text: "cat purr", Since: day(1)}, nil},
		{"a copy is left out", retrieval.Query{Text: "parrots repeat words"}, []string{"b/parrots.md/0"}},
		{"another number is no copy", retrieval.Query{Text: "turtles live years"}, []string{"c/turtles.md/0", "d/turtles.md/0"}},
		{"least confidence", retrieval.Query{Text: "cat purr unheardof unthinkable", MinConfidence: 0.9}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := search(t, e, c.q); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Documents get other vectors while they are searched, and are found all the same.
func TestASearchBeginsAgainWhenDocumentsChangeUnderIt(t *testing.T) {
	s := animals()
	s.changes = 2
	e := retrieval.New(s, embed.Builtin{}, "docs")
	if got := search(t, e, retrieval.Query{Text: "when does a cat purr", Limit: 1}); !slices.Equal(got, []string{"cats.md/1"}) {
		t.Errorf("found %v", got)
	}
	if s.changes != 0 {
		t.Error("nothing changed under it")
	}
}

func TestConfidenceFallsWithWhatIsMissing(t *testing.T) {
	e := retrieval.New(animals(), embed.Builtin{}, "docs")
	last := 1.0
	for _, query := range []string{"cat purrs content", "cat purrs elsewhere", "cat purrs elsewhere nowhere"} {
		results, err := e.Search(context.Background(), retrieval.Query{Text: query, Limit: 1})
		if err != nil || len(results) != 1 {
			t.Fatalf("%q: %v, %v", query, results, err)
		}
		if c := results[0].Confidence; c >= last {
			t.Errorf("%q has confidence %.2f, not below %.2f", query, c, last)
		} else {
			last = c
		}
	}
}

func TestSearchRefusesWhatIsOutOfBounds(t *testing.T) {
	e := retrieval.New(animals(), embed.Builtin{}, "docs")
	cases := []struct {
		field string
		q     retrieval.Query
	}{
		{"query", retrieval.Query{Text: " \n", Limit: 1}},
		{"query", retrieval.Query{Text: strings.Repeat("a", retrieval.MaxQuery+1), Limit: 1}},
		{"limit", retrieval.Query{Text: "a", Limit: 0}},
		{"limit", retrieval.Query{Text: "a", Limit: retrieval.MaxLimit + 1}},
		{"min_confidence", retrieval.Query{Text: "a", Limit: 1, MinConfidence: 1.01}},
		{"min_confidence", retrieval.Query{Text: "a", Limit: 1, MinConfidence: -0.1}},
		{"until", retrieval.Query{Text: "a", Limit: 1, Since: time.Unix(2, 0), Until: time.Unix(2, 0)}},
	}
	for _, c := range cases {
		_, err := e.Search(context.Background(), c.q)
		f := fault.As(err)
		if f == nil || f.Reason != fault.InvalidArgument || f.Fields[0].Path != c.field {
			t.Errorf("%.40v: got %v, want a fault on %s", c.q, err, c.field)
		}
	}
}

func TestSearchSeesChangesAndLoadsOnlyThem(t *testing.T) {
	s := animals()
	e := retrieval.New(s, embed.Builtin{}, "docs")
	search(t, e, retrieval.Query{Text: "cat"})
	s.put("birds.md", nil, "A parrot repeats words.")
	if got := search(t, e, retrieval.Query{Text: "parrot"}); !slices.Equal(got, []string{"birds.md/0"}) {
		t.Errorf("after adding: %v", got)
	}
	s.put("birds.md", nil, "A penguin cannot fly.")
	if got := search(t, e, retrieval.Query{Text: "parrot"}); got != nil {
		t.Errorf("a replaced passage is still found: %v", got)
	}
	s.remove("cats.md")
	if got := search(t, e, retrieval.Query{Text: "purrs"}); got != nil {
		t.Errorf("a removed passage is still found: %v", got)
	}
	want := [][]string{{"cats.md", "dogs.md", "trains.md"}, {"birds.md"}, {"birds.md"}, nil}
	if fmt.Sprint(s.loads) != fmt.Sprint(want) {
		t.Errorf("loaded %v, want %v", s.loads, want)
	}
}

func TestSearchIgnoresVectorsOfAnotherEmbedder(t *testing.T) {
	s := animals()
	d := s.documents["cats.md"]
	d.Embedding = "another-model"
	for i := range d.Passages {
		d.Passages[i].Vector = embed.Quantise([]float32{1})
	}
	s.documents["cats.md"] = d
	e := retrieval.New(s, embed.Builtin{}, "docs")
	if got := search(t, e, retrieval.Query{Text: "cat purrs", Limit: 1}); !slices.Equal(got, []string{"cats.md/1"}) {
		t.Errorf("got %v", got)
	}
}

func TestSearchInParallelWithChanges(t *testing.T) {
	s := animals()
	e := retrieval.New(s, embed.Builtin{}, "docs")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				if i == 0 {
					s.put("birds.md", nil, fmt.Sprintf("A parrot repeats word%d.", j))
				}
				if results, err := e.Search(context.Background(), retrieval.Query{Text: "cat purrs", Limit: 1}); err != nil || len(results) != 1 {
					t.Errorf("got %v, %v", results, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSearchTellsOfABrokenStore(t *testing.T) {
	s := animals()
	s.err = errors.New("disk on fire")
	_, err := retrieval.New(s, embed.Builtin{}, "docs").Search(context.Background(), retrieval.Query{Text: "cat", Limit: 1})
	if !errors.Is(err, s.err) || fault.As(err) != nil {
		t.Errorf("got %v, want the cause and nothing for a client", err)
	}
}

func FuzzSearchTakesAnyText(f *testing.F) {
	e := retrieval.New(animals(), embed.Builtin{}, "docs")
	for _, seed := range []string{`"unbalanced`, `NEAR(cat dog, 2)`, `col:cat* AND (NOT`, `'; DROP TABLE chunks; --`, "cat\x00dog", "\xff\xfe", "& | ! <-> :*", "{}[]^~\\/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || len(text) > retrieval.MaxQuery {
			return
		}
		results, err := e.Search(context.Background(), retrieval.Query{Text: text, Limit: 5})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, r := range results {
			if !(r.Confidence >= 0 && r.Confidence <= 1) {
				t.Fatalf("%q: confidence %v", text, r.Confidence)
			}
		}
	})
}
