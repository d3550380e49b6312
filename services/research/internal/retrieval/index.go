package retrieval

import (
	"maps"
	"math"

	"sabha.dev/services/research/internal/term"
)

// A term of the title or of the headings above a passage counts as several in
// its text.
const headingBoost = 2.0

// index is the collection in memory: which passages have which term, and
// their vectors. It is changed in place; its user sees to it that nobody
// searches meanwhile.
type index struct {
	embedding string

	words    map[string]uint32 // term to its place in postings
	stems    map[string]uint32 // word as written to the same; also what spelling is checked against
	postings []postings
	spelling speller

	documents []*entry         // nil where one was removed
	named     map[string]int32 // place in documents

	passages []place
	live     int // passages of documents that are there
	length   int // terms of those
	vectors  slab
}

// postings are the passages that have a term, in their order.
type postings struct {
	passages []uint32
	weights  []uint8 // occurrences in the text, and the bit of headings
}

const (
	inHeading = 0x80
	mostOften = 0x7f
)

// place is a passage.
type place struct {
	document int32
	ordinal  int32
	length   int32 // terms of its text
}

// entry is a document without its passages.
type entry struct {
	Document
	first, count uint32 // its passages
	comparable   bool   // its vectors are of the embedder in use
}

func newIndex(embedding string, dimensions int) *index {
	return &index{
		embedding: embedding, words: map[string]uint32{}, stems: map[string]uint32{}, named: map[string]int32{},
		vectors: slab{dimensions: dimensions},
	}
}

// Count implements Receiver.
func (ix *index) Count() int { return len(ix.named) }

// Retain implements Receiver.
func (ix *index) Retain(names map[string]bool) {
	for name := range ix.named {
		if !names[name] {
			ix.remove(name)
		}
	}
}

// Put implements Receiver.
func (ix *index) Put(d Document) {
	ix.remove(d.Name)
	e := &entry{Document: d, first: uint32(len(ix.passages)), count: uint32(len(d.Passages)), comparable: d.Embedding == ix.embedding}
	e.Passages = nil
	number := int32(len(ix.documents))
	ix.documents = append(ix.documents, e)
	ix.named[d.Name] = number
	weights := map[uint32]uint8{}
	for _, p := range d.Passages {
		clear(weights)
		length := int32(0)
		ix.count(p.Text, func(id uint32) {
			length++
			if weights[id] < mostOften {
				weights[id]++
			}
		})
		above := func(id uint32) { weights[id] |= inHeading }
		ix.count(d.Title, above)
		for _, heading := range p.HeadingPath {
			ix.count(heading, above)
		}
		at := uint32(len(ix.passages))
		for id, w := range weights {
			list := &ix.postings[id]
			list.passages = append(list.passages, at)
			list.weights = append(list.weights, w)
		}
		ix.passages = append(ix.passages, place{document: number, ordinal: int32(p.Ordinal), length: length})
		ix.vectors.add(p.Vector, e.comparable)
		ix.live++
		ix.length += int(length)
	}
}

// count visits the terms of a text by their numbers and takes up new ones.
func (ix *index) count(text string, visit func(uint32)) {
	term.Each(text, func(surface string, word bool) {
		if !word {
			visit(ix.id(surface))
			return
		}
		id, ok := ix.stems[surface]
		if !ok {
			id = ix.id(term.Stem(surface))
			ix.stems[surface] = id
			ix.spelling.add(surface)
		}
		visit(id)
	})
}

func (ix *index) id(t string) uint32 {
	id, ok := ix.words[t]
	if !ok {
		id = uint32(len(ix.postings))
		ix.words[t] = id
		ix.postings = append(ix.postings, postings{})
	}
	return id
}

func (ix *index) remove(name string) {
	number, ok := ix.named[name]
	if !ok {
		return
	}
	delete(ix.named, name)
	e := ix.documents[number]
	ix.documents[number] = nil
	for _, p := range ix.passages[e.first : e.first+e.count] {
		ix.length -= int(p.length)
	}
	ix.live -= int(e.count)
}

// Passages of removed documents stay in the lists until so many are dead that
// sweeping is worth it. They are never found; only the rarity of a term is off
// by their share until then.
const (
	sweepSmall = 20_000 // an index of fewer passages is swept at each change
	sweepShare = 0.05
)

// settle sweeps when enough is dead. It is called after changes.
func (ix *index) settle() {
	dead := len(ix.passages) - ix.live
	if dead > 0 && (len(ix.passages) < sweepSmall || float64(dead) > sweepShare*float64(len(ix.passages))) {
		ix.sweep()
	}
}

// sweep drops all that removed documents have left: passages, vectors, and
// words that only they had.
func (ix *index) sweep() {
	moved := make([]uint32, len(ix.passages)) // new place and 1; 0 for the dead
	kept := ix.passages[:0]
	var documents []*entry
	for number, e := range ix.documents {
		if e == nil {
			continue
		}
		from := e.first
		e.first = uint32(len(kept))
		for i := range e.count {
			p := ix.passages[from+i]
			p.document = int32(len(documents))
			ix.vectors.move(int(from+i), len(kept))
			moved[from+i] = uint32(len(kept)) + 1
			kept = append(kept, p)
		}
		ix.named[e.Name] = int32(len(documents))
		documents = append(documents, e)
		ix.documents[number] = nil
	}
	ix.passages, ix.documents = kept, documents
	ix.vectors.cut(len(kept))
	ids := make([]uint32, len(ix.postings)) // new number and 1; 0 for what is gone
	lists := ix.postings[:0]
	for id, list := range ix.postings {
		n := 0
		for i, at := range list.passages {
			if to := moved[at]; to > 0 {
				list.passages[n], list.weights[n] = to-1, list.weights[i]
				n++
			}
		}
		if n > 0 {
			ids[id] = uint32(len(lists)) + 1
			lists = append(lists, postings{passages: list.passages[:n], weights: list.weights[:n]})
		}
	}
	clear(ix.postings[len(lists):])
	ix.postings = lists
	renumber := func(words map[string]uint32) {
		maps.DeleteFunc(words, func(_ string, id uint32) bool { return ids[id] == 0 })
		for w, id := range words {
			words[w] = ids[id] - 1
		}
	}
	renumber(ix.words)
	renumber(ix.stems)
	ix.spelling = speller{}
	for surface := range ix.stems {
		ix.spelling.add(surface)
	}
}

// list is the postings of a term; nil when no passage has it.
func (ix *index) list(t string) *postings {
	id, ok := ix.words[t]
	if !ok {
		return nil
	}
	return &ix.postings[id]
}

// idf is BM25's weight of a term that n passages have; it is never negative.
func (ix *index) idf(list *postings) float64 {
	n := 0
	if list != nil {
		n = min(len(list.passages), ix.live)
	}
	return math.Log(1 + (float64(ix.live)-float64(n)+0.5)/(float64(n)+0.5))
}
