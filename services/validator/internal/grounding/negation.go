package grounding

import "strings"

// negators turn the words behind them into their opposite, up to the end of the clause.
var negators = wordSet(`not non no never nor neither none nothing nobody cannot without lacks lack lacking fails fail hardly n't`)

// reach of "except": how many words of meaning it excepts.
const exceptReach = 4

// findExceptions marks the words that the sentence excepts from what it says.
func (s *sentence) findExceptions() {
	for i, t := range s.tokens {
		if t.lower != "except" {
			continue
		}
		left := exceptReach
		for _, u := range s.tokens[i+1:] {
			if left == 0 || u.lower == "," || u.lower == ";" || u.lower == "when" || u.lower == "if" {
				break
			}
			if u.content() || u.fact {
				u.excepted = true
				left--
			}
		}
	}
}

// scope is how many words of meaning a negation reaches.
const scope = 5

// findNegations marks the words in the scope of a negation; two negations
// cancel. Comparisons ("no more than", "not only") negate nothing.
func (s *sentence) findNegations() {
	for i, t := range s.tokens {
		if root, ok := english.flipped[t.lower]; ok && root != "" {
			t.negated = !t.negated
		}
		if !negates(t) || s.comparison(i) || s.conditional(i) || s.subordinate(i) {
			continue
		}
		if t.lower == "cannot" {
			t.stem, t.negated = "allow", true
		}
		if i > 0 && t.lower == "not" && modals[s.tokens[i-1].lower] { // "must not" is "may not"
			s.tokens[i-1].stem, s.tokens[i-1].negated = "allow", true
		}
		left := scope
		switch t.lower {
		case "without":
			left = 3
		case "lack", "lacks", "lacking":
			left = 1
		}
		for _, u := range s.tokens[i+1:] {
			if left == 0 || scopeEnds[u.lower] || (u.clause != t.clause && u.lower != "and" && u.lower != "or" && breaks(s, t, u)) {
				break
			}
			if u.content() || u.number {
				u.negated = !u.negated
				left--
			}
		}
		if i > 0 && (t.lower == "nothing" || t.lower == "nobody" || t.lower == "none" || t.lower == "no") { // "pays nothing", "bears no cost": it denies the verb before it
			if u := s.tokens[i-1]; u.content() && left > 0 {
				u.negated = !u.negated
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

// scopeEnds are words behind which a negation before them says nothing.
var scopeEnds = wordSet("when if until before after once unless except because since while as where who which whether provided so")

// subordinate tells whether a negation stands in a clause that only says of
// whom or when the sentence speaks: "those who do not pay", "if it is not paid".
func (s *sentence) subordinate(i int) bool {
	for k := i - 1; k >= max(0, i-2); k-- {
		switch w := s.tokens[k].lower; {
		case w == "who" || w == "if" || w == "whoever" || w == "when":
			return true
		case w == "," || w == ";":
			return false
		}
	}
	return false
}

// conditional tells whether a negation with a limit says when something is so:
// "not before it is signed", "never without a permit", "not unless".
func (s *sentence) conditional(i int) bool {
	if s.tokens[i].lower != "without" { // "without consent no sublicence": neither denies
		for _, u := range s.tokens[:i] {
			if u.lower == "without" {
				return true
			}
		}
	} else {
		for _, u := range s.tokens[i+1:] {
			if u.lower != "without" && (negators[u.lower] || strings.HasSuffix(u.lower, "n't")) {
				return true
			}
		}
	}
	for _, u := range s.tokens[i+1 : min(i+9, len(s.tokens))] {
		switch u.lower {
		case "before", "until", "unless", "without":
			return true
		case ",", ";", "but", "and":
			return false
		}
	}
	return false
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

// opens is the content that the sentence denies up to a point: "not binding until it is signed".
func (s *sentence) opens() []*token {
	var out []*token
	for i, t := range s.tokens {
		if !negates(t) {
			continue
		}
		for j, u := range s.tokens[i+1:] {
			if u.lower == "until" || u.lower == "before" {
				for _, v := range s.tokens[i+1 : i+1+j] {
					if v.content() {
						out = append(out, v)
					}
				}
				break
			}
			if j > 8 || u.lower == "," || u.lower == ";" || u.lower == "but" {
				break
			}
		}
	}
	return out
}

// tooEarly is a word that the claim affirms before the point up to which the sentence denies it, or nil.
func (s *sentence) tooEarly(claim *sentence) *token {
	if len(claim.opens()) > 0 || claim.mentions(untilWords) == nil || claim.negative() {
		return nil
	}
	for _, u := range s.opens() {
		for _, t := range claim.tokens {
			if t.content() && same(t, u) >= 0.75 && t.at < claim.mentions(untilWords).at {
				return t
			}
		}
	}
	return nil
}

var untilWords = wordSet("before until")
