package grounding

import (
	"fmt"
	"strings"
)

// comparison is what setting a claim against evidence gave.
type comparison struct {
	evidence  evidence
	coverage  float64
	conflicts []string
	missing   []string
	quoted    bool
}

// A rival place in the evidence has to fit clearly better than the one that
// agrees with the claim before the claim counts as mixed up.
const (
	rivalFactor = 1.05
	rivalMargin = 0.2
)

// compare sets the claim's facts against the evidence.
func compare(claim *sentence, e evidence, names nameSet) comparison {
	c := comparison{evidence: e, coverage: e.coverage(claim, names)}
	c.quantities(claim)
	c.dates(claim)
	c.names(claim, names)
	c.parts(claim)
	if best := c.closest(claim); best != nil {
		c.negation(claim, best)
		if !c.sequence(claim, best) {
			c.opposites(claim, best)
		}
		c.order(claim, best, names)
	}
	return c
}

func keepAll(*token) bool { return false }

func (c *comparison) quantities(claim *sentence) {
	for _, q := range claim.quantities {
		agreed, rival := -1.0, -1.0
		var agreedWith, rivalWith quantity
		var home *sentence
		for _, s := range c.evidence.sentences {
			for _, f := range s.quantities {
				a := affinity(claim, q.at, s, f.at, keepAll)
				switch {
				case q.agrees(f):
					if a > agreed {
						agreed, agreedWith, home = a, f, s
					}
				case q.comparable(f) && a > rival:
					rival, rivalWith = a, f
				}
			}
		}
		switch {
		case agreed < 0 && c.evidence.states(q):
		case agreed < 0 && rival > 0 && !claims(claim, rivalWith):
			c.conflicts = append(c.conflicts, numberConflict(q, rivalWith))
		case agreed < 0:
			c.missing = append(c.missing, fmt.Sprintf("%s is not in the passage", q.text))
		case rival > agreed*rivalFactor+rivalMargin:
			c.conflicts = append(c.conflicts, elsewhere(rivalWith.text, agreedWith.text))
		case exchanged(claim, q.at, claim.places(q), home, agreedWith.at, home.places(agreedWith)):
			c.conflicts = append(c.conflicts, fmt.Sprintf("the passage gives %s for something else", agreedWith.text))
		case q.bound != 0 && agreedWith.bound == -q.bound:
			c.conflicts = append(c.conflicts, fmt.Sprintf("the claim makes %s a %s, the passage a %s", q.text, boundName(q.bound), boundName(agreedWith.bound)))
		}
	}
}

// claims tells whether the claim states the quantity, too.
func claims(claim *sentence, q quantity) bool {
	for _, o := range claim.quantities {
		if o.agrees(q) {
			return true
		}
	}
	return false
}

func numberConflict(q, f quantity) string {
	if q.plain().Cmp(f.plain()) == 0 {
		return fmt.Sprintf("the unit differs: the claim says %s, the passage %s", q.text, f.text)
	}
	return fmt.Sprintf("the claim says %s, the passage %s", q.text, f.text)
}

func elsewhere(here, there string) string {
	return fmt.Sprintf("the passage gives %s here, and %s for something else", here, there)
}

func boundName(b int) string {
	if b > 0 {
		return "lower bound"
	}
	return "upper bound"
}

func (c *comparison) dates(claim *sentence) {
	for _, d := range claim.dates {
		agreed, rival := -1.0, -1.0
		var agreedWith, rivalWith date
		var home *sentence
		for _, s := range c.evidence.sentences {
			for _, f := range s.dates {
				a := affinity(claim, d.at, s, f.at, keepAll)
				switch {
				case d.agrees(f):
					if a > agreed {
						agreed, agreedWith, home = a, f, s
					}
				case d.excludes(f) && a > rival:
					rival, rivalWith = a, f
				}
			}
		}
		switch {
		case agreed < 0 && c.evidence.dated(d):
		case agreed < 0 && rival > 0:
			c.conflicts = append(c.conflicts, fmt.Sprintf("the claim says %s, the passage %s", d.text, rivalWith.text))
		case agreed < 0:
			c.missing = append(c.missing, fmt.Sprintf("the date %s is not in the passage", d.text))
		case rival > agreed*rivalFactor+rivalMargin:
			c.conflicts = append(c.conflicts, elsewhere(rivalWith.text, agreedWith.text))
		case exchanged(claim, d.at, claim.dated(), home, agreedWith.at, home.dated()):
			c.conflicts = append(c.conflicts, fmt.Sprintf("the passage gives %s for something else", agreedWith.text))
		}
	}
}

