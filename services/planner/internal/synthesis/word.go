package synthesis

import (
	"strings"
	"unicode"
)

// words gives the words of a text in order, lower-cased, stop words and all.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// terms gives the stems of the words that carry meaning.
func terms(text string) []string {
	var out []string
	for _, w := range words(text) {
		if !stopWords[w] && (len(w) > 1 || unicode.IsDigit(rune(w[0]))) { // no letter left over by an apostrophe
			out = append(out, stem(w))
		}
	}
	return out
}

func termSet(texts ...string) map[string]bool {
	set := map[string]bool{}
	for _, t := range texts {
		for _, w := range terms(t) {
			set[w] = true
		}
	}
	return set
}

// suffixes are tried in order, the longest of a family first.
var suffixes = []string{
	"izations", "ization", "ations", "ation", "ators", "ator", "ating", "ated", "ates", "ements", "ement",
	"ments", "ment", "nesses", "ness", "ingly", "edly", "ings", "ing", "ions", "ion", "ers", "ies", "ied", "ees",
	"ed", "er", "es", "ly", "ate", "e", "s", "y",
}

// shortest is how many letters a stem keeps at least.
const shortest = 3

// stem cuts English endings so that forms of one word meet: store, stores, stored, storing. It is
// crude on purpose: two texts are compared by the same rule, and a stem is never shown.
func stem(w string) string {
	for _, s := range suffixes {
		if base, ok := strings.CutSuffix(w, s); ok && len(base) >= shortest {
			return undouble(base)
		}
	}
	return undouble(w)
}

// undouble makes "runn" of running the "run" of run, and "cancell" of cancelled the "cancel" of cancel.
func undouble(w string) string {
	n := len(w)
	if n > shortest && w[n-1] == w[n-2] && strings.IndexByte("bdglmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	return w
}

// stopWords carry no meaning of their own in a question.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a about all also am an and any are as at be been being both but by can
		could did do does doing done each either every for from had has have having he her his how i if in
		into is it its just know let many me more most much must my no nor not of on one or our out over please
		s shall she should so some such t tell than that the their them then there these they this those to too
		up us use used very was we were what when where which while who whom whose why will with would you your
		give explain describe show mean happen happens work works ll re ve d m don doesn isn`) {
		set[w] = true
	}
	return set
}()
