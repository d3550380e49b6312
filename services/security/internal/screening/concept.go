package screening

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed lexicon.txt
var lexiconText string

// set is a set of concepts, up to 128.
type set [2]uint64

func (s set) has(o set) bool { return s[0]&o[0] != 0 || s[1]&o[1] != 0 }
func (s set) empty() bool    { return s[0]|s[1] == 0 }
func (s set) with(o set) set { return set{s[0] | o[0], s[1] | o[1]} }
func single(n int) (s set)   { s[n/64] = 1 << (n % 64); return s }

// lexicon says which concepts a word stands for.
type lexicon struct {
	concepts map[string]set
	words    map[string]set
	// scrambled finds a word of six letters and more whose inner letters were
	// swapped, by its first letter and its letters in order.
	scrambled map[string]set
	longest   int
}

var suffixes = []string{"", "s", "es", "e", "d", "ed", "ing", "en", "n", "r"}

func parseLexicon(text string) (*lexicon, error) {
	l := &lexicon{concepts: map[string]set{}, words: map[string]set{}, scrambled: map[string]set{}}
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, words, ok := strings.Cut(line, ":")
		if !ok || len(l.concepts) == 128 {
			return nil, fmt.Errorf("lexicon line %d: want a concept, a colon and words; at most 128 concepts", n+1)
		}
		if _, twice := l.concepts[name]; twice {
			return nil, fmt.Errorf("lexicon line %d: concept %q is there twice", n+1, name)
		}
		c := single(len(l.concepts))
		l.concepts[name] = c
		for _, w := range strings.Fields(words) {
			stem, inflected := strings.CutSuffix(w, "+")
			if !inflected {
				l.add(w, c)
				continue
			}
			for _, s := range suffixes {
				l.add(stem+s, c)
			}
			// ignore → ignoring
			l.add(strings.TrimSuffix(stem, "e")+"ing", c)
		}
	}
	return l, nil
}

func (l *lexicon) add(word string, c set) {
	word = foldWord(word)
	l.words[word] = l.words[word].with(c)
	l.longest = max(l.longest, len(word))
	if key, ok := scramble(word); ok {
		l.scrambled[key] = l.scrambled[key].with(c)
	}
}

// find looks a word up as it is, then as its disguises: digits for letters
// (1gn0re), hyphens inside (ig-nore), swapped letters (ignroe), words run together.
// disguised tells that only a disguise fitted.
func (l *lexicon) find(word string) (concepts set, disguised bool) {
	if c, ok := l.words[word]; ok {
		return c, false
	}
	for _, plain := range unleet(word) {
		if c, ok := l.words[plain]; ok {
			return c, true
		}
		if key, ok := scramble(plain); ok {
			if c, ok := l.scrambled[key]; ok {
				return c, true
			}
		}
	}
	if len(word) < 6 {
		return set{}, false
	}
	if key, ok := scramble(word); ok {
		if c, ok := l.scrambled[key]; ok {
			return c, true
		}
	}
	return set{}, false
}

// split reads a long run of letters as known words one after the other, for
// example "ignoreallpreviousrules"; nil when some part is unknown. It is bounded by
// the length of the run and of the longest word.
func (l *lexicon) split(run string) []set {
	const most = 256
	if len(run) < 10 || len(run) > most {
		return nil
	}
	// from[i] is where a word that ends at i starts, -1 for none.
	from := make([]int, len(run)+1)
	for i := range from {
		from[i] = -1
	}
	from[0] = 0
	for i := 0; i < len(run); i++ {
		if from[i] < 0 {
			continue
		}
		for j := min(len(run), i+l.longest); j > i; j-- {
			if _, ok := l.words[run[i:j]]; ok && from[j] < 0 {
				from[j] = i
			}
		}
	}
	if from[len(run)] < 0 {
		return nil
	}
	var out []set
	for end := len(run); end > 0; end = from[end] {
		out = append(out, l.words[run[from[end]:end]])
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