// names looks for each name of the claim. One that is missing where the
// passage has another in its place is a conflict.
func (c *comparison) names(claim *sentence, names nameSet) {
	inClaim := map[string]bool{}
	for _, t := range claim.tokens {
		inClaim[t.stem], inClaim[t.lower] = true, true
	}
	isName := func(t *token) bool { return names.is(t) || names.subject(t) }
	for _, t := range claim.tokens {
		if !isName(t) || !t.content() {
			continue
		}
		own, rival := -1.0, 0.0
		var rivalName *token
		for _, s := range c.evidence.sentences {
			for _, u := range s.tokens {
				if u.fact {
					continue
				}
				a := affinity(claim, t.at, s, u.at, isName)
				switch {
				case same(t, u) > 0:
					own = max(own, a)
				case (names.is(u) || names.subject(u)) && !inClaim[u.stem] && !inClaim[u.lower] && a > rival && !joined(s, t, u):
					rival, rivalName = a, u
				}
			}
		}
		inHeading := own < 0 && c.evidence.match(t) > 0
		strong := names.is(t)
		switch {
		case own < 0 && !inHeading && rivalName != nil && rival >= 0.6 && (strong || c.evidence.rest(claim, t) >= 0.8):
			c.conflicts = append(c.conflicts, fmt.Sprintf("the claim names %s where the passage names %s", t.raw, rivalName.raw))
		case own < 0 && !inHeading && strong:
			c.missing = append(c.missing, fmt.Sprintf("%s is not in the passage", t.raw))
		case own >= 0 && rival > own*rivalFactor+rivalMargin && rivalName != nil:
			c.conflicts = append(c.conflicts, fmt.Sprintf("the passage names %s here, and %s for something else", rivalName.raw, t.raw))
		}
	}
}

// rest is the share of the claim's other words that the evidence has.
func (e evidence) rest(claim *sentence, without *token) float64 {
	have, all := 0.0, 0.0
	for _, t := range claim.tokens {
		if t != without && t.content() {
			have += e.match(t)
			all++
		}
	}
	if all == 0 {
		return 0
	}
	return have / all
}

// joined tells whether the sentence puts the claim's name beside the other
// one: "Alice and Bob", "Ada Lovelace".
func joined(s *sentence, name, other *token) bool {
	for _, u := range s.tokens {
		if same(u, name) == 0 {
			continue
		}
		low, high := min(u.at, other.at), max(u.at, other.at)
		if high-low == 1 {
			return true
		}
		only := true
		for _, between := range s.tokens[low+1 : high] {
			if !between.capital && between.lower != "and" && between.lower != "or" && between.lower != "," && between.lower != "of" && between.lower != "the" {
				only = false
			}
		}
		if only {
			return true
		}
	}
	return false
}

// closest is the sentence of the evidence that shares most with the claim.
func (c *comparison) closest(claim *sentence) *sentence {
	var best *sentence
	top := 0.0
	for _, s := range c.evidence.sentences {
		one := evidence{sentences: []*sentence{s}}
		if v := one.coverage(claim, nameSet{}); v > top {
			best, top = s, v
		}
	}
	return best
}

// negation compares whether claim and sentence deny what they share.
func (c *comparison) negation(claim, s *sentence) {
	denied, affirmed := "", false
	mine, theirs := false, false // which of the two denies what they disagree on
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
		if found == nil {
			continue
		}
		if !agree {
			denied = t.raw
			mine, theirs = mine || t.negated, theirs || !t.negated
		} else if t.negated {
			affirmed = true
		}
	}
	if s.excepts() != claim.excepts() {
		return // "unless it is listed" and "if it is not listed" agree
	}
	if s.ends() && !claim.ends() && claim.denies(s) || claim.ends() && !s.ends() && s.denies(claim) {
		return // "no trains since 1988" and "trains stopped in 1988" agree
	}
	if denied != "" && !affirmed && (mine && !theirs || claim.denies(s) != s.denies(claim)) {
		c.conflicts = append(c.conflicts, fmt.Sprintf("one denies what the other states (%q)", denied))
	}
}

// ends tells whether the sentence says that something stopped.
func (s *sentence) ends() bool {
	for _, t := range s.tokens {
		if t.stem == "end" {
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

// opposites looks for a word of the claim whose opposite stands in its place.
func (c *comparison) opposites(claim, s *sentence) {
	for _, t := range claim.tokens {
		if t.fact || english.exclude[t.stem] == 0 || c.evidence.match(t) >= 1 {
			continue
		}
		for _, u := range s.tokens {
			if !u.fact && opposed(t.stem, u.stem) && t.negated == u.negated {
				c.conflicts = append(c.conflicts, fmt.Sprintf("the claim says %q, the passage %q", t.lower, u.lower))
				break
			}
		}
	}
}

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
				c.conflicts = append(c.conflicts, fmt.Sprintf("%s and %s have changed places around %q", a.raw, b.raw, verb))
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
			if u.content() && same(t, u) >= 0.75 {
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

// quote shortens a sentence for a reason.
func quote(s string) string {
	r := []rune(strings.TrimSpace(s))
	if len(r) > 160 {
		return string(r[:157]) + "…"
	}
	return string(r)
}
