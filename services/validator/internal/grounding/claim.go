package grounding

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Claim is one statement of an answer.
type Claim struct {
	// Text is the statement without its citation markers.
	Text string
	// Start and End are byte offsets of the statement in the answer, markers included.
	Start, End int
	// Citations are the markers bound to the statement, in order, without brackets.
	Citations []string
	// Shared markers stand behind the paragraph, not in this statement: they may
	// cover it, and it counts as uncited where they do not.
	Shared []string
}

var (
	fence   = regexp.MustCompile("^\\s*(```|~~~)")
	bullet  = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+`)
	heading = regexp.MustCompile(`^\s{0,3}#{1,6}\s`)
	rule    = regexp.MustCompile(`^\s*(?:[-*_=]\s*){3,}$|^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*:?-*:?\s*\|?\s*$`)
	// sourcesHeading begins a list of references, which claims nothing.
	sourcesHeading = regexp.MustCompile(`(?i)^\s*(?:#{1,6}\s*)?[*_]*(?:sources|references|citations|footnotes|bibliography)[*_]*\s*:?[*_]*\s*$`)
	reference      = regexp.MustCompile(`^\s*(?:[-*]\s*)?\[\^?[^\]\s]{1,64}\]:\s`)
	marker         = regexp.MustCompile(`\[\^?([^\[\]\n]{1,80})\]`)
	numeric        = regexp.MustCompile(`^\d{1,4}(?:\s*[-–]\s*\d{1,4})?$`)
	// hedge is a statement about the search, not about the world.
	hedge = regexp.MustCompile(`(?i)^(?:sorry|unfortunately,? )?\s*(?:i|we|the (?:passages|documents|sources)|no (?:passage|document|source)s?)\b[^.]{0,40}\b(?:could not find|couldn't find|did not find|found no(?:thing)?|do(?:es)? not (?:say|answer|mention|contain|cover)|answers?|cannot (?:answer|say))\b`)
)

// Split breaks an answer into claims. Citations written [1], [1, 3], [2-4] or
// [^1] are bound to the statement they stand in or directly behind. Headings,
// questions, lead-ins that end in a colon, lists of references, and statements
// that nothing was found are not claims.
func Split(answer string) []Claim {
	return split(answer, func(m string) bool {
		_, err := strconv.Atoi(m)
		return err == nil
	})
}

func split(answer string, known func(string) bool) []Claim {
	var claims []Claim
	for _, b := range blocks(answer) {
		claims = append(claims, b.claims(answer, known)...)
	}
	return claims
}

// block is a paragraph, a list item, a table row or a code fence.
type block struct {
	start, end int
	code       bool
	// columns are the heads of the table that a row belongs to.
	columns []string
}

