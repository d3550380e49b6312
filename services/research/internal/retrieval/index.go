package retrieval

import (
	"maps"
	"math"
	"slices"

	"sabha.dev/services/research/internal/term"
)

// BM25 (Robertson and Zaragoza, 2009) with the usual constants; a word of
// the headings above a passage counts as several in it.
const (
	bm25K1       = 1.2
	bm25B        = 0.75
	headingBoost = 2.0
)

// lexicon numbers terms. It only grows while the engine lives.
type lexicon struct {
	ids   map[string]uint32
	terms []string
}

func newLexicon() *lexicon { return &lexicon{ids: map[string]uint32{}} }

func (l *lexicon) id(t string) uint32 {
	id, ok := l.ids[t]
	if !ok {
		id = uint32(len(l.terms))
		l.ids[t] = id
		l.terms = append(l.terms, t)
	}
	return id
}

// entry is a document made ready for indexing; it never changes.
type entry struct {
	document Document
	passages []*analysed
}

type analysed struct {
	Passage
	document *Document
	body     []uint32           // the passage's terms in order
	headings map[uint32]bool    // terms of its title and headings
	weights  map[uint32]float64 // occurrences, headings boosted
}

func (l *lexicon) analyse(d Document) *entry {
	e := &entry{document: d}
	for _, p := range d.Passages {
		a := &analysed{Passage: p, document: &e.document, headings: map[uint32]bool{}, weights: map[uint32]float64{}}
		for _, t := range term.Of(p.Text) {
			id := l.id(t)
			a.body = append(a.body, id)
			a.weights[id]++
		}
		for _, heading := range append([]string{d.Title}, p.HeadingPath...) {
			for _, t := range term.Of(heading) {
				a.headings[l.id(t)] = true
			}
		}
		for id := range a.headings {
			a.weights[id] += headingBoost
		}
		e.passages = append(e.passages, a)
	}
	e.document.Passages = nil
	return e
}

// index is one state of the collection; it never changes.
type index struct {
	generation int64
	embedding  string
	passages   []*analysed
	postings   map[string]*postings
	length     float64 // average number of terms of a passage
}

type postings struct {
	id   uint32
	hits []hit
}

type hit struct {
	passage int32
	weight  float32
}

func newIndex(generation int64, embedding string, entries []*entry, words *lexicon) *index {
	ix := &index{generation: generation, embedding: embedding, postings: map[string]*postings{}}
	total := 0
	for _, e := range entries {
		for _, a := range e.passages {
			number := int32(len(ix.passages))
			ix.passages = append(ix.passages, a)
			total += len(a.body)
			for _, id := range slices.Sorted(maps.Keys(a.weights)) {
				t := words.terms[id]
				list := ix.postings[t]
				if list == nil {
					list = &postings{id: id}
					ix.postings[t] = list
				}
				list.hits = append(list.hits, hit{number, float32(a.weights[id])})
			}
		}
	}
	if len(ix.passages) > 0 {
		ix.length = max(float64(total)/float64(len(ix.passages)), 1)
	}
	return ix
}

// idf is BM25's weight of a term that n passages have; it is never negative.
func (ix *index) idf(n int) float64 {
	all := float64(len(ix.passages))
	return math.Log(1 + (all-float64(n)+0.5)/(float64(n)+0.5))
}
