package retrieval

import "math"

// The confidence of a passage is a logistic function of two signals, fitted by
// logistic regression to the five best passages of 94 questions over two
// collections, and rounded; the evaluation in the tests checks that it stays
// better than a constant guess.
//
//   - closeness: the share of the query's terms, weighed by rarity, that stand
//     in the passage's headings or together in one window of its text. A term
//     no document has is the rarest, so a question about something unknown is
//     answered with little confidence.
//   - cosine: of the two vectors.
const (
	weightBias      = -3.6
	weightCloseness = 4.6
	weightCosine    = 2.2
)

// window is how many terms of a passage are looked at together: about two
// sentences.
const window = 40

// leastConfidence is what a passage must have to be an answer at all: below
// it most are about something else that shares a word with the query.
const leastConfidence = 0.1

func confidence(terms []wanted, a *analysed, cosine float64) float64 {
	z := weightBias + weightCloseness*closeness(terms, a) + weightCosine*cosine
	return 1 / (1 + math.Exp(-z))
}

func closeness(terms []wanted, a *analysed) float64 {
	total, headings := 0.0, 0.0
	below := map[uint32]float64{} // what only the text can give
	for _, w := range terms {
		total += w.idf
		switch {
		case w.list == nil:
		case a.headings[w.list.id]:
			headings += w.idf
		default:
			below[w.list.id] = w.idf
		}
	}
	if total == 0 {
		return 0
	}
	return (headings + bestWindow(a.body, below)) / total
}

// bestWindow is the largest weight of distinct terms within one window.
func bestWindow(body []uint32, weight map[uint32]float64) float64 {
	if len(weight) == 0 {
		return 0
	}
	inside := map[uint32]int{}
	sum, best := 0.0, 0.0
	for i, id := range body {
		if w, ok := weight[id]; ok {
			if inside[id]++; inside[id] == 1 {
				sum += w
			}
			best = max(best, sum)
		}
		if i >= window-1 {
			if w, ok := weight[body[i-window+1]]; ok {
				if inside[body[i-window+1]]--; inside[body[i-window+1]] == 0 {
					sum -= w
				}
			}
		}
	}
	return best
}
