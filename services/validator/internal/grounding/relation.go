package grounding

import (
	"fmt"
	"strings"
)

// orders are words that put what stands before them in relation to what stands
// behind them; a word and its converse say the same of exchanged sides.
var orders = map[string]string{"before": "after", "after": "before", "precedes": "follows", "follows": "precedes", "than": ""}

// sequence compares "A before B" with what the sentence says. It reports whether
// both have such a relation of the same two sides, so that it was judged here.
func (c *comparison) sequence(claim, s *sentence) bool {
	for _, r := range claim.tokens {
		q := s.relation(claim, r)
		if q == nil {
			continue
		}
		straight := sides(claim, r, s, q, false)
		crossed := sides(claim, r, s, q, true)
		if straight == crossed {
			continue
		}
		if crossed == (q.lower == r.lower) {
			c.found(orderTurned, fmt.Sprintf("the order around %q is the other way round", r.lower))
		}
		return true
	}
	return false
}

// relation finds the sentence's word that stands for the same relation as r, or
// for its converse, with the most alike surroundings.
func (s *sentence) relation(claim *sentence, r *token) *token {
	converse, ok := orders[r.lower]
	if !ok {
		return nil
	}
	var best *token
	top := 0.0
	for _, q := range s.tokens {
		if q.lower != r.lower && (converse == "" || q.lower != converse) {
			continue
		}
		if v := affinity(claim, r.at, s, q.at, keepAll); v > top {
			best, top = q, v
		}
	}
	return best
}

// sides tells whether what stands before and behind the relation in the claim
// stands there in the sentence as well, or crosswise. A word counts for a side
// only if the sentence has it on that side alone.
func sides(claim *sentence, r *token, s *sentence, q *token, crosswise bool) bool {
	before, behind := 0, 0
	for _, t := range claim.tokens {
		if !t.content() || t == r {
			continue
		}
		left, right := false, false
		for _, u := range s.tokens {
			if u.content() && same(t, u) >= 0.75 {
				left = left || u.at < q.at
				right = right || u.at > q.at
			}
		}
		if left == right {
			continue
		}
		switch {
		case t.at < r.at && left != crosswise:
			before++
		case t.at > r.at && right != crosswise:
			behind++
		}
	}
	return before > 0 && behind > 0
}

// partCoverage is the least share of a part of the claim that the evidence has to have.
const partCoverage = 0.35

// parts looks for a clause of the claim that the evidence has next to nothing
// of: a reason or a detail added to something that is true.
func (c *comparison) parts(claim *sentence) {
	for from := 0; from < len(claim.tokens); {
		to := from
		have, words, all := 0.0, 0, 0.0
		for to < len(claim.tokens) && claim.tokens[to].clause == claim.tokens[from].clause {
			if t := claim.tokens[to]; t.content() {
				have += c.evidence.match(t)
				all++
				words++
			}
			to++
		}
		for _, q := range claim.quantities {
			if q.at >= from && q.at < to {
				all++
				if c.evidence.states(q) {
					have++
				}
			}
		}
		if from > 0 && words >= 2 && have/all < partCoverage && words < claim.size() {
			text := claim.text[claim.tokens[from].start:claim.tokens[to-1].end]
			c.found(partMissing, fmt.Sprintf("%q is not in the passage", strings.TrimLeft(text, ",;:() ")))
		}
		from = to
	}
}
