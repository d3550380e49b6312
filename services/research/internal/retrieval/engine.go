package retrieval

import (
	"context"
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

	current atomic.Pointer[index]
	refresh sync.Mutex
	loaded  map[string]*entry // guarded by refresh
	words   *lexicon          // guarded by refresh
}

// New makes an engine; the first search loads the collection.
func New(source Source, embedder embed.Embedder, collection string) *Engine {
	return &Engine{
		source: source, embedder: embedder, collection: collection,
		loaded: map[string]*entry{}, words: newLexicon(),
	}
}

// Embedding is the name of the embedder in use.
func (e *Engine) Embedding() string { return e.embedder.Name() }

// Search gives the passages for a query, best first; none is an answer too.
// A query out of bounds gives a fault on the field: query, limit or
// min_confidence.
func (e *Engine) Search(ctx context.Context, q Query) ([]Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	ix, err := e.fresh(ctx)
	if err != nil {
		return nil, err
	}
	vectors, err := e.embedder.Embed(ctx, []string{q.Text})
	if err != nil {
		return nil, fmt.Errorf("embed the query: %w", err)
	}
	return ix.search(q, vectors[0]), nil
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
	}
	return nil
}

// fresh gives an index of the collection as it is now. Whoever finds it out
// of date rebuilds it while the others wait, so a search sees everything that
// was ingested before it began.
func (e *Engine) fresh(ctx context.Context) (*index, error) {
	generation, err := e.source.Generation(ctx, e.collection)
	if err != nil {
		return nil, fmt.Errorf("collection %q: %w", e.collection, err)
	}
	if ix := e.current.Load(); ix != nil && ix.generation >= generation {
		return ix, nil
	}
	e.refresh.Lock()
	defer e.refresh.Unlock()
	if ix := e.current.Load(); ix != nil && ix.generation >= generation {
		return ix, nil
	}
	known := make(map[string]int64, len(e.loaded))
	for name, entry := range e.loaded {
		known[name] = entry.document.Version
	}
	generation, documents, err := e.source.Load(ctx, e.collection, known)
	if err != nil {
		return nil, fmt.Errorf("load collection %q: %w", e.collection, err)
	}
	loaded := make(map[string]*entry, len(documents))
	ordered := make([]*entry, len(documents))
	for i, d := range documents {
		entry := e.loaded[d.Name]
		if entry == nil || entry.document.Version != d.Version {
			entry = e.words.analyse(d)
		}
		loaded[d.Name], ordered[i] = entry, entry
	}
	ix := newIndex(generation, e.embedder.Name(), ordered, e.words)
	e.loaded = loaded
	e.current.Store(ix)
	return ix, nil
}
