// Package lexicon knows which English words say the same: synonyms,
// abbreviations and forms that a stemmer does not join. It is general
// knowledge written by hand and knows nothing of any collection.
package lexicon

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"sabha.dev/services/research/internal/term"
)

//go:embed words.txt
var words string

// How close two members of a meaning are, 0–1.
const (
	form    = 0.9  // forms of one word
	synonym = 0.75 // words that say the same
	topic   = 0.15 // words that belong together
)

// Meaning is a set of words and phrases that say the same.
type Meaning struct {
	// ID is the meaning's place in the list.
	ID int
	// Closeness of two members, 0–1.
	Closeness float64
	// Members are sequences of terms.
	Members [][]string
}

// Match is a member of a meaning found in a text.
type Match struct {
	*Meaning
	// Length is how many terms of the text the member takes.
	Length int
}

// Lexicon finds meanings. It never changes.
type Lexicon struct {
	first    map[string][]member // by a member's first term
	surfaces []string            // single words as they are written
}

type member struct {
	terms   []string
	meaning *Meaning
}

// Builtin is the list that comes with the program.
var Builtin = sync.OnceValue(func() *Lexicon { return Parse(words) })

// Parse reads a list: one meaning a line, its members divided by commas. A
// line that begins with = holds forms of one word, one that begins with ~
// words that belong together, one that begins with # says nothing.
func Parse(text string) *Lexicon {
	l := &Lexicon{first: map[string][]member{}}
	seen := map[string]bool{}
	id := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m := &Meaning{ID: id, Closeness: synonym}
		id++
		switch line[0] {
		case '=':
			m.Closeness, line = form, line[1:]
		case '~':
			m.Closeness, line = topic, line[1:]
		}
		for text := range strings.SplitSeq(line, ",") {
			l.add(m, strings.TrimSpace(text), seen)
		}
	}
	return l
}

func (l *Lexicon) add(m *Meaning, text string, seen map[string]bool) {
	terms := term.Of(text)
	if len(terms) == 0 || slices.ContainsFunc(m.Members, func(have []string) bool { return slices.Equal(have, terms) }) {
		return
	}
	m.Members = append(m.Members, terms)
	l.first[terms[0]] = append(l.first[terms[0]], member{terms: terms, meaning: m})
	for word := range strings.FieldsSeq(text) {
		if !seen[word] {
			seen[word] = true
			l.surfaces = append(l.surfaces, word)
		}
	}
}

// At gives the meanings that begin at a place of a sequence of terms, those
// of the longest members first.
func (l *Lexicon) At(terms []string, place int) []Match {
	var out []Match
	for _, m := range l.first[terms[place]] {
		if n := len(m.terms); place+n <= len(terms) && slices.Equal(terms[place:place+n], m.terms) {
			out = append(out, Match{Meaning: m.meaning, Length: n})
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int { return b.Length - a.Length })
	return out
}

// Knows tells whether a term is a word of the list.
func (l *Lexicon) Knows(t string) bool { return len(l.first[t]) > 0 }

// Surfaces are the words of the list as they are written.
func (l *Lexicon) Surfaces() []string { return l.surfaces }
