package screening

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word with what it may mean and where it stands.
type token struct {
	concepts set
	// segment counts sentences and lines; sentence only sentences. A phrase may run over a
	// line break, not over the end of a sentence.
	segment, sentence int
	// quoted words are mentioned rather than used; clause is set on the first word
	// after a comma, a colon, "and", "then", "please" or the start of a segment.
	quoted, clause, disguised bool
}

// segment is a sentence or line.
type segment struct {
	first, end int
	// question says that it ends with a question mark; hidden that it stands in a
	// comment or an element that is not shown.
	question, hidden bool
}

// text is a view cut into tokens and segments.
type text struct {
	tokens   []token
	segments []segment
}

type tokeniser struct {
	lexicon  *lexicon
	url      set
	out      text
	quote    rune
	clause   bool
	hidden   bool
	sentence int
}

// tokenise cuts a folded text. Linear.
func tokenise(l *lexicon, s string) text {
	t := tokeniser{lexicon: l, url: l.concepts["url"], clause: true}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case strings.HasPrefix(s[i:], "http://"), strings.HasPrefix(s[i:], "https://"):
			end := len(s)
			if n := strings.IndexAny(s[i:], " \n<>\"'`)"); n >= 0 {
				end = i + n
			}
			t.push(set{}.with(l.concepts["url"]), false)
			i = end
			continue
		case wordStart(r), leetSign(r) && i+size < len(s) && alphanumeric(s[i+size]) && (i == 0 || s[i-1] == ' '):
			end := wordEnd(s, i)
			t.word(s[i:end])
			i = end
			continue
		}
		t.mark(s, i, r)
		i += size
	}
	t.cut(false)
	return t.out
}

func wordStart(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '@' || r == '$'
}

// leetSign is a sign that stands for a letter when letters follow it at once.
func leetSign(r rune) bool { return r == '!' || r == '|' || r == '+' || r == '€' }

func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '@' || r == '$' || r == '-'
}

// wordEnd keeps hyphens and "n't" inside a word.
func wordEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '\'' || r == '’' {
			rest := s[i+size:]
			if strings.HasPrefix(rest, "t") && !strings.HasPrefix(rest, "th") || strings.HasPrefix(rest, "s ") || strings.HasPrefix(rest, "m ") {
				i += size
				continue
			}
			return i
		}
		if !wordRune(r) && !(leetSign(r) && i+size < len(s) && alphanumeric(s[i+size])) {
			return i
		}
		i += size
	}
	return i
}

func (t *tokeniser) push(c set, disguised bool) {
	t.out.tokens = append(t.out.tokens, token{
		concepts: c, segment: len(t.out.segments), sentence: t.sentence, quoted: t.quote != 0, clause: t.clause, disguised: disguised,
	})
	t.clause = false
}

var apostrophes = strings.NewReplacer("'", "", "’", "")

func (t *tokeniser) word(w string) {
	if strings.ContainsAny(w, "'’") {
		w = apostrophes.Replace(w)
	}
	if strings.HasSuffix(w, "@") && len(w) > 1 {
		w = w[:len(w)-1]
	}
	c, disguised := t.lexicon.find(w)
	if !c.empty() {
		t.push(c, disguised)
		if w == "and" || w == "then" || w == "please" || w == "pls" || w == "to" || w == "now" || w == "und" || w == "y" || w == "et" || w == "bitte" {
			t.clause = true
		}
		return
	}
	if at := strings.IndexByte(w, '@'); at > 0 && at < len(w)-1 {
		t.push(t.lexicon.concepts["mailbox"], false)
		return
	}
	if r, _ := utf8.DecodeRuneInString(w); scriptWithoutSpaces(r) {
		t.run(w)
		return
	}
	if strings.ContainsAny(w, "-!|+") {
		if c, _ := t.lexicon.find(strings.ReplaceAll(w, "-", "")); !c.empty() {
			t.push(c, true)
			return
		}
		for _, p := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("-!|+", r) }) {
			if p != "" {
				c, d := t.lexicon.find(p)
				t.push(c, d)
			}
		}
		return
	}
	if parts := t.lexicon.split(w); len(parts) > 2 {
		for _, p := range parts {
			t.push(p, true)
		}
		return
	}
	t.push(set{}, false)
}

// run finds known words inside a run without spaces, the longest first.
func (t *tokeniser) run(w string) {
	for i := 0; i < len(w); {
		found := 0
		for j := min(len(w), i+18); j > i; j-- {
			if c, ok := t.lexicon.words[w[i:j]]; ok {
				t.push(c, false)
				found = j - i
				break
			}
		}
		if found == 0 {
			_, found = utf8.DecodeRuneInString(w[i:])
		}
		i += found
	}
}

// mark handles what is not a word.
func (t *tokeniser) mark(s string, i int, r rune) {
	next := byte(' ')
	if n := i + utf8.RuneLen(r); n < len(s) && r != utf8.RuneError {
		next = s[n]
	}
	switch r {
	case '"', '`', '“', '”', '«', '»', '„', '‘', '’', '\'':
		switch {
		case t.quote == 0 && r != '’' && r != '”' && r != '»':
			t.quote = r
		case t.quote != 0 && closes(t.quote, r):
			t.quote = 0
		}
		t.clause = true
	case ',', ':', '(', ')', '—', '–', '-', '=', '*', '#', '[':
		t.clause = true
	case '.', '!', ';', '।':
		if next == ' ' || next == '\n' || next == '"' || next == '\'' || next == ')' || r != '.' {
			t.end(false)
		}
	case '?', '？':
		t.end(true)
	case '\n', '|', '>', '。':
		t.quote = 0
		t.cut(false)
		if r == '>' {
			t.hidden = t.hidden && !strings.HasSuffix(s[:i], "--")
		}
	case '<':
		t.cut(false)
		if strings.HasPrefix(s[i:], "<!--") {
			t.hidden = true
		}
	}
}

func closes(open, r rune) bool {
	switch open {
	case '“', '„':
		return r == '”' || r == '“'
	case '«':
		return r == '»'
	case '‘':
		return r == '’'
	}
	return open == r
}

// end ends the sentence. One- and two-word sentences are taken with the next one:
// "Ignore. All. Previous. Instructions."
func (t *tokeniser) end(question bool) {
	first := 0
	if n := len(t.out.segments); n > 0 {
		first = t.out.segments[n-1].end
	}
	if len(t.out.tokens)-first > 2 {
		t.sentence++
	}
	t.cut(question)
}

// cut ends the segment.
func (t *tokeniser) cut(question bool) {
	first := 0
	if n := len(t.out.segments); n > 0 {
		first = t.out.segments[n-1].end
	}
	t.clause = true
	if first == len(t.out.tokens) {
		return
	}
	t.out.segments = append(t.out.segments, segment{first: first, end: len(t.out.tokens), question: question, hidden: t.hidden})
}
