package grounding

import "strings"

// negators turn the words behind them into their opposite, up to the end of the clause.
var negators = wordSet(`not no never nor neither none nothing nobody cannot without lacks lack lacking fails fail hardly n't`)

// scope is how many words of meaning a negation reaches.
const scope = 5

// findNegations marks the words in the scope of a negation; two negations
// cancel. Comparisons ("no more than", "not only") negate nothing.
func (s *sentence) findNegations() {
	for i, t := range s.tokens {
		if root, ok := flipped[t.lower]; ok && root != "" {
			t.negated = !t.negated
		}
		if !negates(t) || s.comparison(i) {
			continue
		}
		left := scope
		if t.lower == "without" {
			left = 3
		}
		for _, u := range s.tokens[i+1:] {
			if left == 0 || (u.clause != t.clause && u.lower != "and" && u.lower != "or" && breaks(s, t, u)) {
				break
			}
			if u.content() || u.number {
				u.negated = !u.negated
				left--
			}
		}
		if left == scope && (t.lower == "not" || strings.HasSuffix(t.lower, "n't")) { // "electricity is not": it denies what stands before it
			for j := i - 1; j >= 0 && s.tokens[j].clause == t.clause; j-- {
				if u := s.tokens[j]; u.content() {
					u.negated = !u.negated
				}
			}
		}
	}
}

// exceptions turn a condition round without a negation of their own.
var exceptions = wordSet("otherwise unless except")

func (s *sentence) excepts() bool {
	for _, t := range s.tokens {
		if exceptions[t.lower] {
			return true
		}
	}
	return false
}

// breaks tells whether punctuation or a conjunction other than "or" ends the
// scope of a negation between two tokens.
func breaks(s *sentence, from, to *token) bool {
	for _, t := range s.tokens[from.at+1 : to.at] {
		if clauseBreak[t.lower] && t.lower != "or" {
			return true
		}
	}
	return false
}

func negates(t *token) bool {
	if t.lower == "no" && t.raw == "No" && t.at > 0 {
		return false // "No. 5"
	}
	return negators[t.lower] || strings.HasSuffix(t.lower, "n't")
}

func (s *sentence) comparison(i int) bool {
	if i+1 >= len(s.tokens) {
		return false
	}
	switch s.tokens[i+1].lower {
	case "only", "just", "merely", "later", "earlier":
		return true
	case "more", "less", "fewer", "longer", "higher", "lower", "greater", "exceed":
		for _, u := range s.tokens[i+2 : min(i+5, len(s.tokens))] {
			if u.lower == "than" || u.number {
				return true
			}
		}
	}
	return false
}
