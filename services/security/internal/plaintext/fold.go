// Package plaintext takes the disguises off a text: invisible characters,
// look-alike letters, styled alphabets, encodings. What remains is compared
// with words; it is never shown to anybody.
package plaintext

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Folded is a text in its comparable form and what had to be undone for it.
type Folded struct {
	// Text is in lower case, NFC after compatibility decomposition (NFKD), without
	// Latin accents and invisible characters, with look-alikes replaced and runs of
	// blanks collapsed. Lines are kept.
	Text string
	// Split counts invisible characters between two Latin letters.
	Split int
	// Mixed counts words that mix Latin letters with look-alikes of other scripts,
	// or consist of look-alikes only.
	Mixed int
	// Styled counts letters of styled alphabets (full width, mathematical, circled).
	Styled int
	// Tags is the text written in Unicode tag characters, which no reader sees.
	// Flags of regions, which use them rightly, are not part of it.
	Tags string
}

// Fold brings a text into its comparable form. Invalid UTF-8 becomes U+FFFD.
// It takes time linear in the text and is idempotent: folding Text again changes nothing.
func Fold(text string) Folded {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if ascii(text) {
		return Folded{Text: blanks(strings.ToLower(text))}
	}
	var f Folded
	visible := f.strip(text)
	decomposed := norm.NFKD.String(visible)
	var b strings.Builder
	b.Grow(len(decomposed))
	for _, r := range decomposed {
		// Compatibility forms can themselves hold invisible characters.
		if accent(r) || Invisible(r) {
			continue
		}
		// Lower case of a letter may again be a sequence; İ is the one that matters
		// and it is already decomposed.
		b.WriteRune(unicode.ToLower(r))
	}
	f.Text = blanks(norm.NFC.String(f.replaceLookalikes(b.String())))
	return f
}

// strip removes invisible characters and notes the suspicious ones.
func (f *Folded) strip(text string) string {
	var b, tags strings.Builder
	b.Grow(len(text))
	var before rune
	hidden, flag := 0, false
	for _, r := range text {
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			if !flag {
				tags.WriteRune(r - 0xE0000)
			}
			continue
		case r == 0xE007F:
			flag = false
			continue
		case Invisible(r):
			hidden++
			continue
		}
		flag = r == 0x1F3F4
		if hidden > 0 && latin(before) && latin(r) {
			f.Split += hidden
		}
		hidden = 0
		if styled(r) {
			f.Styled++
		}
		before = r
		b.WriteRune(r)
	}
	f.Tags = tags.String()
	return b.String()
}

// replaceLookalikes works word by word, so that Russian and Greek stay what they are:
// only a word that also has Latin letters, or that consists of look-alikes, is changed.
func (f *Folded) replaceLookalikes(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	word := make([]rune, 0, 32)
	flush := func() {
		var latins, alike, other int
		for _, r := range word {
			switch {
			case latin(r):
				latins++
			case lookalikes[r] != 0:
				alike++
			default:
				other++
			}
		}
		change := alike > 0 && (latins > 0 || other == 0)
		// One- and two-letter words of look-alikes (Russian "а", "он") are ordinary.
		if change && latins == 0 && alike < 3 {
			change = false
		}
		if change {
			f.Mixed++
		}
		for _, r := range word {
			if l := lookalikes[r]; change && l != 0 {
				r = l
			}
			b.WriteRune(r)
		}
		word = word[:0]
	}
	for _, r := range text {
		if unicode.IsLetter(r) {
			word = append(word, r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}

// Invisible tells whether a character leaves no trace on a page: format
// characters, variation selectors, fillers, tag characters.
func Invisible(r rune) bool {
	switch {
	case r < 0x80:
		return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7F
	case unicode.Is(unicode.Cf, r):
		return true
	case r >= 0x80 && r <= 0x9F && r != 0x85:
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x17B4, r == 0x17B5, r >= 0x180B && r <= 0x180F:
		return true
	}
	return false
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x80 || c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == 0x7F {
			return false
		}
	}
	return true
}

func latin(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// accent is a combining mark as Latin letters carry it. Marks of other scripts
// (vowel signs of Devanagari) are part of the word and stay.
func accent(r rune) bool { return r >= 0x0300 && r <= 0x036F || r >= 0x1AB0 && r <= 0x1AFF }

func styled(r rune) bool {
	return r >= 0xFF21 && r <= 0xFF5A || r >= 0x1D400 && r <= 0x1D7FF || r >= 0x24B6 && r <= 0x24E9 ||
		r >= 0x1F130 && r <= 0x1F189
}

// blanks collapses runs of blanks into one space and lines into "\n", trimmed.
func blanks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	pending := byte(0)
	for _, r := range s {
		if unicode.IsSpace(r) {
			if r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 {
				pending = '\n'
			} else if pending == 0 {
				pending = ' '
			}
			continue
		}
		if pending != 0 && b.Len() > 0 {
			b.WriteByte(pending)
		}
		pending = 0
		b.WriteRune(r)
	}
	return b.String()
}
