package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longWord is how many letters count as one word where no blank divides
// them, as in encoded data.
const longWord = 40

// Words counts the words of a text: what blanks divide, with each character
// of scripts that are written without blanks as a word of its own.
func Words(text string) int {
	n := 0
	for field := range strings.FieldsSeq(text) {
		letters, ideographs := 0, 0
		for _, r := range field {
			if unspaced(r) {
				ideographs++
			} else {
				letters++
			}
		}
		n += ideographs + (letters+longWord-1)/longWord
	}
	return n
}

// unspaced tells whether a character's script is written without blanks.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// parts divides a text into spans of at most target words: at ends of
// lines, a line that is too long at ends of sentences, a sentence that is
// too long between words.
func parts(text string) [][2]int {
	var spans [][2]int
	for _, end := range []func(string, int) bool{endsLine, endsSentence, endsWord} {
		spans = spans[:0:0]
		fits := true
		start := 0
		for i := 0; i < len(text); {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			if i == len(text) || end(text, i) {
				spans = append(spans, [2]int{start, i})
				fits = fits && Words(text[start:i]) <= target
				start = i
			}
		}
		if fits {
			break
		}
	}
	return join(text, spans, even(Words(text)))
}

// join puts neighbouring spans together as long as they fit, and trims the
// blanks around each.
func join(text string, spans [][2]int, most int) [][2]int {
	var out [][2]int
	size := 0
	for _, span := range spans {
		words := Words(text[span[0]:span[1]])
		if len(out) == 0 || size+words > most {
			out = append(out, span)
			size = words
			continue
		}
		out[len(out)-1][1] = span[1]
		size += words
	}
	kept := out[:0]
	for _, span := range out {
		trimmed := strings.TrimRightFunc(text[span[0]:span[1]], unicode.IsSpace)
		end := span[0] + len(trimmed)
		start := end - len(strings.TrimLeft(trimmed, "\r\n"))
		if start < end {
			kept = append(kept, [2]int{start, end})
		}
	}
	return kept
}

func endsLine(text string, i int) bool { return text[i-1] == '\n' }

func endsSentence(text string, i int) bool {
	if endsLine(text, i) {
		return true
	}
	if text[i-1] != ' ' || i < 2 {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(text[:i-1])
	return strings.ContainsRune(".!?।。", r)
}

// endsWord also ends inside a run without blanks, every longWord bytes, so
// that nothing is too long to be cut.
func endsWord(text string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:i])
	return unicode.IsSpace(r) || unspaced(r) || i%longWord < utf8.RuneLen(r)
}
