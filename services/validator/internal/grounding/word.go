package grounding

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a number or an identifier of a sentence.
type token struct {
	raw   string
	lower string
	stem  string
	// at is the position among the sentence's tokens, clause the clause it is in.
	at, clause int
	// start and end are byte offsets in the sentence.
	start, end int
	number     bool
	// code marks identifiers: they must match letter by letter.
	code    bool
	capital bool
	// fact marks tokens that quantities and dates took; they are not words.
	fact bool
	// negated marks words in the scope of a negation.
	negated bool
	// excepted marks words behind "except".
	excepted bool
	// senses are the groups of like words that the stem is in.
	senses []int
}

// content tells whether the token carries meaning of its own.
func (t *token) content() bool {
	return !t.fact && !t.number && !stopwords[t.lower] && t.stem != ""
}

// sentence is a text with what was read from it.
type sentence struct {
	text       string
	tokens     []*token
	quantities []quantity
	dates      []date
	// stems are the words of meaning that it has.
	stems map[string]bool
}

// size counts the words and facts of the sentence.
func (s *sentence) size() int {
	n := len(s.quantities) + len(s.dates)
	for _, t := range s.tokens {
		if t.content() {
			n++
		}
	}
	return n
}

// states tells whether the sentence says anything that can be compared: a
// "Yes." does not.
func (s *sentence) states() bool {
	for _, t := range s.tokens {
		if t.content() || t.fact {
			return true
		}
	}
	return false
}

var lexeme = regexp.MustCompile("`[^`\n]+`" + // code span
	`|https?://[^\s<>"'\)\]]+` +
	`|[\p{L}\p{N}_.+-]+@[\p{L}\p{N}-]+\.[\p{L}\p{N}.-]+` +
	`|[vV]?\d+(?:\.\d+){2,}[\w.-]*` + // version
	`|\d{4}-\d{2}-\d{2}` +
	`|\d{1,2}:\d{2}(?::\d{2})?` +
	`|\d{1,3}(?:[,  ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?` +
	`|[\p{L}][\p{L}\p{M}\p{N}]*(?:['.&][\p{L}]+)*(?:[_/.:][\p{L}\p{N}_]+)*` +
	`|[$€£¥₹%‰°,;:()—–<>≤≥~≈-]`)

var mixed = regexp.MustCompile(`[_/:@]|\.\p{L}|\p{Ll}\p{Lu}|^\p{L}+\d`)

// initials are abbreviations such as "i.e" and "U.S".
var initials = regexp.MustCompile(`^(?:\p{L}\.)+\p{L}$`)

var clauseBreak = map[string]bool{
	",": true, ";": true, ":": true, "(": true, ")": true, "—": true, "–": true,
	"and": true, "but": true, "while": true, "whereas": true, "because": true, "which": true, "although": true, "than": true, "or": true,
}

// read takes a plain sentence apart.
func read(text string) *sentence {
	s := &sentence{text: text}
	clause := 0
	for _, m := range lexeme.FindAllStringIndex(text, -1) {
		raw := text[m[0]:m[1]]
		if strings.HasPrefix(raw, "`") {
			inner := strings.Trim(raw, "` ")
			if strings.ContainsAny(inner, " ") || isNumber(inner) {
				s.readInside(inner, m[0]+1, clause)
				continue
			}
			s.add(&token{raw: inner, code: true, start: m[0], end: m[1], clause: clause})
			continue
		}
		if clauseBreak[strings.ToLower(raw)] {
			clause++
		}
		s.addLexeme(raw, m[0], m[1], clause)
	}
	s.findPhrases()
	s.findDates()
	s.findQuantities()
	s.findNegations()
	s.findExceptions()
	for _, t := range s.tokens {
		t.senses = english.senses[t.stem] // what it denies may have given it another stem
	}
	s.stems = map[string]bool{}
	for _, t := range s.tokens {
		if t.content() {
			s.stems[t.stem] = true
			for _, g := range english.senses[t.stem] {
				s.stems[groupKey(g)] = true
			}
		}
	}
	return s
}

// groupKey is how a group of like words stands among the stems of a sentence.
func groupKey(g int) string { return "#" + strconv.Itoa(g) }

