// Package render turns what comes from a platform into lines of text: pure
// functions from events and tasks to what a person reads. Nothing here writes
// to a terminal, and nothing from outside reaches one unclean.
package render

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// Style is how lines are to look.
type Style struct {
	// Width of a line in columns; 0 does not wrap or cut.
	Width int
	// Color adds colour and weight.
	Color bool
	// Zone is where times of day are shown.
	Zone *time.Location
}

// Looks of a text, as SGR parameters (ECMA-48).
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s Style) paint(look, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[0m"
}

// Clean makes text from outside fit for a terminal: control characters, which
// could move the cursor or worse, become spaces; line ends and tabs stay as
// line ends and spaces; marks that reorder text are dropped.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r):
			return ' '
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f':
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// line is Clean for text that must stay on one line.
func line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// columns is how wide a rune is on a terminal.
func columns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func wide(text string) int {
	n := 0
	for _, r := range text {
		n += columns(r)
	}
	return n
}

// cut shortens clean text to a number of columns; 0 or less leaves it.
func cut(text string, most int) string {
	if most <= 0 || wide(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += columns(r); n > most-1 {
			return text[:i] + "…"
		}
	}
	return text
}

func pad(text string, to int) string {
	if n := to - wide(text); n > 0 {
		return text + strings.Repeat(" ", n)
	}
	return text
}

// narrowest is the room that wrapped text gets at least.
const narrowest = 20

// wrap breaks clean text at spaces so that each line fits the style's width,
// with first before the first line and as much room before the others.
func (s Style) wrap(first, text string) []string {
	indent := strings.Repeat(" ", wide(first))
	room := 0
	if s.Width > 0 {
		room = max(s.Width-len(indent), narrowest)
	}
	var out []string
	for _, paragraph := range strings.Split(text, "\n") {
		lead := paragraph[:len(paragraph)-len(strings.TrimLeft(paragraph, " "))]
		now := lead
		if item := strings.TrimLeft(paragraph, " "); strings.HasPrefix(item, "- ") || strings.HasPrefix(item, "* ") {
			lead += "  " // under the text of the item, not under its mark
		}
		words := strings.Fields(paragraph)
		if room == 0 {
			words = []string{strings.TrimSpace(paragraph)}
		}
		for i, word := range words {
			switch {
			case i == 0:
				now += word
			case wide(now)+1+wide(word) <= room:
				now += " " + word
			default:
				out, now = append(out, now), lead+word
			}
		}
		out = append(out, strings.TrimRight(now, " "))
	}
	for i, l := range out {
		switch {
		case i == 0:
			out[i] = first + l
		case l != "":
			out[i] = indent + l
		}
	}
	return out
}

// Took writes a duration as a person reads it: three digits at most.
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return "0ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Table lines up rows under their heads; the last column takes what room is left.
func (s Style) Table(heads []string, rows [][]string) []string {
	widths := make([]int, len(heads))
	for i, h := range heads {
		widths[i] = wide(h)
	}
	for _, row := range rows {
		for i := range heads {
			row[i] = strings.ReplaceAll(Clean(row[i]), "\n", " ")
			widths[i] = max(widths[i], wide(row[i]))
		}
	}
	last := len(heads) - 1
	if s.Width > 0 {
		room := s.Width
		for _, w := range widths[:last] {
			room -= w + gutter
		}
		widths[last] = min(widths[last], max(room, narrowest/2))
	}
	join := func(cells []string) string {
		var b strings.Builder
		for i, c := range cells {
			if i == last {
				b.WriteString(cut(c, widths[i]))
				break
			}
			b.WriteString(pad(c, widths[i]+gutter))
		}
		return strings.TrimRight(b.String(), " ")
	}
	out := []string{s.paint(dim, join(heads))}
	for _, row := range rows {
		out = append(out, join(row))
	}
	return out
}

// gutter is the room between columns.
const gutter = 2
