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
	Each(text, func(surface string, word bool) {
		if word {
			surface = Stem(surface)
		}
		out = append(out, surface)
	})
	return out
}

// Each visits what Of makes terms of, lower-cased and not yet stemmed. It
// tells which of them are words, whose term is their stem; what is no word is
// a term as it stands.
func Each(text string, visit func(surface string, word bool)) {
	start := -1
	for i, r := range text {
		if r < utf8.RuneSelf {
			if inWord[r] {
				if start < 0 {
					start = i
				}
				continue
			}
		} else if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			word(text[start:i], visit)
			start = -1
		}
	}
	if start >= 0 {
		word(text[start:], visit)
	}
}

// inWord tells which ASCII characters belong to a word.
var inWord = func() (in [utf8.RuneSelf]bool) {
	for c := range in {
		in[c] = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return in
}()

func word(w string, visit func(string, bool)) {
	if !ascii(w) {
		script(w, visit)
		return
	}
	if plain(w) {
		if len(w) <= longest {
			visit(strings.ToLower(w), true)
		}
		return
	}
	parts := identifier(strings.Trim(w, "_"))
	for _, p := range parts {
		if p != "" && len(p) <= longest {
			visit(strings.ToLower(p), true)
		}
	}
	if len(parts) > 1 && len(w) <= longest {
		visit(strings.ToLower(w), false)
	}
}

// plain tells a word that cannot be an identifier of several parts: nothing
// but its first letter is a capital.
func plain(w string) bool {
	for i := range len(w) {
		if w[i] == '_' || i > 0 && upper(w[i]) {
			return false
		}
	}
	return true
}

// script takes a word with letters beyond ASCII.
func script(w string, visit func(string, bool)) {
	var run strings.Builder
	var previous rune
	flush := func() {
		if run.Len() > 0 && run.Len() <= longest {
			visit(run.String(), false)
		}
		run.Reset()
	}
	for _, r := range w {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			flush()
			visit(string(r), false)
			if previous != 0 {
				visit(string([]rune{previous, r}), false)
			}
			previous = r
			continue
		}
		previous = 0
		run.WriteRune(unicode.ToLower(r))
	}
	flush()
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
