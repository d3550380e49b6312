package retrieval

import (
	"cmp"
	"slices"
	"sync"

	"sabha.dev/services/research/internal/lexicon"
)

// Which words are worth correcting, in letters.
const (
	shortestSpelt = 4
	longestSpelt  = 20
	twoMistakes   = 7 // a word of so many letters may have two
)

// speller finds words that a misspelt one may mean, by the three-letter pieces
// that they share.
type speller struct {
	words  []string
	pieces map[[3]byte][]uint32
}

func spelt(word string) bool {
	if len(word) < shortestSpelt || len(word) > longestSpelt {
		return false
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

func (s *speller) add(word string) {
	if !spelt(word) {
		return
	}
	if s.pieces == nil {
		s.pieces = map[[3]byte][]uint32{}
	}
	number := uint32(len(s.words))
	s.words = append(s.words, word)
	each(word, func(piece [3]byte) { s.pieces[piece] = append(s.pieces[piece], number) })
}

func each(word string, visit func([3]byte)) {
	marked := "^" + word + "$"
	for i := range len(marked) - 2 {
		visit([3]byte([]byte(marked[i : i+3])))
	}
}

// near gives the words with the fewest mistakes between them and a word, at
// most a few.
func (s *speller) near(word string) []string {
	if !spelt(word) {
		return nil
	}
	shared := map[uint32]int{}
	each(word, func(piece [3]byte) {
		for _, number := range s.pieces[piece] {
			shared[number]++
		}
	})
	most := 1
	if len(word) >= twoMistakes {
		most = 2
	}
	type found struct {
		word     string
		mistakes int
	}
	var all []found
	for number, n := range shared {
		// A mistake spoils three pieces, at the least.
		if n < max(len(word)-3*most, 1) {
			continue
		}
		if d := mistakes(word, s.words[number], most); d <= most {
			all = append(all, found{s.words[number], d})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.mistakes, b.mistakes), cmp.Compare(a.word, b.word))
	})
	var out []string
	for _, f := range all {
		if f.mistakes > all[0].mistakes || len(out) == 4 {
			break
		}
		out = append(out, f.word)
	}
	return out
}

// mistakes counts letters that are wrong, missing, too many, or changed places
// (optimal string alignment); more than most is given as most+1.
func mistakes(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		least := row[0]
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
			least = min(least, row[j+1])
		}
		if least > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// english spells the words of the lexicon.
var english = sync.OnceValue(func() *speller {
	s := &speller{}
	for _, w := range lexicon.Builtin().Surfaces() {
		s.add(w)
	}
	return s
})
