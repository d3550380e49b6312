package retrieval

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"sabha.dev/services/research/internal/embed"
)

// BM25 (Robertson and Zaragoza, 2009) with the usual constants.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

const (
	// rrfK is the constant of reciprocal rank fusion (Cormack et al., 2009). Their
	// 60 lets a passage that is far down both rankings pass one that is first
	// in one of them.
	rrfK = 20
	// vectorWeight is what a place by vectors counts against one by meanings.
	vectorWeight = 0.3
	// candidates is how many passages each ranking contributes.
	candidates = 50
	// leastCosine is the cosine under which two texts are not alike but
	// share a few hashed features by chance.
	leastCosine = 0.08
	// whole is the largest index whose vectors are all compared exactly; of a
	// larger one their signs select looked passages for the exact cosine.
	whole  = 2000
	looked = 800
)

// Ranking names one of the orders of passages.
type Ranking int

// The rankings: of the query's own words (BM25 alone, to compare with), of
// those and what says the same, and of the vectors. The last two are fused.
const (
	ByWords Ranking = iota
	ByMeanings
	ByVectors
)

// ranked is a passage with its score in a ranking.
type ranked struct {
	passage uint32
	score   float64
}

// scratch is the memory of one search, used again by later ones.
type scratch struct {
	total, best, sum []float32
	touched, inSum   []uint32
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

func (s *scratch) fit(n int) {
	if cap(s.total) < n {
		s.total, s.best, s.sum = make([]float32, n, n+n/4), make([]float32, n, n+n/4), make([]float32, n, n+n/4)
	}
	s.total, s.best, s.sum = s.total[:n], s.best[:n], s.sum[:n]
	clear(s.total)
}

// hits visits the passages of a list with their BM25 parts.
func (ix *index) hits(list *postings, idf float64, visit func(uint32, float32)) {
	average := max(float32(ix.length)/float32(max(ix.live, 1)), 1)
	top := float32(idf * (bm25K1 + 1))
	for i, at := range list.passages {
		w := float32(list.weights[i] & mostOften)
		if list.weights[i]&inHeading != 0 {
			w += headingBoost
		}
		visit(at, top*w/(w+bm25K1*(1-bm25B+bm25B*float32(ix.passages[at].length)/average)))
	}
}

// byWords is BM25 over the query's own words.
func (ix *index) byWords(slots []slot, fits []bool) []ranked {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.fit(len(ix.passages))
	for _, slot := range slots {
		if slot.own != nil {
			ix.hits(slot.own, slot.idf, func(at uint32, score float32) { s.total[at] += score })
		}
	}
	return ix.top(s.total, fits)
}

// byMeanings is BM25 where a passage may say each word of the query in any of
// its ways; the best one counts, as much as it is close.
func (ix *index) byMeanings(slots []slot, fits []bool) []ranked {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.fit(len(ix.passages))
	for _, slot := range slots {
		best := func(at uint32, score float32) {
			if s.best[at] == 0 {
				s.touched = append(s.touched, at)
			}
			s.best[at] = max(s.best[at], score)
		}
		if slot.own != nil {
			ix.hits(slot.own, slot.idf, best)
		}
		for _, w := range slot.ways {
			share := w.closeness / float64(len(w.lists))
			if len(w.lists) == 1 {
				ix.hits(w.lists[0], share*ix.wayIDF(slot, w.lists[0]), best)
				continue
			}
			for _, list := range w.lists {
				ix.hits(list, share*ix.wayIDF(slot, list), func(at uint32, score float32) {
					if s.sum[at] == 0 {
						s.inSum = append(s.inSum, at)
					}
					s.sum[at] += score
				})
			}
			for _, at := range s.inSum {
				best(at, s.sum[at])
				s.sum[at] = 0
			}
			s.inSum = s.inSum[:0]
		}
		for _, at := range s.touched {
			s.total[at] += s.best[at]
			s.best[at] = 0
		}
		s.touched = s.touched[:0]
	}
	return ix.top(s.total, fits)
}

// wayIDF is the rarity of a way's word. It is no rarer than the word of the
// query that it stands for, if that is known.
func (ix *index) wayIDF(s slot, list *postings) float64 {
	idf := ix.idf(list)
	if s.own != nil {
		return min(idf, s.idf)
	}
	return idf
}

// byVectors ranks by cosine.
func (ix *index) byVectors(q embed.Quantised, fits []bool) []ranked {
	if q.Scale == 0 {
		return nil
	}
	best := newBest(candidates, ix.better)
	exact := func(at uint32) {
		if c := ix.vectors.cosine(at, q); c > leastCosine {
			best.add(ranked{at, c})
		}
	}
	if len(ix.passages) <= whole {
		for at := range ix.passages {
			if ix.found(uint32(at), fits) {
				exact(uint32(at))
			}
		}
		return best.sorted()
	}
	planes := ix.vectors.planes(q)
	near := newBest(looked, ix.better)
	for at := range ix.passages {
		if n := ix.vectors.nearness(at, &planes); near.takes(float64(n)) && ix.found(uint32(at), fits) {
			near.add(ranked{uint32(at), float64(n)})
		}
	}
	for _, r := range near.items {
		exact(r.passage)
	}
	return best.sorted()
}

// found tells whether a passage is there and of a document that fits.
func (ix *index) found(at uint32, fits []bool) bool {
	d := ix.passages[at].document
	return ix.documents[d] != nil && (fits == nil || fits[d])
}

// filter marks the documents that match; nil means all.
func (ix *index) filter(q Query) []bool {
	if len(q.Filters) == 0 && q.Since.IsZero() && q.Until.IsZero() {
		return nil
	}
	fits := make([]bool, len(ix.documents))
	for i, d := range ix.documents {
		fits[i] = d != nil && matches(d.Metadata, q.Filters) && within(d.Metadata, q.Since, q.Until)
	}
	return fits
}

// within tells whether a document is of a time.
func within(metadata map[string][]string, since, until time.Time) bool {
	if since.IsZero() && until.IsZero() {
		return true
	}
	for _, key := range []string{"updated", "date"} {
		for _, value := range metadata[key] {
			if day, err := ParseDay(value); err == nil {
				return !day.Before(since) && (until.IsZero() || day.Before(until))
			}
		}
	}
	return false
}

// ParseDay reads a day (2026-01-31, the beginning of it in UTC) or a time (RFC 3339).
func ParseDay(s string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day, nil
	}
	return time.Parse(time.RFC3339, s)
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

// top ranks the passages that fit and have a score.
func (ix *index) top(scores []float32, fits []bool) []ranked {
	best := newBest(candidates, ix.better)
	for at, score := range scores {
		if score > 0 && best.takes(float64(score)) && ix.found(uint32(at), fits) {
			best.add(ranked{uint32(at), float64(score)})
		}
	}
	return best.sorted()
}

// fuse joins the rankings by the weighted sum of reciprocal ranks.
func (ix *index) fuse(meanings, vectors []ranked) []ranked {
	scores := map[uint32]float64{}
	for place, r := range meanings {
		scores[r.passage] += 1 / float64(rrfK+place+1)
	}
	for place, r := range vectors {
		scores[r.passage] += vectorWeight / float64(rrfK+place+1)
	}
	out := make([]ranked, 0, len(scores))
	for passage, score := range scores {
		out = append(out, ranked{passage, score})
	}
	slices.SortFunc(out, ix.better)
	return out
}

// better orders by score; equal ones by document and place, so that an index
// that grew change by change ranks like one that was read at once.
func (ix *index) better(a, b ranked) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	p, q := ix.passages[a.passage], ix.passages[b.passage]
	if p.document != q.document {
		return strings.Compare(ix.documents[p.document].Name, ix.documents[q.document].Name)
	}
	return cmp.Compare(p.ordinal, q.ordinal)
}
