package grounding

import (
	_ "embed"
	"strings"
)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// stopwords carry no meaning of their own for the comparison.
var stopwords = wordSet(`a an the this that these those it its itself they them their theirs he him his she her hers we us our you your i me my
	is are was were be been being am do does did done doing have has had having will would shall should might
	and or but if then else so as of at by for from in into on onto to with about over under between through during upon via per within
	there here which who whom whose what when where why how also too very just only such than both each every any all some same own
	not no nor never neither none nothing nobody cannot n't without yes s t re ve ll d m
	i.e e.g a.m p.m etc half according therefore thus hence however moreover furthermore additionally still already currently
	stated states says said mentions mentioned give gives gave given giving get gets got made make makes up out one ones etc while whereas because although
	about approximately around roughly nearly almost exactly least most more less fewer much lot`)

// englishText is the word list; its head says what the sections are.
//
//go:embed english.txt
var englishText string

// lexicon answers what words have to do with each other. It is read once and not changed.
type lexicon struct {
	// senses are the groups of like words that a stem is in.
	senses map[string][]int
	// sides are the sets of opposites that a stem, or the head of one of its groups, is in.
	sides map[string][]int
	// flipped words are the negation of another word: "forbidden" is "not allowed".
	flipped map[string]string
	// irregular forms meet their root here, before endings are taken off.
	irregular map[string]string
	// phrases stand for one word, by their first word.
	phrases map[string][]phrase
	// light words say little of what a sentence is about.
	light map[string]bool
}

type phrase struct {
	words []string
	means string
}

var english = newLexicon(englishText)

func newLexicon(text string) lexicon {
	l := lexicon{
		senses: map[string][]int{}, sides: map[string][]int{}, flipped: map[string]string{}, irregular: map[string]string{},
		phrases: map[string][]phrase{}, light: map[string]bool{},
	}
	sections := map[string][]string{}
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = line
		default:
			sections[section] = append(sections[section], line)
		}
	}
	pairs := func(name string, into map[string]string) {
		for _, line := range sections[name] {
			for pair := range strings.FieldsSeq(line) {
				from, to, _ := strings.Cut(pair, "=")
				into[from] = to
			}
		}
	}
	pairs("[deny]", l.flipped)
	pairs("[irregular]", l.irregular)
	heads := map[int]string{}
	for i, line := range sections["[alike]"] {
		for j, w := range strings.Fields(line) {
			s := l.plain(w)
			if j == 0 {
				heads[i+1] = s
			}
			l.senses[s] = append(l.senses[s], i+1)
		}
	}
	direct := map[string][]int{}
	for i, line := range sections["[oppose]"] {
		for _, w := range strings.Fields(line) {
			s := l.plain(w)
			direct[s] = append(direct[s], i+1)
		}
	}
	for s, groups := range l.senses {
		for _, g := range groups {
			l.sides[s] = append(l.sides[s], direct[heads[g]]...)
		}
	}
	for s, sets := range direct {
		l.sides[s] = append(l.sides[s], sets...)
	}
	for _, line := range sections["[phrase]"] {
		from, to, _ := strings.Cut(line, "=")
		words := strings.Fields(from)
		l.phrases[words[0]] = append(l.phrases[words[0]], phrase{words[1:], strings.TrimSpace(to)})
	}
	for _, line := range sections["[light]"] {
		for w := range strings.FieldsSeq(line) {
			l.light[l.plain(w)] = true
		}
	}
	return l
}

// plain is the stem of a word as it is written in the list.
func (l lexicon) plain(word string) string {
	if root, ok := l.irregular[word]; ok {
		word = root
	}
	return stem(word)
}

// concept is the stem of a word, or of the word that it denies.
func (l lexicon) concept(word string) string {
	if root, ok := l.flipped[word]; ok {
		word = root
	}
	return l.plain(word)
}

func concept(word string) string { return english.concept(word) }

// alike tells whether two stems share a group.
func alike(a, b string) bool { return common(english.senses[a], english.senses[b]) }

// opposed tells whether two stems exclude each other.
func opposed(a, b string) bool {
	return a != b && !alike(a, b) && common(english.sides[a], english.sides[b])
}

func common(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}
