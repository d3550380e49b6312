package retrieval

import (
	"cmp"
	"slices"
	"strings"

	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/lexicon"
	"sabha.dev/services/research/internal/term"
)

// slot is one word of the query and what a passage may say in its place.
type slot struct {
	term string
	own  *postings // nil when no passage has the word
	idf  float64
	// ways to say it, the word itself left out, the closest first.
	ways []way
}

// way is a word or a phrase that says what a word of the query says.
type way struct {
	terms     []string
	lists     []*postings
	closeness float64
}

const (
	mostWays = 24
	// How close to a word is what it may be a misspelling of, and what is the
	// same word joined or divided.
	corrected = 0.8
	compound  = 0.8
	// of a synonym of a corrected word, against the synonym of a right one.
	secondHand = 0.8
)

type token struct {
	surface, term string
	word          bool
}

// slots reads a query. Words that only say how it is asked are left out, but
// they count where they are part of a phrase ("how long").
func (ix *index) slots(text string) []slot {
	var tokens []token
	var terms []string
	term.Each(text, func(surface string, word bool) {
		t := token{surface: surface, term: surface, word: word}
		if word {
			t.term = term.Stem(surface)
		}
		tokens, terms = append(tokens, t), append(terms, t.term)
	})
	content := term.Content(terms)
	all := len(content) == len(terms)
	var out []slot
	seen := map[string]bool{}
	for i, t := range tokens {
		if seen[t.term] || !all && term.Function(t.term) {
			continue
		}
		seen[t.term] = true
		s := slot{term: t.term, own: ix.list(t.term)}
		s.idf = ix.idf(s.own)
		s.ways = ix.ways(tokens, terms, i, s.own != nil)
		out = append(out, s)
	}
	return out
}

// ways to say the word at a place.
func (ix *index) ways(tokens []token, terms []string, at int, known bool) []way {
	words := lexicon.Builtin()
	found := map[string]way{}
	add := func(terms []string, closeness float64) {
		if len(terms) > 1 {
			terms = term.Content(terms)
		}
		if len(terms) == 1 && terms[0] == tokens[at].term {
			return
		}
		w := way{terms: terms, closeness: closeness}
		for _, t := range terms {
			if list := ix.list(t); list != nil {
				w.lists = append(w.lists, list)
			}
		}
		key := strings.Join(terms, " ")
		if len(w.lists) == len(terms) && closeness > found[key].closeness {
			found[key] = w
		}
	}
	meanings := func(terms []string, place, at int, share float64) {
		for _, m := range words.At(terms, place) {
			if place+m.Length <= at || m.Length == 1 && term.Function(terms[place]) {
				continue
			}
			for _, member := range m.Members {
				add(member, share*m.Closeness)
			}
		}
	}
	for place := max(at-4, 0); place <= at; place++ {
		meanings(terms, place, at, 1)
	}
	t := tokens[at]
	if t.word {
		for _, other := range [][2]int{{at - 1, at}, {at, at + 1}} {
			if other[0] >= 0 && other[1] < len(tokens) && tokens[other[0]].word && tokens[other[1]].word {
				add([]string{term.Stem(tokens[other[0]].surface + tokens[other[1]].surface)}, compound)
			}
		}
	}
	if t.word && !known && !words.Knows(t.term) {
		for _, word := range ix.near(t.surface) {
			stem := term.Stem(word)
			add([]string{stem}, corrected)
			meanings([]string{stem}, 0, 0, secondHand)
		}
		for i := 3; i <= len(t.surface)-3; i++ {
			a, b := term.Stem(t.surface[:i]), term.Stem(t.surface[i:])
			if ix.list(a) != nil && ix.list(b) != nil {
				add([]string{a, b}, compound)
			}
		}
	}
	out := make([]way, 0, len(found))
	for _, w := range found {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b way) int {
		return cmp.Or(cmp.Compare(b.closeness, a.closeness), slices.Compare(a.terms, b.terms))
	})
	return out[:min(len(out), mostWays)]
}

// near gives what a word may be a misspelling of: words of the collection
// and of the lexicon.
func (ix *index) near(word string) []string {
	return append(ix.spelling.near(word), english().near(word)...)
}

// weighted are the terms of a query and of the ways to say them, for an
// embedder.
func (ix *index) weighted(slots []slot) []embed.Weighted {
	var out []embed.Weighted
	for _, s := range slots {
		out = append(out, embed.Weighted{Term: s.term, Weight: s.idf})
		for _, w := range s.ways {
			share := wayShare * w.closeness / float64(len(w.lists))
			for i, list := range w.lists {
				out = append(out, embed.Weighted{Term: w.terms[i], Weight: share * ix.wayIDF(s, list)})
			}
		}
	}
	return out
}

const wayShare = 1
