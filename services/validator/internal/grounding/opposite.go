package grounding

import (
	"fmt"
	"strings"
)

// opposites looks for a word of the claim whose opposite stands in its place.
func (c *comparison) opposites(claim, s *sentence) {
	for _, t := range claim.tokens {
		if t.fact || !t.content() || len(english.sides[t.stem]) == 0 {
			continue
		}
		own, other := -1.0, -1.0
		var word *token
		for _, u := range s.tokens {
			if u.fact || !u.content() {
				continue
			}
			switch {
			case same(t, u) >= 0.75:
				own = max(own, affinity(claim, t.at, s, u.at, keepAll))
			case opposed(t.stem, u.stem) && t.negated == u.negated:
				if a := affinity(claim, t.at, s, u.at, keepAll); a > other {
					other, word = a, u
				}
			}
		}
		if word != nil && (own < 0 && c.evidence.match(t) < 0.75 || own >= 0 && other > own*2+rivalMargin) {
			c.found(opposite, fmt.Sprintf("the claim says %q, the passage %q", t.lower, word.lower))
		}
	}
	c.ranks(claim, s)
}

// ranks looks for "the second oldest" where the claim has "the oldest".
func (c *comparison) ranks(claim, s *sentence) {
	for _, u := range s.tokens {
		if u.at == 0 || !strings.HasSuffix(u.lower, "est") || !ranked(s.tokens[u.at-1]) {
			continue
		}
		for _, t := range claim.tokens {
			if t.lower == u.lower && (t.at == 0 || !ranked(claim.tokens[t.at-1])) {
				c.found(opposite, fmt.Sprintf("the claim says %q, the passage %q", t.lower, s.tokens[u.at-1].lower+" "+u.lower))
			}
		}
	}
}

func ranked(t *token) bool { return t.lower == "second" || ordinalWords[t.lower] > 0 }

// order looks for two names that act on each other the other way round.
func (c *comparison) order(claim, s *sentence, names nameSet) {
	isName := func(t *token) bool { return names.is(t) || t.capital && names.weak[t.lower] }
	for i, a := range claim.tokens {
		if !isName(a) {
			continue
		}
		for _, b := range claim.tokens[i+1:] {
			if !isName(b) || a.stem == b.stem {
				continue
			}
			x, y := s.find(a), s.find(b)
			if x == nil || y == nil {
				continue
			}
			verb := between(claim, a, b, s, x, y)
			if verb == "" {
				continue
			}
			reversed := x.at > y.at
			passive := by(claim, a, b) != by(s, x, y)
			if reversed != passive {
				c.found(orderTurned, fmt.Sprintf("%s and %s have changed places around %q", a.raw, b.raw, verb))
				return
			}
		}
	}
}

func (s *sentence) find(t *token) *token {
	for _, u := range s.tokens {
		if !u.fact && u.lower == t.lower {
			return u
		}
	}
	return nil
}

// between is a word that stands between both pairs of names, or "".
func between(claim *sentence, a, b *token, s *sentence, x, y *token) string {
	low, high := min(x.at, y.at), max(x.at, y.at)
	for _, t := range claim.tokens[a.at+1 : b.at] {
		if !t.content() || t.capital {
			continue
		}
		for _, u := range s.tokens[low+1 : high] {
			if u.content() && !u.fact && same(t, u) >= 0.75 {
				return t.lower
			}
		}
	}
	return ""
}

func by(s *sentence, x, y *token) bool {
	for _, t := range s.tokens[min(x.at, y.at)+1 : max(x.at, y.at)] {
		if t.lower == "by" {
			return true
		}
	}
	return false
}