// blocks cuts an answer at blank lines, list items, headings, table rows and fences.
func blocks(answer string) []block {
	var out []block
	open, fenced, references := -1, false, false
	var columns []string
	closeAt := func(end int, code bool) {
		if open >= 0 && strings.TrimSpace(answer[open:end]) != "" {
			out = append(out, block{open, end, code, columns})
		}
		open = -1
	}
	for at := 0; at < len(answer); {
		next := len(answer)
		if i := strings.IndexByte(answer[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := answer[at:next]
		row := !fenced && strings.HasPrefix(strings.TrimSpace(line), "|")
		if !row && columns != nil {
			closeAt(at, fenced)
			columns = nil
		}
		switch {
		case fence.MatchString(line):
			closeAt(at, fenced)
			fenced = !fenced
			if fenced {
				open = next
			}
		case fenced:
		case sourcesHeading.MatchString(line):
			closeAt(at, false)
			references = true
		case references && strings.TrimSpace(line) != "" && !heading.MatchString(line):
			// an entry of the list of references
		case strings.TrimSpace(line) == "" || rule.MatchString(line) || reference.MatchString(line):
			closeAt(at, false)
		case heading.MatchString(line):
			closeAt(at, false)
			references = false
		case bullet.MatchString(line):
			closeAt(at, false)
			open = at + len(bullet.FindString(line))
		case row && columns == nil && underlined(answer[next:]):
			closeAt(at, false)
			columns = cells(line)
		case row:
			closeAt(at, false)
			open = at
			closeAt(next, false)
		case open < 0:
			open = at
		}
		at = next
	}
	closeAt(len(answer), fenced)
	return out
}

// underlined tells whether the next line is the rule below a table's head.
func underlined(rest string) bool {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Contains(line, "|") && rule.MatchString(line)
}

// span is a citation marker in the answer.
type span struct {
	start, end int
	markers    []string
}

// citations finds the markers between two offsets. Brackets of links, of code
// and of indices (a[1]) inside backticks are left alone.
func citations(answer string, start, end int, known func(string) bool) []span {
	var out []span
	text := answer[start:end]
	for _, m := range marker.FindAllStringSubmatchIndex(text, -1) {
		if m[1] < len(text) && text[m[1]] == '(' {
			continue
		}
		if strings.Count(text[:m[0]], "`")%2 == 1 {
			continue
		}
		if list := expand(text[m[2]:m[3]], known); list != nil {
			out = append(out, span{start + m[0], start + m[1], list})
		}
	}
	return out
}

// expand reads what stands between the brackets: "1", "1, 3", "2-4", "kb-7".
// It returns nil where that is no citation.
func expand(inner string, known func(string) bool) []string {
	var out []string
	for _, item := range strings.FieldsFunc(inner, func(r rune) bool { return r == ',' || r == ';' }) {
		item = canonical(item)
		if numeric.MatchString(item) {
			from, to, isRange := strings.Cut(strings.ReplaceAll(item, "–", "-"), "-")
			a, errA := strconv.Atoi(strings.TrimSpace(from))
			if errA != nil {
				return nil
			}
			b := a
			if isRange {
				b, _ = strconv.Atoi(strings.TrimSpace(to))
			}
			if b < a || b-a > 50 {
				return nil
			}
			for n := a; n <= b; n++ {
				out = append(out, strconv.Itoa(n))
			}
			continue
		}
		if item == "" || !known(item) {
			return nil
		}
		out = append(out, item)
	}
	return out
}

func (b block) claims(answer string, known func(string) bool) []Claim {
	if b.code {
		return []Claim{{Text: strings.TrimSpace(answer[b.start:b.end]), Start: b.start, End: b.end}}
	}
	marks := citations(answer, b.start, b.end, known)
	// Markers become spaces so that "done.[1] Next" still ends a sentence, and
	// offsets stay those of the answer.
	masked := []byte(answer[b.start:b.end])
	for _, m := range marks {
		for i := m.start; i < m.end; i++ {
			masked[i-b.start] = ' '
		}
	}
	text := string(masked)
	spans := sentenceSpans(text)
	if b.columns != nil {
		spans = []textSpan{{0, len(text)}}
	}
	var claims []Claim
	var trailing []bool
	for _, s := range spans {
		c := Claim{Start: b.start + s.start, End: b.start + s.end}
		behind := false
		stop := s.start + len(strings.TrimRightFunc(text[s.start:s.end], func(r rune) bool { return unicode.IsSpace(r) }))
		for _, m := range marks {
			if m.start >= c.Start && m.start < c.End {
				c.Citations = append(c.Citations, m.markers...)
				behind = behind || m.start >= b.start+stop
				c.End = max(c.End, m.end)
			}
		}
		if b.columns != nil {
			c.Text = plain(headedRow(b.columns, cells(text)))
		} else {
			c.Text = plain(text[s.start:s.end])
		}
		if c.Text == "" {
			continue
		}
		claims, trailing = append(claims, c), append(trailing, behind)
	}
	share(claims, trailing)
	return assertive(claims)
}

// share lets a marker behind the last full stop of a run of statements cover
// the statements before it that have no marker of their own.
func share(claims []Claim, trailing []bool) {
	for i := len(claims) - 1; i >= 0; i-- {
		if !trailing[i] {
			continue
		}
		for j := i - 1; j >= 0 && len(claims[j].Citations) == 0; j-- {
			claims[j].Shared = claims[i].Citations
		}
	}
}

// assertive drops what claims nothing.
func assertive(claims []Claim) []Claim {
	out := claims[:0]
	for _, c := range claims {
		last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(c.Text, `"'”’)* `))
		letters := strings.IndexFunc(c.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		switch {
		case letters < 0:
		case last == '?' || last == '？':
		case last == ':' && len(c.Citations) == 0:
		case hedge.MatchString(c.Text) && len(c.Citations) == 0:
		default:
			out = append(out, c)
		}
	}
	return out
}
