package document

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// parseText cuts plain text at blank lines. A line underlined with three or
// more = is a heading of level 1, with - or ~ one of level 2; nothing else
// in plain text is taken for a heading.
func parseText(t *tree, src []byte) {
	offset := len(bomPrefix(src))
	start := offset // of the paragraph being read
	previous := -1  // start of the line before, when the paragraph has one
	flush := func(end int) {
		from, to := trim(src, start, end)
		t.block(Block{Start: from, End: to, Text: string(src[from:to])})
	}
	for line := range bytes.Lines(src[offset:]) {
		next := offset + len(line)
		content := strings.TrimSpace(string(line))
		switch {
		case content == "":
			flush(offset)
			start, previous = next, -1
		case previous >= 0 && underline(src[previous:offset], content) > 0:
			flush(previous)
			t.heading(underline(src[previous:offset], content), previous, strings.TrimSpace(string(src[previous:offset])))
			start, previous = next, -1
		default:
			previous = offset
		}
		offset = next
	}
	flush(len(src))
}

// underline gives the heading level that a line makes of the one above it,
// or 0. It must be about as long as its title, so that rules and the
// borders of tables are not taken for one.
func underline(title []byte, line string) int {
	n := len(line)
	width := utf8.RuneCount(bytes.TrimSpace(title))
	if n < 3 || n < width-2 || n > width+2 || strings.Trim(line, line[:1]) != "" {
		return 0
	}
	switch line[0] {
	case '=':
		return 1
	case '-', '~':
		return 2
	}
	return 0
}
