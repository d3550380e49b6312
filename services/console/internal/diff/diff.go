// Package diff says what a person changed in a text: which words went and which came.
package diff

import (
	"strings"
	"unicode"
)

// Kind of a run.
type Kind int

// The kinds. Skipped stands for unchanged text that is not repeated.
const (
	Same Kind = iota
	Gone
	Come
	Skipped
)

// Run is a piece of text that stayed, went or came.
type Run struct {
	Kind Kind
	Text string
	// Lines that a Skipped run stands for.
	Lines int
}

// most changes that are looked for one by one. Texts that differ more are told as
// one that went and one that came between what they begin and end with alike.
const most = 1000

// Texts compares two texts word by word. The texts of all runs but those that came,
// one after the other, are before; of all but those that went, after.
func Texts(before, after string) []Run {
	a, b := words(before), words(after)
	var head, tail int
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var r runs
	r.add(Same, a[:head]...)
	r.between(a[head:len(a)-tail], b[head:len(b)-tail])
	r.add(Same, a[len(a)-tail:]...)
	return r.all
}

// Equal tells whether nothing was changed.
func Equal(all []Run) bool {
	for _, r := range all {
		if r.Kind == Gone || r.Kind == Come {
			return false
		}
	}
	return true
}

// Around leaves out what is unchanged further than some lines from a change.
func Around(all []Run, lines int) []Run {
	var out []Run
	for i, r := range all {
		if r.Kind != Same {
			out = append(out, r)
			continue
		}
		parts := strings.SplitAfter(r.Text, "\n")
		before, after := lines+1, lines+1 // the line of the change itself, and as many as asked for
		if i == 0 {
			before = 0
		}
		if i == len(all)-1 {
			after = 0
		}
		// To leave out a single line would save nothing.
		if len(parts) < before+after+2 {
			out = append(out, r)
			continue
		}
		if before > 0 {
			out = append(out, Run{Kind: Same, Text: strings.Join(parts[:before], "")})
		}
		out = append(out, Run{Kind: Skipped, Lines: len(parts) - before - after})
		if after > 0 {
			out = append(out, Run{Kind: Same, Text: strings.Join(parts[len(parts)-after:], "")})
		}
	}
	return out
}

// words cuts a text into words, runs of spaces, ends of line and single other signs.
func words(s string) []string {
	var out []string
	begin, last := 0, -1
	for i, r := range s {
		class := classOf(r)
		if i > begin && (class != last || class == sign || class == newline) {
			out = append(out, s[begin:i])
			begin = i
		}
		last = class
	}
	if begin < len(s) {
		out = append(out, s[begin:])
	}
	return out
}

const (
	word = iota
	space
	newline
	sign
)

func classOf(r rune) int {
	switch {
	case r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
		return word
	}
	return sign
}

// runs joins pieces of one kind.
type runs struct{ all []Run }

func (r *runs) add(k Kind, pieces ...string) {
	text := strings.Join(pieces, "")
	if text == "" {
		return
	}
	if n := len(r.all); n > 0 && r.all[n-1].Kind == k {
		r.all[n-1].Text += text
		return
	}
	r.all = append(r.all, Run{Kind: k, Text: text})
}

// between adds what became of a on the way to b.
func (r *runs) between(a, b []string) {
	steps, ok := shortest(a, b)
	if !ok {
		r.add(Gone, a...)
		r.add(Come, b...)
		return
	}
	var gone, come []string
	flush := func() {
		r.add(Gone, gone...)
		r.add(Come, come...)
		gone, come = nil, nil
	}
	for i, s := range steps {
		switch s.kind {
		case Gone:
			gone = append(gone, s.text)
		case Come:
			come = append(come, s.text)
		default:
			// A space between two changes is read as part of one.
			if blank(s.text) && len(gone)+len(come) > 0 && i+1 < len(steps) && steps[i+1].kind != Same {
				gone, come = append(gone, s.text), append(come, s.text)
				continue
			}
			flush()
			r.add(Same, s.text)
		}
	}
	flush()
}

func blank(s string) bool { return strings.Trim(s, " \t") == "" }
