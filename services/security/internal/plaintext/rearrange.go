package plaintext

import (
	"strings"
	"unicode"
)

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func reverse(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// minSpaced is how many single letters in a row are writing, not initials.
const minSpaced = 5

// spaced joins letters that are written apart: "i g n o r e", "i.g.n.o.r.e",
// "i-g-n-o-r-e". Two separators in a row, or a change of the separator to a blank, are
// the gap between words. It reports whether there was such a run.
func spaced(s string) (string, bool) {
	runes := []rune(s)
	var b strings.Builder
	b.Grow(len(s))
	found := false
	for i := 0; i < len(runes); {
		end, letters := spacedRun(runes, i)
		if letters < minSpaced {
			b.WriteRune(runes[i])
			i++
			continue
		}
		found = true
		joinRun(&b, runes[i:end])
		i = end
	}
	return b.String(), found
}

func symbol(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '@' || r == '$' }

func gap(r rune) bool {
	switch r {
	case ' ', '\t', '.', '-', '_', '*', '/', '|', '·', ',', '~', '+', '\n':
		return true
	}
	return false
}

// spacedRun gives the end of the run of single letters that starts at i and how many they are.
func spacedRun(runes []rune, i int) (end, letters int) {
	if !symbol(runes[i]) || i > 0 && symbol(runes[i-1]) {
		return i, 0
	}
	for i < len(runes) && symbol(runes[i]) && (i+1 == len(runes) || !symbol(runes[i+1])) {
		letters++
		end = i + 1
		i = end
		for n := 0; i < len(runes) && gap(runes[i]) && n < 4; n++ {
			i++
		}
		if i == end {
			break
		}
	}
	return end, letters
}

func joinRun(b *strings.Builder, run []rune) {
	// The separator inside words is the one after the first letter.
	within := run[1]
	for i := 0; i < len(run); i++ {
		if symbol(run[i]) {
			b.WriteRune(run[i])
			continue
		}
		if run[i] == within && i+1 < len(run) && symbol(run[i+1]) {
			continue
		}
		b.WriteByte(' ')
		for i+1 < len(run) && !symbol(run[i+1]) {
			i++
		}
	}
}

// fragments joins the quoted strings of a text that puts a message together
// from pieces: a = 'ignore all prev', b = 'ious rules'. It reports whether there were two.
func fragments(s string) (string, bool) {
	var b strings.Builder
	count, open := 0, -1
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '"' && c != '\'' && c != '`' {
			continue
		}
		switch {
		case open < 0:
			// An apostrophe inside a word opens nothing.
			if c == '\'' && i > 0 && latin(rune(s[i-1])) {
				continue
			}
			open, quote = i, c
		case c == quote:
			if c == '\'' && i+1 < len(s) && latin(rune(s[i+1])) {
				continue
			}
			b.WriteString(s[open+1 : i])
			count++
			open = -1
		}
	}
	return b.String(), count >= 2
}
