package evaluation

import (
	"context"
	"fmt"
	"math"

	"sabha.dev/services/research/internal/retrieval"
)

// Depths of the figures.
const (
	recallDepth = 5
	rankDepth   = 10
)

// Figures are what a ranking is worth, each the mean over questions, 0–1.
type Figures struct {
	// Recall is the share of questions that one of the first five passages
	// answers.
	Recall float64
	// NDCG is the normalised discounted cumulative gain of the first ten
	// passages: a passage that answers gains 1, discounted by the logarithm
	// of its place, against all passages that answer standing first.
	NDCG float64
	// MRR is the mean of one over the place of the first passage of ten that
	// answers.
	MRR float64
}

// String is the figures on one line.
func (f Figures) String() string {
	return fmt.Sprintf("recall@%d %.3f  nDCG@%d %.3f  MRR %.3f", recallDepth, f.Recall, rankDepth, f.NDCG, f.MRR)
}

// Answering counts the passages of a collection that answer a question.
type Answering func(Question) int

// Collection reads a collection whole, to count what answers a question.
func Collection(ctx context.Context, source retrieval.Source, name string) (Answering, error) {
	var all everything
	if _, err := source.Changes(ctx, name, 0, &all); err != nil {
		return nil, err
	}
	return func(q Question) int {
		n := 0
		for _, d := range all {
			for _, p := range d.Passages {
				if q.Answers(retrieval.Result{Document: d.Name, HeadingPath: p.HeadingPath, Text: p.Text}) {
					n++
				}
			}
		}
		return n
	}, nil
}

// everything is a receiver of documents that keeps them.
type everything []retrieval.Document

func (e *everything) Put(d retrieval.Document) { *e = append(*e, d) }
func (e *everything) Count() int               { return len(*e) }
func (e *everything) Retain(_ map[string]bool) {}

// Rank gives the passages for a query, best first.
type Rank func(ctx context.Context, q retrieval.Query) ([]retrieval.Result, error)

// Mean gathers figures over the questions of several collections.
type Mean struct {
	Questions int
	sum       Figures
}

// Figures are the means over all questions so far.
func (m *Mean) Figures() Figures {
	n := float64(max(m.Questions, 1))
	return Figures{Recall: m.sum.Recall / n, NDCG: m.sum.NDCG / n, MRR: m.sum.MRR / n}
}

// Measure asks every question that has an answer. One that no passage of the
// collection answers is an error.
func (m *Mean) Measure(ctx context.Context, rank Rank, questions []Question, answering Answering) error {
	for _, q := range questions {
		if len(q.In) == 0 {
			continue
		}
		ideal := 0.0
		for place := range min(answering(q), rankDepth) {
			ideal += discount(place)
		}
		if ideal == 0 {
			return fmt.Errorf("%q: no passage is from a section that answers it", q.Query)
		}
		results, err := rank(ctx, retrieval.Query{Text: q.Query, Limit: rankDepth})
		if err != nil {
			return fmt.Errorf("%q: %w", q.Query, err)
		}
		m.Questions++
		gain, first := 0.0, 0
		for i, r := range results {
			if q.Answers(r) {
				gain += discount(i)
				if first == 0 {
					first = i + 1
				}
			}
		}
		m.sum.NDCG += gain / ideal
		if first > 0 {
			m.sum.MRR += 1 / float64(first)
		}
		if first > 0 && first <= recallDepth {
			m.sum.Recall++
		}
	}
	return nil
}

func discount(place int) float64 { return 1 / math.Log2(float64(place)+2) }
