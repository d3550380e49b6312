package term

import "strings"

// function words say how a question is asked, not what it is about.
const function = `a about all also an and any are as at be been being but by can could did do does doing for from
had has have having he her here hers him his how i if in into is it its itself me my no nor of off on once one or our
out over own same she should so some such than that the their them then there these they this those through to too
under until up us very was we were what when where which while who whom whose why will with would you your
please tell explain describe give show find
क्या है हैं का की के को में से पर और यह वह कैसे क्यों कौन था थे थी एक ने`

var stop = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(function) {
		set[w] = true
		set[Stem(w)] = true
	}
	return set
}()

// Content keeps the terms that carry a query's subject. A text of nothing
// but function words keeps them all: then they are the subject.
func Content(terms []string) []string {
	kept := make([]string, 0, len(terms))
	for _, t := range terms {
		if !stop[t] {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return terms
	}
	return kept
}

// Function tells whether a term only says how a question is asked.
func Function(t string) bool { return stop[t] }
