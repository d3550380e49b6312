package screening

import (
	"slices"
	"strings"
	"unicode"

	"sabha.dev/services/security/internal/plaintext"
)

func foldWord(w string) string { return plaintext.Fold(w).Text }

// leetspeak maps the digits and signs that stand for letters.
var leetspeak = strings.NewReplacer("0", "o", "1", "i", "!", "i", "|", "l", "3", "e", "€", "e", "4", "a", "@", "a",
	"5", "s", "$", "s", "7", "t", "+", "t", "8", "b", "6", "g", "9", "g")

const leetSigns = "01345678 9@$!|+€"

// unleet puts letters for the digits and signs in a word that also has letters. The
// digit 1 stands for i or l, so there are two readings.
func unleet(word string) []string {
	if !strings.ContainsAny(word, leetSigns) || !strings.ContainsFunc(word, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		return nil
	}
	first := leetspeak.Replace(word)
	if !strings.ContainsAny(word, "1!|") {
		return []string{first}
	}
	return []string{first, leetspeak.Replace(strings.NewReplacer("1", "l", "!", "l", "|", "i").Replace(word))}
}

// scramble is a key that two words share when one is the other with inner
// letters swapped. Short words have too many neighbours.
func scramble(word string) (string, bool) {
	if len(word) < 6 || len(word) > 24 {
		return "", false
	}
	for i := 0; i < len(word); i++ {
		if word[i] < 'a' || word[i] > 'z' {
			return "", false
		}
	}
	b := []byte(word)
	inner := b[1 : len(b)-1]
	slices.Sort(inner)
	return string(b), true
}

// scriptWithoutSpaces is Han and Kana, where words are found inside runs.
func scriptWithoutSpaces(r rune) bool {
	return unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r)
}
