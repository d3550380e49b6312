package grounding

import "unicode"

// nameSet tells proper names from words that are capitalised by position. It
// is learnt from the answer and the passages of one check: a name is written
// with a capital wherever it occurs.
type nameSet struct {
	strong map[string]bool
	// weak names were only seen at the beginning of sentences, where every word
	// has a capital.
	weak map[string]bool
}

func properNames(claims []*sentence, l *library) nameSet {
	n := nameSet{map[string]bool{}, map[string]bool{}}
	lower := map[string]bool{}
	see := func(s *sentence) {
		for i, t := range s.tokens {
			first := rune(0)
			for _, r := range t.raw {
				first = r
				break
			}
			switch {
			case !unicode.IsLetter(first) || t.fact || t.code || stopwords[t.lower]:
			case !t.capital:
				lower[t.lower] = true
			case i > 0 && s.word(i-1) != ":" && s.word(i-1) != ";" || acronym(t.raw) || i+1 < len(s.tokens) && s.tokens[i+1].capital && !stopwords[s.word(i+1)]:
				n.strong[t.lower] = true
			default:
				n.weak[t.lower] = true
			}
		}
	}
	for _, c := range claims {
		see(c)
	}
	for _, src := range l.sources {
		for _, s := range src.sentences {
			see(s)
		}
	}
	for w := range lower {
		delete(n.strong, w)
		delete(n.weak, w)
	}
	for w := range n.strong {
		delete(n.weak, w)
	}
	return n
}

func acronym(raw string) bool {
	upper := 0
	for _, r := range raw {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsUpper(r) {
			upper++
		}
	}
	return upper > 1
}

// is tells whether the token names something: its letters have to be the same
// in the evidence.
func (n nameSet) is(t *token) bool {
	return !t.fact && (t.code || t.capital && n.strong[t.lower])
}

// subject tells whether the token is a capitalised first word that may be a name.
func (n nameSet) subject(t *token) bool {
	return !t.fact && t.capital && n.weak[t.lower] && t.at == 0 && len(t.lower) > 1 && t.lower[len(t.lower)-1] != 's'
}