// touches tells whether two sentences share a word of meaning or a fact, which
// is cheap to find out.
func (s *sentence) touches(o *sentence) bool {
	for stem := range s.stems {
		if o.stems[stem] {
			return true
		}
	}
	one := evidence{sentences: []*sentence{o}}
	return slices.ContainsFunc(s.quantities, one.states) || slices.ContainsFunc(s.dates, one.dated)
}

// findPhrases lets the first word of a phrase stand for all of it.
func (s *sentence) findPhrases() {
	for i, t := range s.tokens {
		for _, p := range english.phrases[t.lower] {
			if i+len(p.words) >= len(s.tokens) || !s.follows(i+1, p.words) {
				continue
			}
			t.lower, t.stem = p.means, concept(p.means)
			for _, u := range s.tokens[i+1 : i+1+len(p.words)] {
				u.lower, u.stem = "", ""
			}
			break
		}
	}
}

func (s *sentence) follows(at int, words []string) bool {
	for k, w := range words {
		if s.word(at+k) != w {
			return false
		}
	}
	return true
}

func (s *sentence) readInside(text string, offset, clause int) {
	for _, m := range lexeme.FindAllStringIndex(text, -1) {
		s.addLexeme(text[m[0]:m[1]], offset+m[0], offset+m[1], clause)
	}
}

func (s *sentence) addLexeme(raw string, start, end, clause int) {
	first, _ := utf8.DecodeRuneInString(raw)
	t := &token{raw: raw, start: start, end: end, clause: clause, capital: unicode.IsUpper(first)}
	t.number = unicode.IsDigit(first) && isNumber(raw)
	t.code = !t.number && (unicode.IsLetter(first) || unicode.IsDigit(first)) && (mixed.MatchString(raw) || unicode.IsDigit(first)) && !strings.Contains(raw, "'") && !initials.MatchString(raw)
	s.add(t)
}

func (s *sentence) add(t *token) {
	t.lower = strings.ToLower(strings.ReplaceAll(t.raw, "’", "'"))
	t.lower = strings.TrimSuffix(t.lower, "'s")
	t.at = len(s.tokens)
	first, _ := utf8.DecodeRuneInString(t.lower)
	switch {
	case t.code:
		t.stem = strings.TrimRight(t.lower, ".:/")
	case unicode.IsLetter(first):
		t.stem = concept(t.lower)
		if base, ok := strings.CutSuffix(t.lower, "less"); ok && len(base) > 3 && !lessWords[t.lower] { // "stateless"
			t.stem, t.negated = concept(base), true
		}
	}
	s.tokens = append(s.tokens, t)
}

// lessWords end in less without denying anything.
var lessWords = wordSet("unless regardless nonetheless nevertheless wireless")

func isNumber(s string) bool {
	return number.MatchString(s)
}

var number = regexp.MustCompile(`^\d{1,3}(?:[,  ]\d{3})+(?:\.\d+)?$|^\d+(?:\.\d+)?$`)

// same tells how alike two words are: 1 for the same word or concept, less
// for a shared root, 0 for different words.
func same(a, b *token) float64 {
	switch {
	case a.stem == b.stem || a.lower == b.lower:
		return 1
	case a.code || b.code:
		return 0
	case common(a.senses, b.senses):
		return 0.9
	}
	x, y := a.stem, b.stem
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(x) >= 4 && strings.HasPrefix(y, x) && len(y)-len(x) <= 4 {
		return 0.9
	}
	p := 0
	for p < len(x) && x[p] == y[p] {
		p++
	}
	if p >= 5 && p*10 >= len(y)*7 {
		return 0.75
	}
	return 0
}

// stem takes common English endings off, so that forms of a word meet.
func stem(w string) string {
	if len(w) <= 3 {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, end := range []string{"ingly", "edly", "ing", "ed", "ly"} {
		base, ok := strings.CutSuffix(w, end)
		if !ok || end == "ed" && strings.HasSuffix(base, "e") || len(base) < 3 || !strings.ContainsAny(base, "aeiouy") {
			continue
		}
		w = base
		if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
			w = w[:n-1]
		}
		break
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	if base, ok := strings.CutSuffix(w, "i"); ok && len(base) > 3 {
		w = base + "y"
	}
	return w
}
