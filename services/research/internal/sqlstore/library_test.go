package sqlstore_test

import (
	"reflect"
	"testing"

	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/library"
	"sabha.dev/services/research/internal/sqlstore"
)

func TestADocumentIsReadByItsName(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		if err := s.Apply(t.Context(), "docs", ingest.Change{Put: []ingest.Document{doc("a/b.md", "d1", "zero", "one")}}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Document(t.Context(), "docs", "a/b.md")
		want := &library.Document{
			ID: "a/b.md", Title: "Title of a/b.md", Format: "markdown", Digest: "d1", Bytes: 7, Ingested: "2027-01-15T08:00:00Z",
			Metadata: map[string][]string{"kind": {"a", "b"}},
			Passages: []library.Passage{{HeadingPath: []string{"A", "0"}, Start: 0, End: 5, Text: "zero"}, {HeadingPath: []string{"A", "1"}, Start: 10, End: 15, Text: "one"}},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
		for _, c := range [][2]string{{"docs", "none"}, {"other", "a/b.md"}} {
			if got, err = s.Document(t.Context(), c[0], c[1]); got != nil || err != nil {
				t.Errorf("%v: %+v, %v", c, got, err)
			}
		}
	})
}

func TestChangesAreReadInPieces(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		apply := func(c ingest.Change) {
			t.Helper()
			if err := s.Apply(t.Context(), "docs", c); err != nil {
				t.Fatal(err)
			}
		}
		read := func(after library.Cursor, limit int) (names []string, last library.Cursor) {
			t.Helper()
			changes, err := s.ListChanges(t.Context(), "docs", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			last = after
			for _, c := range changes {
				names, last = append(names, c.ID), c.At
			}
			return names, last
		}
		if names, _ := read(library.Cursor{}, 9); names != nil {
			t.Errorf("of nothing: %v", names)
		}
		apply(ingest.Change{Put: []ingest.Document{doc("c", "1"), doc("a", "1"), doc("b", "1")}})
		names, at := read(library.Cursor{}, 2)
		if !reflect.DeepEqual(names, []string{"a", "b"}) {
			t.Errorf("the first: %v", names)
		}
		apply(ingest.Change{Put: []ingest.Document{doc("a", "2")}, Remove: []string{"b"}})
		if names, at = read(at, 9); !reflect.DeepEqual(names, []string{"c", "a"}) {
			t.Errorf("the others, and one that has changed: %v", names)
		}
		if names, _ = read(at, 9); names != nil {
			t.Errorf("after all: %v", names)
		}
	})
}
