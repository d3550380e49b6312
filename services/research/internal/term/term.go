// Package term turns text into the terms that passages and queries are
// compared by. Any text is accepted: what is not a letter, a digit or a mark
// only divides terms, so no character of a query has a meaning of its own.
package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest bounds a term in bytes; what is longer is encoded data, not a word.
const longest = 64

// Of gives the terms of a text in order. Words are lower-cased and stemmed
// (English, Porter 1980). An identifier such as GetTask or push_config gives
// its parts and, after them, itself. Characters of scripts written without
// blanks give one term each and one for each pair.
func Of(text string) []string {
	var out []string
	start := -1
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			out = word(out, text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		out = word(out, text[start:])
	}
	return out
}

func word(out []string, w string) []string {
	if !ascii(w) {
		return script(out, w)
	}
	parts := identifier(strings.Trim(w, "_"))
	for _, p := range parts {
		if p != "" && len(p) <= longest {
			out = append(out, stem(strings.ToLower(p)))
		}
	}
	if len(parts) > 1 && len(w) <= longest {
		out = append(out, strings.ToLower(w))
	}
	return out
}

// script takes a word with letters beyond ASCII.
func script(out []string, w string) []string {
	var run strings.Builder
	var previous rune
	flush := func() {
		if run.Len() > 0 && run.Len() <= longest {
			out = append(out, run.String())
		}
		run.Reset()
	}
	for _, r := range w {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			flush()
			out = append(out, string(r))
			if previous != 0 {
				out = append(out, string([]rune{previous, r}))
			}
			previous = r
			continue
		}
		previous = 0
		run.WriteRune(unicode.ToLower(r))
	}
	flush()
	return out
}

// identifier divides at underscores and where a capital begins a part; a
// word that would leave a part of one letter (gRPC, OAuth) stays whole.
func identifier(w string) []string {
	var parts []string
	start := 0
	for i := 1; i < len(w); i++ {
		switch {
		case w[i] == '_':
			parts = append(parts, w[start:i])
			start = i + 1
		case upper(w[i]) && (lower(w[i-1]) || (i+1 < len(w) && upper(w[i-1]) && lower(w[i+1]))):
			parts = append(parts, w[start:i])
			start = i
		}
	}
	if start < len(w) {
		parts = append(parts, w[start:])
	}
	for _, p := range parts {
		if len(p) == 1 {
			return []string{w}
		}
	}
	return parts
}

func upper(b byte) bool { return b >= 'A' && b <= 'Z' }
func lower(b byte) bool { return b >= 'a' && b <= 'z' }

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
