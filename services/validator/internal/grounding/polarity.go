package grounding

import "fmt"

// negation compares whether claim and sentence deny what they share.
func (c *comparison) negation(claim, s *sentence) {
	if t := s.tooEarly(claim); t != nil {
		c.found(denied, fmt.Sprintf("the passage denies %q up to then", t.raw))
		return
	}
	word, affirmed := "", false
	mine, theirs := false, false // which of the two denies what they disagree on
	exception := ""              // what the claim says of an exception of the sentence
	for _, t := range claim.tokens {
		if !t.content() {
			continue
		}
		var found *token
		agree := false
		for _, u := range s.tokens {
			if u.content() && same(t, u) >= 0.75 {
				found = u
				agree = agree || u.negated == t.negated
			}
		}
		switch {
		case found == nil:
		case found.excepted && !t.excepted:
			exception = t.raw
		case !agree:
			word = t.raw
			mine, theirs = mine || t.negated, theirs || !t.negated
			c.disagree++
		default:
			affirmed = affirmed || t.negated
			c.agree++
		}
	}
	if exception != "" && claim.mentions(exceptions) == nil {
		if claim.negative() == s.negative() {
			c.found(denied, fmt.Sprintf("the passage excepts %q", exception))
		}
		return
	}
	if s.excepts() != claim.excepts() {
		return // "unless it is listed" and "if it is not listed" agree
	}
	if s.ends() && !claim.ends() && claim.denies(s) || claim.ends() && !s.ends() && s.denies(claim) {
		return // "no trains since 1988" and "trains stopped in 1988" agree
	}
	if word != "" && !affirmed && (mine && !theirs || claim.denies(s) != s.denies(claim)) {
		c.found(denied, fmt.Sprintf("one denies what the other states (%q)", word))
	}
}

// polarity counts the clauses of the claim of which most words stand in clauses of the other polarity.
func (c *comparison) polarity(claim, s *sentence) {
	mine, theirs := claim.polarities(), s.polarities()
	with, without := map[int]int{}, map[int]int{}
	for _, t := range claim.tokens {
		if !t.content() {
			continue
		}
		agree, found := false, false
		for _, u := range s.tokens {
			if u.content() && same(t, u) >= 0.75 {
				found = true
				own, other := mine[t.clause], theirs[u.clause]
				if english.flipped[t.lower] != "" {
					own = !own
				}
				if english.flipped[u.lower] != "" {
					other = !other
				}
				agree = agree || own == other
			}
		}
		switch {
		case agree:
			with[t.clause]++
		case found:
			without[t.clause]++
		}
	}
	for clause, n := range without {
		if n > with[clause] {
			c.turned = true
		}
	}
}

// polarities tell of each clause whether it denies.
func (s *sentence) polarities() map[int]bool {
	out := map[int]bool{}
	for i, t := range s.tokens {
		if negates(t) && !s.comparison(i) && !s.conditional(i) && !s.subordinate(i) {
			out[t.clause] = !out[t.clause]
		}
	}
	return out
}

// negative tells whether the sentence denies anything.
func (s *sentence) negative() bool {
	for _, t := range s.tokens {
		if t.negated && t.content() {
			return true
		}
	}
	return false
}

// ends tells whether the sentence says that something stopped.
func (s *sentence) ends() bool {
	for _, t := range s.tokens {
		if t.stem == "end" || t.stem == "stop" || alike(t.stem, "end") && alike(t.stem, "stop") {
			return true
		}
	}
	return false
}

// denies tells whether the sentence negates something it shares with another.
func (s *sentence) denies(o *sentence) bool {
	for _, t := range s.tokens {
		if !t.negated || !t.content() {
			continue
		}
		for _, u := range o.tokens {
			if u.content() && same(t, u) >= 0.75 {
				return true
			}
		}
	}
	return false
}
