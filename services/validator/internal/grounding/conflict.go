package grounding

import (
	"fmt"
	"strings"
)

// comparison is what setting a claim against evidence gave.
type comparison struct {
	evidence evidence
	coverage float64
	// issues are what differs or is missing, in the order of the checks.
	issues []issue
	quoted bool
	// words is how many words and facts the claim has, fresh how many words of weight it has that the evidence lacks.
	words, fresh int
	// agree and disagree count the shared words that both state or both deny, and the others.
	agree, disagree int
	// turned says that a clause of the claim affirms what the evidence denies, or the other way round.
	turned bool
	// stated counts the claim's quantities that the evidence has in its sentences.
	stated int
	// rival is what another sentence has against the claim, or nil.
	rival *rival
}

// rival is an issue with another sentence, which has so much of the claim.
type rival struct {
	issue
	coverage float64
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
	ordered := c.inOrder(claim)
	c.quantities(claim, ordered)
	c.dates(claim, ordered)
	c.names(claim, names)
	c.parts(claim)
	c.weighWords(claim, names)
	if best := c.closest(claim); best != nil {
		c.against(claim, best, names)
		c.scope(claim, best)
	}
	return c
}

// against compares who does what, and whether it is denied or turned round, with one sentence.
func (c *comparison) against(claim, s *sentence, names nameSet) {
	c.negation(claim, s)
	c.polarity(claim, s)
	if !c.sequence(claim, s) {
		c.opposites(claim, s)
	}
	c.order(claim, s, names)
	c.actors(claim, s, names)
}

// contextCoverage is the share that makes another number one about the same matter.
const contextCoverage = 0.5

// rivalCoverage is the share of the claim that another sentence has to have to speak against it.
const rivalCoverage = 0.35

// rivals looks for other sentences of the passage that speak against the claim.
func (c *comparison) rivals(claim *sentence, s *source, names nameSet) {
	closest := c.closest(claim)
	for _, o := range s.sentences {
		if o == closest || !claim.touches(o) {
			continue
		}
		one := comparison{evidence: evidence{sentences: []*sentence{o}, sources: c.evidence.sources}}
		one.coverage = one.evidence.coverage(claim, names)
		if one.coverage < rivalCoverage {
			continue
		}
		one.against(claim, o, names)
		if one.coverage >= contextCoverage {
			one.quantities(claim, false)
		}
		for _, i := range one.issues {
			if !i.kind.excludes() || i.kind == numberMoved {
				continue
			}
			if c.rival == nil || one.coverage > c.rival.coverage {
				c.rival = &rival{i, one.coverage}
			}
		}
	}
}

func keepAll(*token) bool { return false }

// inOrder tells whether one sentence of the evidence has all of the claim's
// values, at least two, in the order of the claim: then each is where it belongs.
func (c *comparison) inOrder(claim *sentence) bool {
	if len(claim.quantities)+len(claim.dates) < 2 {
		return false
	}
	for _, s := range c.evidence.sentences {
		if s.follow(claim) {
			return true
		}
	}
	return false
}

func (s *sentence) follow(claim *sentence) bool {
	last := -1
	for _, t := range claim.tokens {
		for _, q := range claim.quantities {
			if q.at != t.at {
				continue
			}
			at := -1
			for _, f := range s.quantities {
				if f.at > last && q.agrees(f) {
					at = f.at
					break
				}
			}
			if at < 0 {
				return false
			}
			last = at
		}
		for _, d := range claim.dates {
			if d.at != t.at {
				continue
			}
			at := -1
			for _, f := range s.dates {
				if f.at > last && d.agrees(f) {
					at = f.at
					break
				}
			}
			if at < 0 {
				return false
			}
			last = at
		}
	}
	return true
}

func (c *comparison) quantities(claim *sentence, ordered bool) {
	for _, q := range claim.quantities {
		agreed, rival, open := -1.0, -1.0, -1.0
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
				case q.satisfied(f):
					open = max(open, a)
				case (q.comparable(f) || q.within(f)) && a > rival:
					rival, rivalWith = a, f
				}
			}
		}
		if agreed >= 0 {
			c.stated++
		}
		switch {
		case agreed < 0 && (c.evidence.states(q) || c.evidence.derived(claim, q)):
		case agreed < 0 && rival > 0 && q.within(rivalWith):
		case agreed < 0 && open > 0 && open >= rival:
		case agreed < 0 && rival > 0 && !claims(claim, rivalWith):
			c.found(numberDiffers, numberConflict(q, rivalWith))
		case agreed < 0:
			c.found(numberMissing, fmt.Sprintf("%s is not in the passage", q.text))
		case ordered || q.bound != 0 && q.bound == agreedWith.bound && rivalWith.bound != q.bound:
		case rival > agreed*rivalFactor+rivalMargin:
			c.found(numberMoved, elsewhere(rivalWith.text, agreedWith.text))
		case exchanged(claim, q.at, claim.places(q), home, agreedWith.at, home.places(agreedWith)):
			c.found(numberMoved, fmt.Sprintf("the passage gives %s for something else", agreedWith.text))
		case q.bound != 0 && agreedWith.bound == -q.bound:
			c.found(boundTurned, fmt.Sprintf("the claim makes %s a %s, the passage a %s", q.text, boundName(q.bound), boundName(agreedWith.bound)))
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

func (c *comparison) dates(claim *sentence, ordered bool) {
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
		case agreed < 0 && (c.evidence.dated(d) || c.evidence.later(d)):
		case agreed < 0 && rival > 0:
			c.found(dateDiffers, fmt.Sprintf("the claim says %s, the passage %s", d.text, rivalWith.text))
		case agreed < 0:
			c.found(dateMissing, fmt.Sprintf("the date %s is not in the passage", d.text))
		case ordered:
		case rival > agreed*rivalFactor+rivalMargin:
			c.found(dateMoved, elsewhere(rivalWith.text, agreedWith.text))
		case exchanged(claim, d.at, claim.dated(), home, agreedWith.at, home.dated()):
			c.found(dateMoved, fmt.Sprintf("the passage gives %s for something else", agreedWith.text))
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
			c.found(nameDiffers, fmt.Sprintf("the claim names %s where the passage names %s", t.raw, rivalName.raw))
		case own < 0 && !inHeading && strong:
			c.found(nameMissing, fmt.Sprintf("%s is not in the passage", t.raw))
		case own >= 0 && rival > own*1.4+rivalMargin && rivalName != nil:
			c.found(nameMoved, fmt.Sprintf("the passage names %s here, and %s for something else", rivalName.raw, t.raw))
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

// quote shortens a sentence for a reason.
func quote(s string) string {
	r := []rune(strings.TrimSpace(s))
	if len(r) > 160 {
		return string(r[:157]) + "…"
	}
	return string(r)
}
