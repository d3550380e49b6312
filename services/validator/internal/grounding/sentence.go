package grounding

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

type textSpan struct{ start, end int }

var (
	link     = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\([^()\s]*(?:\s"[^"]*")?\)`)
	strong   = regexp.MustCompile(`\*\*|__|~~`)
	emphasis = regexp.MustCompile(`(?:^|\s)[*_]|[*_](?:\s|$|[.,;:!?])`)
	spaces   = regexp.MustCompile(`\s+`)
)

var abbreviations = map[string]bool{
	"e.g": true, "i.e": true, "etc": true, "vs": true, "cf": true, "dr": true, "mr": true, "mrs": true, "ms": true,
	"prof": true, "st": true, "no": true, "nos": true, "fig": true, "figs": true, "sec": true, "ch": true, "vol": true,
	"inc": true, "ltd": true, "corp": true, "co": true, "approx": true, "ca": true, "resp": true, "incl": true, "excl": true,
	"al": true, "jan": true, "feb": true, "mar": true, "apr": true, "jun": true, "jul": true, "aug": true, "sep": true,
	"sept": true, "oct": true, "nov": true, "dec": true, "p": true, "pp": true, "art": true, "max": true, "min": true,
}

// sentenceSpans cuts text after a full stop that ends a sentence. A full stop
// inside a number, behind an abbreviation or an initial, or before a lower-case
// word does not end one.
func sentenceSpans(text string) []textSpan {
	var out []textSpan
	start := 0
	code := false
	emit := func(end int) {
		if strings.TrimSpace(text[start:end]) != "" {
			lead := len(text[start:end]) - len(strings.TrimLeftFunc(text[start:end], unicode.IsSpace))
			out = append(out, textSpan{start + lead, end})
		}
		start = end
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		at := i
		i += size
		if r == '`' {
			code = !code
		}
		if !strings.ContainsRune(".!?।。！？", r) || code {
			continue
		}
		// closing quotes, brackets and further stops belong to the sentence
		for i < len(text) {
			c, n := utf8.DecodeRuneInString(text[i:])
			if !strings.ContainsRune(".!?\"'”’)»*_", c) {
				break
			}
			i += n
		}
		if r == '。' || r == '！' || r == '？' || r == '।' {
			emit(i)
			continue
		}
		rest := strings.TrimLeftFunc(text[i:], unicode.IsSpace)
		if len(rest) == len(text[i:]) && rest != "" {
			continue // no space behind it
		}
		next, _ := utf8.DecodeRuneInString(rest)
		if rest != "" && unicode.IsLower(next) {
			continue
		}
		if r == '.' && rest != "" && abbreviated(text[start:at], next) {
			continue
		}
		// Spaces (and masked markers) behind the stop belong to this sentence.
		emit(i + len(text[i:]) - len(rest))
	}
	emit(len(text))
	return out
}

// abbreviated tells whether the word before a full stop is an abbreviation or
// an initial. next is what follows.
func abbreviated(before string, next rune) bool {
	word := before
	if i := strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || r == '(' }); i >= 0 {
		word = before[i+1:]
	}
	if utf8.RuneCountInString(word) == 1 {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) && unicode.IsUpper(next)
	}
	lower := strings.ToLower(word)
	if lower == "no" || lower == "nos" || lower == "max" || lower == "min" || lower == "p" || lower == "pp" || lower == "art" {
		return unicode.IsDigit(next)
	}
	return abbreviations[lower]
}

// sentences cuts a passage into plain sentences, block by block; a semicolon ends one, too.
func sentences(text string) []string {
	var out []string
	for _, b := range passageBlocks(text, true) {
		for _, s := range sentenceSpans(b) {
			out = append(out, clauses(plain(b[s.start:s.end]))...)
		}
	}
	return out
}

// clauses cuts a sentence at its semicolons if what they part is long enough to
// be sentences, and not the cells of a table.
func clauses(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "; ")
	for _, p := range parts {
		if len(strings.Fields(p)) < 4 {
			return []string{text}
		}
	}
	return parts
}

// passageBlocks is blocks for evidence: headings count, they name the subject.
// With headed tables, each cell of a table row is preceded by its column's head.
func passageBlocks(text string, headed bool) []string {
	var out []string
	var open []string
	var columns []string
	flush := func() {
		if len(open) > 0 {
			out = append(out, strings.Join(open, "\n"))
		}
		open = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		row := strings.HasPrefix(strings.TrimSpace(line), "|")
		if !row {
			columns = nil
		}
		switch {
		case strings.TrimSpace(line) == "" || rule.MatchString(line) || fence.MatchString(line):
			flush()
		case row && headed && columns != nil:
			flush()
			out = append(out, headedRow(columns, cells(line)))
		case row:
			flush()
			out = append(out, line)
			columns = cells(line)
		case heading.MatchString(line):
			flush()
			out = append(out, strings.TrimLeft(line, "# "))
		case bullet.MatchString(line):
			flush()
			open = []string{bullet.ReplaceAllString(line, "")}
		default:
			open = append(open, line)
		}
	}
	flush()
	return out
}

func cells(line string) []string {
	parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func headedRow(columns, row []string) string {
	var b strings.Builder
	for i, cell := range row {
		if i > 0 {
			b.WriteString("; ")
		}
		if i < len(columns) && columns[i] != "" {
			b.WriteString(columns[i] + " ")
		}
		b.WriteString(cell)
	}
	return b.String()
}

// plain takes the Markdown off a sentence and folds its spaces.
func plain(s string) string {
	s = link.ReplaceAllString(s, "$1")
	s = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "\u00a0", " ", "\u202f", " ", "\u00ad", "", "−", "-").Replace(s)
	segments := strings.Split(s, "`")
	for i := 0; i < len(segments); i += 2 { // the others are code
		segments[i] = strong.ReplaceAllString(segments[i], "")
		segments[i] = emphasis.ReplaceAllStringFunc(segments[i], func(m string) string { return strings.Trim(m, "*_~") })
	}
	s = strings.Join(segments, "`")
	s = strings.TrimSpace(spaces.ReplaceAllString(s, " "))
	if strings.HasPrefix(s, "|") {
		s = strings.TrimSpace(strings.ReplaceAll(strings.Trim(s, "| "), "|", ";"))
	}
	for strings.HasPrefix(s, "> ") {
		s = s[2:]
	}
	s = strings.TrimSpace(s)
	// a masked marker leaves a space before the full stop
	for _, stop := range []string{".", ",", ";", "!", "?", ":", "。"} {
		s = strings.ReplaceAll(s, " "+stop+" ", stop+" ")
		if strings.HasSuffix(s, " "+stop) {
			s = strings.TrimSuffix(s, " "+stop) + stop
		}
	}
	return s
}

// blockEnd stands between the blocks of a flattened text.
const blockEnd = "\x1e"

// flatten is the form in which exact quotes are compared: plain, lower case,
// letters and digits and the signs that carry meaning, single spaces.
func flatten(text string) string {
	var b strings.Builder
	space := true
	for _, block := range passageBlocks(text, false) {
		for _, r := range strings.ToLower(plain(block)) {
			if unicode.IsSpace(r) {
				r = ' '
			}
			if strings.ContainsRune("`\"'", r) {
				continue
			}
			if r == ' ' && space {
				continue
			}
			space = r == ' '
			b.WriteRune(r)
		}
		if !space {
			b.WriteByte(' ')
		}
		b.WriteString(blockEnd)
		space = true
	}
	return strings.TrimSpace(strings.TrimSuffix(b.String(), blockEnd))
}
