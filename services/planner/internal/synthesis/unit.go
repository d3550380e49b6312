package synthesis

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is the smallest thing that is quoted: a sentence, a list item, a table row, a short piece of code.
type unit struct {
	passage int    // index in the request
	order   int    // place in the passage
	text    string // as it is quoted: verbatim, but blanks collapsed, table cells named by their columns
	lead    string // what it stands under in the passage: heading, introducing sentence, table header
	before  string // the sentence before it in the same paragraph
}

var (
	fenceLine   = regexp.MustCompile("^\\s*(?:```|~~~)")
	headingLine = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	itemLine    = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+`)
	ruleLine    = regexp.MustCompile(`^\s*(?:[-*_=]\s*){3,}$`)
	tableRule   = regexp.MustCompile(`^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	quoteMark   = regexp.MustCompile(`^\s*(?:>\s?)+`)
)

// longestCode is how many lines of code are quoted as a whole.
const longestCode = 3

// reader cuts one passage into units.
type reader struct {
	units   []unit
	passage int
	heading string
	intro   string   // the sentence ending in a colon before a list or code
	block   []string // lines of the open paragraph or item
	item    bool
	header  []string // column names of the open table
	first   []string // its first row, as long as it is not known whether it names the columns
}

// units cuts a passage, of Markdown or plain text.
func units(index int, text string) []unit {
	r := &reader{passage: index}
	var code []string
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if fenceLine.MatchString(line) {
			r.flush()
			r.endTable()
			if fenced {
				r.code(code)
			}
			fenced, code = !fenced, nil
			continue
		}
		if fenced {
			code = append(code, line)
			continue
		}
		r.line(quoteMark.ReplaceAllString(line, ""))
	}
	r.flush()
	r.endTable()
	return r.units
}

func (r *reader) line(line string) {
	blank := strings.TrimSpace(line) == ""
	isTable := strings.HasPrefix(strings.TrimSpace(line), "|")
	if !isTable {
		r.endTable()
	}
	switch {
	case blank:
		r.flush()
	case headingLine.MatchString(line):
		r.flush()
		r.heading, r.intro = headingLine.FindStringSubmatch(line)[1], ""
	case isTable && tableRule.MatchString(line):
		r.header, r.first = r.first, nil
	case ruleLine.MatchString(line):
		r.flush()
	case strings.HasPrefix(strings.TrimSpace(line), "<!--"):
	case isTable:
		r.flush()
		r.row(line)
	case itemLine.MatchString(line):
		r.flush()
		r.item = true
		r.block = append(r.block, line[len(itemLine.FindString(line)):])
	default:
		r.block = append(r.block, line)
	}
}

// row quotes a table row as "column: cell; column: cell". The columns' names are part of what a
// row says: a column may deny what its cells name.
func (r *reader) row(line string) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = collapse(cells[i])
	}
	if r.header == nil && r.first == nil {
		r.first = cells
		return
	}
	r.endRow()
	r.quoteRow(cells)
}

// endRow quotes the first row when it named no columns: a passage may begin within a table.
func (r *reader) endRow() {
	if r.first != nil {
		r.quoteRow(r.first)
		r.first = nil
		r.header = []string{}
	}
}

func (r *reader) endTable() {
	r.endRow()
	r.header = nil
}

func (r *reader) quoteRow(cells []string) {
	var parts []string
	for i, c := range cells {
		switch {
		case c == "":
		case i < len(r.header) && r.header[i] != "":
			parts = append(parts, r.header[i]+": "+c)
		default:
			parts = append(parts, c)
		}
	}
	if len(parts) > 0 {
		r.add(strings.Join(parts, "; "), "")
	}
}

// flush closes the open paragraph or item.
func (r *reader) flush() {
	text := collapse(strings.Join(r.block, " "))
	item := r.item
	r.block, r.item = nil, false
	if text == "" {
		return
	}
	if !item {
		r.intro = ""
	}
	before := ""
	for _, s := range sentences(text) {
		if strings.HasSuffix(s, ":") {
			if !item {
				r.intro = s
			}
			before = s
			continue
		}
		r.add(s, before)
		before = s
	}
}

// code quotes a few lines of code with the sentence that introduces them.
func (r *reader) code(lines []string) {
	var kept []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			kept = append(kept, "`"+strings.ReplaceAll(l, "`", "'")+"`")
		}
	}
	if len(kept) == 0 || len(kept) > longestCode {
		return
	}
	text := strings.Join(kept, " ")
	if r.intro != "" {
		text = r.intro + " " + text
	}
	r.add(text, "")
}

func (r *reader) add(text, before string) {
	lead := strings.TrimSpace(r.heading + " " + r.intro)
	r.units = append(r.units, unit{passage: r.passage, order: len(r.units), text: shield(text), lead: lead, before: before})
}

// bracketed finds what a reader would take for a citation marker.
var bracketed = regexp.MustCompile(`\[\^?\d[\d\s,;–-]*\]`)

// shield sets brackets with numbers in code, as in `[0, 1]`: the only markers in an answer are its own.
func shield(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 { // the others are code already
		parts[i] = bracketed.ReplaceAllString(parts[i], "\x00$0\x00")
	}
	return strings.ReplaceAll(strings.Join(parts, "`"), "\x00", "`")
}

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// abbreviations do not end a sentence with their full stop.
var abbreviations = func() map[string]bool {
	set := map[string]bool{}
	for _, a := range strings.Fields("approx art cf co dr e.g eq etc fig i.e inc incl jr ltd max min mr mrs ms no nr p pp prof resp sec st vol vs") {
		set[a] = true
	}
	return set
}()

// sentences cuts a paragraph. A stop ends a sentence when blank space and something that can begin
// one follow; not inside code, not after an abbreviation or a single letter.
func sentences(text string) []string {
	var out []string
	start, code := 0, false
	for i, r := range text {
		if r == '`' {
			code = !code
		}
		if code || !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		for end < len(text) {
			c, n := utf8.DecodeRuneInString(text[end:])
			if !strings.ContainsRune(".!?\"'”’)]*_", c) {
				break
			}
			end += n
		}
		if end <= start || !ends(text, r, i, end) {
			continue
		}
		out = append(out, strings.TrimSpace(text[start:end]))
		start = end
	}
	if rest := strings.TrimSpace(text[min(start, len(text)):]); rest != "" {
		out = append(out, rest)
	}
	return out
}

func ends(text string, stop rune, at, end int) bool {
	if strings.ContainsRune("。！？", stop) || end == len(text) {
		return true
	}
	if text[end] != ' ' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[end+1:])
	if unicode.IsLower(next) {
		return false
	}
	if stop != '.' {
		return true
	}
	word := text[:at]
	if i := strings.LastIndexAny(word, " (["); i >= 0 {
		word = word[i+1:]
	}
	single := utf8.RuneCountInString(word) == 1 && unicode.IsLetter([]rune(word)[0])
	return !single && !abbreviations[strings.ToLower(word)]
}
