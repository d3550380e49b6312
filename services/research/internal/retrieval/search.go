package retrieval

import (
	"cmp"
	"slices"
	"strings"

	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/term"
)

const (
	// rrfK is the constant of reciprocal rank fusion (Cormack et al., 2009).
	rrfK = 60
	// vectorWeight is what a place in the ranking of vectors counts against
	// one in the ranking of words: the built-in vectors know no meaning.
	// Measured on two collections; 1 loses one of 96 first answers.
	vectorWeight = 0.5
	// candidates is how many passages each ranking contributes.
	candidates = 50
	// leastCosine is the cosine under which two texts are not alike but
	// share a few hashed features by chance.
	leastCosine = 0.08
)

// wanted is one distinct term of the query.
type wanted struct {
	list *postings // nil when no passage has the term
	idf  float64
}

// ranked is a passage with its score in a ranking.
type ranked struct {
	passage int32
	score   float64
}

func (ix *index) search(q Query, vector []float32) []Result {
	terms := ix.terms(q.Text)
	cosines := ix.cosines(vector)
	fits := ix.filter(q.Filters)
	words := top(ix.bm25(terms), 0, fits)
	vectors := top(cosines, leastCosine, fits)

	var results []Result
	for _, r := range fuse(words, vectors) {
		a := ix.passages[r.passage]
		confidence := confidence(terms, a, cosines[r.passage])
		if confidence < max(q.MinConfidence, leastConfidence) {
			continue
		}
		results = append(results, Result{
			Document: a.document.Name, Title: a.document.Title, Digest: a.document.Digest,
			HeadingPath: a.HeadingPath, Ordinal: a.Ordinal, Start: a.Start, End: a.End, Text: a.Text,
			Score: r.score, Confidence: confidence, Confidentiality: a.document.Metadata["confidentiality"],
		})
		if len(results) == q.Limit {
			break
		}
	}
	return results
}

// terms are the distinct content terms of the query.
func (ix *index) terms(text string) []wanted {
	var out []wanted
	seen := map[string]bool{}
	for _, t := range term.Content(term.Of(text)) {
		if seen[t] {
			continue
		}
		seen[t] = true
		list := ix.postings[t]
		n := 0
		if list != nil {
			n = len(list.hits)
		}
		out = append(out, wanted{list: list, idf: ix.idf(n)})
	}
	return out
}

func (ix *index) bm25(terms []wanted) []float64 {
	scores := make([]float64, len(ix.passages))
	for _, w := range terms {
		if w.list == nil {
			continue
		}
		for _, h := range w.list.hits {
			weight := float64(h.weight)
			length := float64(len(ix.passages[h.passage].body)) / ix.length
			scores[h.passage] += w.idf * weight * (bm25K1 + 1) / (weight + bm25K1*(1-bm25B+bm25B*length))
		}
	}
	return scores
}

// cosines compares the query with every passage; a vector of another
// embedder is not comparable and counts as 0.
func (ix *index) cosines(vector []float32) []float64 {
	scores := make([]float64, len(ix.passages))
	for i, a := range ix.passages {
		if a.document.Embedding == ix.embedding {
			scores[i] = embed.Cosine(vector, a.Vector)
		}
	}
	return scores
}

// filter marks the passages whose document matches; nil means all.
func (ix *index) filter(filters map[string][]string) []bool {
	if len(filters) == 0 {
		return nil
	}
	fits := make([]bool, len(ix.passages))
	for i, a := range ix.passages {
		fits[i] = matches(a.document.Metadata, filters)
	}
	return fits
}

func matches(metadata, filters map[string][]string) bool {
	for key, values := range filters {
		ok := slices.ContainsFunc(metadata[strings.ToLower(key)], func(has string) bool {
			return slices.ContainsFunc(values, func(want string) bool { return strings.EqualFold(has, want) })
		})
		if !ok {
			return false
		}
	}
	return true
}

// top ranks the passages that fit and score above least.
func top(scores []float64, least float64, fits []bool) []ranked {
	var out []ranked
	for i, s := range scores {
		if s > least && (fits == nil || fits[i]) {
			out = append(out, ranked{int32(i), s})
		}
	}
	slices.SortFunc(out, better)
	return out[:min(len(out), candidates)]
}

// fuse joins the rankings by the weighted sum of reciprocal ranks.
func fuse(words, vectors []ranked) []ranked {
	scores := map[int32]float64{}
	for place, r := range words {
		scores[r.passage] += 1 / float64(rrfK+place+1)
	}
	for place, r := range vectors {
		scores[r.passage] += vectorWeight / float64(rrfK+place+1)
	}
	out := make([]ranked, 0, len(scores))
	for passage, score := range scores {
		out = append(out, ranked{passage, score})
	}
	slices.SortFunc(out, better)
	return out
}

// better orders by score; equal ones keep the order of the collection.
func better(a, b ranked) int {
	if n := cmp.Compare(b.score, a.score); n != 0 {
		return n
	}
	return cmp.Compare(a.passage, b.passage)
}
