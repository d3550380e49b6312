package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/internal/sqlstore"
)

// distant is an embedder that is not always there.
type distant struct {
	away  bool
	asked []string
	of    []label.Labels
}

func (*distant) Name() string    { return "distant" }
func (*distant) Dimensions() int { return 8 }

func (d *distant) Embed(_ context.Context, labels label.Labels, texts []string) ([][]float32, error) {
	if d.away {
		return nil, fmt.Errorf("%w: gone", embed.ErrAway)
	}
	d.asked, d.of = append(d.asked, texts...), append(d.of, labels)
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = embed.Normal([]float32{1, 2, 3, 4, 5, 6, 7, 8})
	}
	return out, nil
}

func TestDocumentsGetTheVectorsTheyLack(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		a, b := doc("a.md", "d1", "the cat sleeps", "the dog barks"), doc("b.md", "d2", "a fish swims")
		b.Metadata = map[string][]string{"confidentiality": {"internal"}}
		if err := s.Apply(t.Context(), "docs", ingest.Change{Put: []ingest.Document{a, b}}); err != nil {
			t.Fatal(err)
		}
		far := &distant{away: true}
		engine := retrieval.New(s, far, "docs")
		search := func(text string) []retrieval.Result {
			t.Helper()
			found, err := engine.Search(t.Context(), retrieval.Query{Text: text, Limit: 5})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		// Words find it while there are no vectors, of the documents and of the query.
		if got := search("cat sleeps"); len(got) != 1 || got[0].Text != "the cat sleeps" {
			t.Errorf("while it is away: %+v", got)
		}
		if made, err := ingest.Vectors(t.Context(), s, far, "docs"); made != 0 || !errors.Is(err, embed.ErrAway) {
			t.Errorf("while it is away: %d made, %v", made, err)
		}
		far.away = false
		if made, err := ingest.Vectors(t.Context(), s, far, "docs"); made != 2 || err != nil {
			t.Fatalf("%d made, %v", made, err)
		}
		slices.Sort(far.asked)
		if want := []string{"Title of a.md\nA\n0\nthe cat sleeps", "Title of a.md\nA\n1\nthe dog barks", "Title of b.md\nA\n0\na fish swims"}; !slices.Equal(far.asked, want) {
			t.Errorf("asked %q", far.asked)
		}
		if !slices.ContainsFunc(far.of, func(l label.Labels) bool { return l.Confidentiality == label.Internal }) {
			t.Errorf("labels %v", far.of)
		}
		if prints, err := s.Fingerprints(t.Context(), "docs"); err != nil || prints["a.md"].Embedding != "distant" || prints["b.md"].Embedding != "distant" {
			t.Errorf("%v %v", prints, err)
		}
		far.asked = nil
		if made, err := ingest.Vectors(t.Context(), s, far, "docs"); made != 0 || err != nil || far.asked != nil {
			t.Errorf("again: %d made, %v", made, err)
		}
		// The index takes them up: all vectors are alike here, so each passage is near.
		near, err := engine.Rank(t.Context(), retrieval.Query{Text: "whatever", Limit: 5}, retrieval.ByVectors)
		if err != nil || len(near) != 3 {
			t.Errorf("%d near, %v", len(near), err)
		}
	})
}

func TestVectorsOfADocumentThatHasChangedAreDropped(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		put := func(d ingest.Document) {
			t.Helper()
			if err := s.Apply(t.Context(), "docs", ingest.Change{Put: []ingest.Document{d}}); err != nil {
				t.Fatal(err)
			}
		}
		put(doc("a.md", "d1", "before"))
		text, err := s.Text(t.Context(), "docs", "a.md", "distant")
		if err != nil {
			t.Fatal(err)
		}
		put(doc("a.md", "d2", "after"))
		if err := s.Embed(t.Context(), "docs", text, "distant", make([][]float32, 1)); !errors.Is(err, ingest.ErrChanged) {
			t.Error(err)
		}
		if prints, err := s.Fingerprints(t.Context(), "docs"); err != nil || prints["a.md"].Embedding == "distant" || prints["a.md"].Digest != "d2" {
			t.Errorf("%v %v", prints, err)
		}
		if err := s.Embed(t.Context(), "docs", text, "distant", nil); err == nil {
			t.Error("vectors for other chunks were taken")
		}
	})
}
