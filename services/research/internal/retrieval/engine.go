package retrieval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/research/internal/embed"
)

// Engine searches one collection. It is safe for concurrent use.
type Engine struct {
	source     Source
	embedder   embed.Embedder
	collection string

	refresh    sync.Mutex // held by whoever brings the index up to date
	generation atomic.Int64
	mu         sync.RWMutex
	index      *index // guarded by mu

	texts cache
}

// New makes an engine; the first search loads the collection.
func New(source Source, embedder embed.Embedder, collection string) *Engine {
	return &Engine{
		source: source, embedder: embedder, collection: collection,
		index: newIndex(embedder.Name(), embedder.Dimensions()),
	}
}

// Embedding is the name of the embedder in use.
func (e *Engine) Embedding() string { return e.embedder.Name() }

// Search gives the passages for a query, best first; none is an answer too. One that
// says word for word what a better one says, under the same headings, is left out: it is
// of a copy of the document.
// A query out of bounds gives a fault on the field: query, limit,
// min_confidence or until.
func (e *Engine) Search(ctx context.Context, q Query) ([]Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	judged, err := e.look(ctx, q, max(reranked, q.Limit), func(ix *index, slots []slot, vector embed.Quantised, fits []bool) []ranked {
		return ix.fuse(ix.byMeanings(slots, fits), ix.byVectors(vector, fits))
	})
	if err != nil {
		return nil, err
	}
	fit := fitOther
	if e.embedder.Name() == embed.BuiltinName {
		fit = fitBuiltin
	}
	var results []Result
	said := map[string]bool{}
	for _, r := range fit.rerank(judged) {
		if said[r.says] || r.closeness < leastCloseness || r.Confidence < max(q.MinConfidence, leastConfidence) {
			continue
		}
		said[r.says] = true
		if results = append(results, r.Result); len(results) == q.Limit {
			break
		}
	}
	return results, nil
}

// Rank gives the passages for a query by one ranking alone, whatever their
// confidence: to compare the rankings.
func (e *Engine) Rank(ctx context.Context, q Query, by Ranking) ([]Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	judged, err := e.look(ctx, q, q.Limit, func(ix *index, slots []slot, vector embed.Quantised, fits []bool) []ranked {
		switch by {
		case ByWords:
			return ix.byWords(slots, fits)
		case ByMeanings:
			return ix.byMeanings(slots, fits)
		}
		return ix.byVectors(vector, fits)
	})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(judged))
	for i, j := range judged {
		results[i] = j.Result
	}
	return results, nil
}

// looks is how often a search begins again because documents changed under it.
const looks = 3

// look finds passages and reads them, at most so many. A document that changes in
// between, or gets other vectors, has other passages: the search begins again.
func (e *Engine) look(ctx context.Context, q Query, most int, rank func(*index, []slot, embed.Quantised, []bool) []ranked) ([]judged, error) {
	for n := 1; ; n++ {
		found, err := e.find(ctx, q, rank)
		if err != nil {
			return nil, err
		}
		judged, err := e.judge(ctx, found, most)
		if err != nil || n == looks || len(judged) == min(len(found.candidates), most) {
			return judged, err
		}
	}
}

// candidate is a passage that a search has found, still without its text.
type candidate struct {
	document *entry
	ordinal  int
	score    float64
	cosine   float64
}

// finds is what a search has found, best first.
type finds struct {
	slots      []slot
	candidates []candidate
}

// find ranks the passages of the collection as it is now.
func (e *Engine) find(ctx context.Context, q Query, rank func(*index, []slot, embed.Quantised, []bool) []ranked) (finds, error) {
	if err := e.fresh(ctx); err != nil {
		return finds{}, err
	}
	var vector []float32
	weighing, weighs := e.embedder.(embed.Weighing)
	if !weighs {
		vectors, err := e.embedder.Embed(ctx, q.Labels, []string{q.Text})
		switch {
		case errors.Is(err, embed.ErrAway):
			// Words find most of it; an answer by them is better than none.
		case err != nil:
			return finds{}, fmt.Errorf("embed the query: %w", err)
		default:
			vector = vectors[0]
		}
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	ix := e.index
	out := finds{slots: ix.slots(q.Text)}
	if weighs {
		vector = weighing.EmbedTerms(ix.weighted(out.slots))
	}
	quantised := embed.Quantise(vector)
	for _, r := range rank(ix, out.slots, quantised, ix.filter(q)) {
		p := ix.passages[r.passage]
		out.candidates = append(out.candidates, candidate{
			document: ix.documents[p.document], ordinal: int(p.ordinal), score: r.score, cosine: ix.vectors.cosine(r.passage, quantised),
		})
	}
	return out, nil
}

func (q Query) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return fault.Invalid("query", "is empty; say what to look for")
	case len(q.Text) > MaxQuery:
		return fault.Invalid("query", "has %d bytes; at most %d are taken", len(q.Text), MaxQuery)
	case q.Limit < 1 || q.Limit > MaxLimit:
		return fault.Invalid("limit", "is %d; it must be from 1 to %d", q.Limit, MaxLimit)
	case !(q.MinConfidence >= 0 && q.MinConfidence <= 1):
		return fault.Invalid("min_confidence", "is %v; it must be from 0 to 1", q.MinConfidence)
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return fault.Invalid("until", "is not after since, so no document can be of that time")
	}
	return nil
}

// fresh brings the index up to what the collection is now. Whoever finds it
// behind takes up the changes while the others wait, so a search sees
// everything that was ingested before it began.
func (e *Engine) fresh(ctx context.Context) error {
	now, err := e.source.Generation(ctx, e.collection)
	if err != nil {
		return fmt.Errorf("collection %q: %w", e.collection, err)
	}
	if e.generation.Load() >= now {
		return nil
	}
	e.refresh.Lock()
	defer e.refresh.Unlock()
	if e.generation.Load() >= now {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now, err = e.source.Changes(ctx, e.collection, e.generation.Load(), e.index)
	if err != nil {
		// Half of the changes may be in the index; taken up again they replace
		// themselves.
		return fmt.Errorf("load collection %q: %w", e.collection, err)
	}
	e.index.settle()
	e.generation.Store(now)
	return nil
}
