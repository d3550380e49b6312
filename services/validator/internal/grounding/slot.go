package grounding

import "math"

// places are the tokens of the quantities that a sentence states of one kind.
func (s *sentence) places(q quantity) []int {
	var out []int
	for _, f := range s.quantities {
		if f.at == q.at || q.comparable(f) {
			out = append(out, f.at)
		}
	}
	return out
}

// dated are the tokens of the dates of a sentence.
func (s *sentence) dated() []int {
	out := make([]int, 0, len(s.dates))
	for _, d := range s.dates {
		out = append(out, d.at)
	}
	return out
}

// owner is the place among several that a word stands closest to.
func (s *sentence) owner(t *token, places []int) int {
	best, top := -1, math.Inf(-1)
	for _, p := range places {
		if v := near(s, p, t); v > top {
			best, top = p, v
		}
	}
	return best
}

// exchanged tells whether a sentence that gives several values of one kind
// gives this one for something else. In "68% of the treated and 31% of the
// placebo group", 68% of the placebo group mixes two slots: a word of the claim
// belongs to the other value, and the value's own word is not in the claim.
func exchanged(claim *sentence, i int, claimed []int, s *sentence, agreed int, places []int) bool {
	if len(places) < 2 {
		return false
	}
	foreign := false
	for _, u := range s.tokens {
		if u.content() && s.owner(u, places) == agreed && (evidence{sentences: []*sentence{claim}}).match(u) == 0 {
			foreign = true
		}
	}
	if !foreign {
		return false
	}
	crossed := false
	for _, t := range claim.tokens {
		if !t.content() || claim.owner(t, claimed) != i {
			continue
		}
		mine, others := false, false
		for _, u := range s.tokens {
			if !u.content() || same(t, u) < 0.75 {
				continue
			}
			if s.owner(u, places) == agreed || leads(u, agreed, places) {
				mine = true
			} else {
				others = true
			}
		}
		switch {
		case others && !mine:
			crossed = true
		case mine && !others && s.own(t, agreed, places):
			return false // a word of its own slot is in the claim, too
		}
	}
	return crossed
}

// own tells whether a word of the claim stands in the value's own slot, and not
// merely at the head of the sentence, where it may be the subject of every
// value, directly behind the value, or behind "per": those are told once for all.
func (s *sentence) own(t *token, agreed int, places []int) bool {
	first := agreed
	for _, p := range places {
		first = min(first, p)
	}
	for _, u := range s.tokens {
		if u.content() && same(t, u) >= 0.75 && s.owner(u, places) == agreed && u.at > first && u.at != agreed+1 && s.word(u.at-1) != "per" && s.word(u.at-2) != "per" {
			return true
		}
	}
	return false
}

// leads tells whether a word stands before every value, as the subject of all of
// them, and the agreeing value is not the first: then it may belong to any.
func leads(u *token, agreed int, places []int) bool {
	first := agreed
	for _, p := range places {
		first = min(first, p)
	}
	return u.at < first && agreed != first && u.clause == 0
}
