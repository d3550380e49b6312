package retrieval

import "math"

// The confidence of a passage is how likely it answers the query: a logistic
// function of three signals, fitted by logistic regression to the five best
// passages of the questions that are open for tuning (cmd/eval), and rounded.
// The other half of the questions checks it.
//
//   - closeness: the share of the query's words, weighed by rarity, that the
//     passage says, in one of their ways, in its headings or together in one
//     window of its text. A word no document has is the rarest, so a question
//     about something unknown is answered with little confidence.
//   - cosine: of the two vectors, where they are the built-in ones, on which
//     it was fitted.
//   - place: one over the place in the ranking. Of two passages that say as
//     much, the better one is right more often.
type fit struct{ bias, closeness, cosine, place float64 }

var (
	fitBuiltin = fit{bias: -6.4, closeness: 3.1, cosine: 9.2, place: 3.2}
	// Cosines of other embedders mean other things; they take part in the
	// ranking only.
	fitOther = fit{bias: -6.0, closeness: 4.1, place: 3.7}
)

// window is how many terms of a passage are looked at together: about two
// sentences.
const window = 40

// leastCloseness and leastConfidence are what a passage must have to be an
// answer at all: below them it is about something else that shares a word.
const (
	leastCloseness  = 0.15
	leastConfidence = 0.01
)

// confidence of a passage; place counts from 1.
func (f fit) confidence(closeness, cosine float64, place int) float64 {
	z := f.bias + f.closeness*closeness + f.cosine*cosine + f.place/float64(place)
	return 1 / (1 + math.Exp(-z))
}

// said is that a place of the text says a word of the query.
type said struct {
	at, slot int
	credit   float64
}

func closeness(slots []slot, a *analysed) float64 {
	total := 0.0
	ways := map[string][]said{}
	for i, s := range slots {
		total += s.idf
		ways[s.term] = append(ways[s.term], said{slot: i, credit: 1})
		for _, w := range s.ways {
			for _, t := range w.terms {
				ways[t] = append(ways[t], said{slot: i, credit: w.closeness / float64(len(w.terms))})
			}
		}
	}
	if total == 0 {
		return 0
	}
	above := make([]float64, len(slots))
	for _, t := range a.headings {
		for _, w := range ways[t] {
			above[w.slot] = max(above[w.slot], w.credit)
		}
	}
	var places []said
	for at, t := range a.body {
		for _, w := range ways[t] {
			places = append(places, said{at: at, slot: w.slot, credit: w.credit})
		}
	}
	best := sum(slots, above)
	inside := make([]float64, len(slots))
	for i, from := range places {
		copy(inside, above)
		for _, p := range places[i:] {
			if p.at >= from.at+window {
				break
			}
			inside[p.slot] = max(inside[p.slot], p.credit)
		}
		best = max(best, sum(slots, inside))
	}
	return best / total
}

func sum(slots []slot, credits []float64) float64 {
	n := 0.0
	for i, c := range credits {
		n += slots[i].idf * c
	}
	return n
}
