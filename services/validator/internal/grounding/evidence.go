package grounding

import "math"

// evidence is a few neighbouring sentences of one passage, or the best ones of
// several passages that a claim cites together.
type evidence struct {
	sources   []*source
	sentences []*sentence
	headings  []*sentence
}

// window is how many neighbouring sentences may carry one claim.
const window = 3

// windows gives every run of up to three neighbouring sentences that begins and
// ends with one that shares a word with the claim.
func (s *source) windows(claim *sentence) []evidence {
	touched := make([]bool, len(s.sentences))
	for i, o := range s.sentences {
		touched[i] = claim.touches(o)
	}
	var out []evidence
	for size := 1; size <= window; size++ {
		for i := 0; i+size <= len(s.sentences); i++ {
			if !touched[i] || !touched[i+size-1] {
				continue
			}
			out = append(out, evidence{[]*source{s}, s.sentences[i : i+size], []*sentence{s.heading}})
		}
	}
	return out
}

// weight of a word in the comparison.
func weight(t *token, names nameSet) float64 {
	switch {
	case names.is(t):
		return nameWeight
	case names.subject(t):
		return 2
	case modals[t.lower]:
		return modalWeight
	case english.light[t.stem]:
		return lightWeight
	}
	return 1
}

// coverage is the share of the claim's words and facts that the evidence has, in [0,1].
func (e evidence) coverage(claim *sentence, names nameSet) float64 {
	var have, all float64
	for _, t := range claim.tokens {
		if !t.content() {
			continue
		}
		m := e.match(t)
		if m < contextFactor && e.context(t) {
			m = contextFactor
		}
		w := weight(t, names)
		if names.subject(t) && m > 0 {
			w = 1
		}
		have += w * m
		all += w
	}
	for _, q := range claim.quantities {
		all++
		if e.states(q) {
			have++
		}
	}
	for _, d := range claim.dates {
		all++
		if e.dated(d) {
			have++
		}
	}
	if all == 0 {
		return 0
	}
	return have / all
}

// headingFactor scales a word that only a heading or the document's name has:
// they name the subject, the sentences say what is so.
const headingFactor = 0.85

// match is how well the evidence has a word: 1 for the word itself.
func (e evidence) match(t *token) float64 {
	best := 0.0
	for _, s := range e.sentences {
		best = math.Max(best, s.match(t))
	}
	for _, s := range e.headings {
		best = math.Max(best, headingFactor*s.match(t))
	}
	return best
}

// contextFactor scales a word that only another sentence of the passage has, as
// the one that a pronoun points at.
const contextFactor = 0.5

func (e evidence) context(t *token) bool {
	for _, s := range e.sources {
		if s.stems[t.stem] {
			return true
		}
	}
	return false
}

func (s *sentence) match(t *token) float64 {
	best := 0.0
	for _, u := range s.tokens {
		if u.fact && !t.code {
			continue
		}
		if best = math.Max(best, same(t, u)); best == 1 {
			break
		}
	}
	return best
}

func (e evidence) states(q quantity) bool {
	for _, list := range [][]*sentence{e.sentences, e.headings} {
		for _, s := range list {
			for _, f := range s.quantities {
				if q.agrees(f) {
					return true
				}
			}
			for _, d := range s.dates {
				if q.dimension == "" && d.year > 0 && q.value.IsInt() && q.value.Num().Int64() == int64(d.year) {
					return true
				}
			}
		}
	}
	return false
}

func (e evidence) dated(d date) bool {
	for _, list := range [][]*sentence{e.sentences, e.headings} {
		for _, s := range list {
			for _, f := range s.dates {
				if d.agrees(f) {
					return true
				}
			}
			for _, q := range s.quantities {
				if d.year > 0 && d.month == 0 && q.dimension == "" && q.value.IsInt() && q.value.Num().Int64() == int64(d.year) {
					return true
				}
			}
		}
	}
	return false
}

// near is how much a word belongs to a place in its sentence, in (0,1].
func near(s *sentence, place int, t *token) float64 {
	d := math.Abs(float64(place - t.at))
	clauses := math.Abs(float64(s.tokens[place].clause - t.clause))
	return math.Pow(0.5, math.Min(clauses, 2)) / (1 + d/4)
}

// affinity is how much of what stands around a place in the claim also stands
// around a place in the evidence. skip leaves words out on the claim's side.
func affinity(claim *sentence, i int, other *sentence, j int, skip func(*token) bool) float64 {
	sum := 0.0
	for _, t := range claim.tokens {
		if t.at == i || !t.content() || skip(t) {
			continue
		}
		w := near(claim, i, t)
		best := 0.0
		for _, u := range other.tokens {
			if u.at == j || u.fact {
				continue
			}
			if m := same(t, u); m > 0 {
				v := m * near(other, j, u)
				if (t.at < i) != (u.at < j) {
					v *= 0.7
				}
				best = math.Max(best, v)
			}
		}
		sum += math.Min(w, best)
	}
	return sum
}
