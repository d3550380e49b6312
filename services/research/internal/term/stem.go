package term

import "strings"

// Stem reduces an English word to its stem by the rules of M. F. Porter, "An
// algorithm for suffix stripping" (1980). Words with digits stay as they are.
func Stem(w string) string {
	if len(w) <= 2 || strings.ContainsAny(w, "0123456789_") {
		return w
	}
	w = plural(w)
	w = participle(w)
	if strings.HasSuffix(w, "y") && vowel(w[:len(w)-1]) {
		w = w[:len(w)-1] + "i"
	}
	w = replace(w, 0, doubleSuffixes)
	w = replace(w, 0, adjectives)
	w = strip(w)
	return tidy(w)
}

// consonant tells whether the letter at i is one; y is after a vowel.
func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

func vowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

// measure is Porter's m: how often a vowel sequence is followed by a
// consonant sequence.
func measure(w string) int {
	m, inVowel := 0, false
	for i := range len(w) {
		c := consonant(w, i)
		if c && inVowel {
			m++
		}
		inVowel = !c
	}
	return m
}

func doubled(w string) bool {
	n := len(w)
	return n >= 2 && w[n-1] == w[n-2] && consonant(w, n-1)
}

// short is Porter's *o: consonant, vowel, consonant other than w, x, y.
func short(w string) bool {
	n := len(w)
	return n >= 3 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) && !strings.ContainsRune("wxy", rune(w[n-1]))
}

func plural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"):
		return w
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

func participle(w string) string {
	if strings.HasSuffix(w, "eed") {
		if measure(w[:len(w)-3]) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	base, ok := strings.CutSuffix(w, "ed")
	if !ok || !vowel(base) {
		base, ok = strings.CutSuffix(w, "ing")
		if !ok || !vowel(base) {
			return w
		}
	}
	switch {
	case strings.HasSuffix(base, "at"), strings.HasSuffix(base, "bl"), strings.HasSuffix(base, "iz"):
		return base + "e"
	case doubled(base) && !strings.ContainsRune("lsz", rune(base[len(base)-1])):
		return base[:len(base)-1]
	case measure(base) == 1 && short(base):
		return base + "e"
	}
	return base
}

var doubleSuffixes = [][2]string{
	{"ational", "ate"},
	{"tional", "tion"},
	{"enci", "ence"},
	{"anci", "ance"},
	{"izer", "ize"},
	{"abli", "able"},
	{"alli", "al"},
	{"entli", "ent"},
	{"eli", "e"},
	{"ousli", "ous"},
	{"ization", "ize"},
	{"ation", "ate"},
	{"ator", "ate"},
	{"alism", "al"},
	{"iveness", "ive"},
	{"fulness", "ful"},
	{"ousness", "ous"},
	{"aliti", "al"},
	{"iviti", "ive"},
	{"biliti", "ble"},
}

var adjectives = [][2]string{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// replace exchanges the first suffix of the list that the word ends in, if
// what is before it has a measure above least.
func replace(w string, least int, suffixes [][2]string) string {
	for _, s := range suffixes {
		if base, ok := strings.CutSuffix(w, s[0]); ok {
			if measure(base) > least {
				return base + s[1]
			}
			return w
		}
	}
	return w
}

var endings = [][2]string{
	{"al"},
	{"ance"},
	{"ence"},
	{"er"},
	{"ic"},
	{"able"},
	{"ible"},
	{"ant"},
	{"ement"},
	{"ment"},
	{"ent"},
	{"ou"},
	{"ism"},
	{"ate"},
	{"iti"},
	{"ous"},
	{"ive"},
	{"ize"},
}

func strip(w string) string {
	if base, ok := strings.CutSuffix(w, "ion"); ok {
		if measure(base) > 1 && (strings.HasSuffix(base, "s") || strings.HasSuffix(base, "t")) {
			return base
		}
		return w
	}
	return replace(w, 1, endings)
}

func tidy(w string) string {
	if base, ok := strings.CutSuffix(w, "e"); ok {
		if m := measure(base); m > 1 || (m == 1 && !short(base)) {
			w = base
		}
	}
	if measure(w) > 1 && doubled(w) && strings.HasSuffix(w, "l") {
		w = w[:len(w)-1]
	}
	return w
}
