package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/term"
)

// reranked is how many of the passages found are read and put in their last
// order.
const reranked = 40

// judged is a passage that was found and read.
type judged struct {
	Result
	closeness, cosine float64
	says              string // its terms and those above it: what it says, however it is set
}

// judge reads the texts of the best that was found, at most so many.
func (e *Engine) judge(ctx context.Context, found finds, most int) ([]judged, error) {
	batch := found.candidates[:min(len(found.candidates), most)]
	texts, err := e.read(ctx, batch)
	if err != nil {
		return nil, err
	}
	out := make([]judged, 0, len(batch))
	for i, c := range batch {
		a := texts[i]
		if a == nil {
			continue // changed since it was found
		}
		d := c.document
		out = append(out, judged{closeness: closeness(found.slots, a), cosine: c.cosine, says: strings.Join(append(slices.Clone(a.headings), a.body...), " "), Result: Result{
			Document: d.Name, Title: d.Title, Digest: d.Digest,
			HeadingPath: a.HeadingPath, Ordinal: a.Ordinal, Start: a.Start, End: a.End, Text: a.Text,
			Score: c.score, Confidentiality: d.Metadata["confidentiality"],
		}})
	}
	return out, nil
}

// closenessWeight is what a place by closeness counts against one by meanings.
const closenessWeight = 0.5

// rerank adds to the fused score of each passage the place that it has by how
// much of the query it says close together, and gives each its confidence.
func (f fit) rerank(all []judged) []judged {
	places := slices.Clone(all)
	slices.SortStableFunc(places, func(a, b judged) int { return cmp.Compare(b.closeness, a.closeness) })
	for i := range places {
		places[i].Score += closenessWeight / float64(rrfK+i+1)
	}
	slices.SortStableFunc(places, func(a, b judged) int { return cmp.Compare(b.Score, a.Score) })
	for i := range places {
		places[i].Confidence = f.confidence(places[i].closeness, places[i].cosine, i+1)
	}
	return places
}

// analysed is a passage with the terms of its text and of what stands above it.
type analysed struct {
	chunk.Chunk
	body, headings []string
}

func analyse(d *entry, c chunk.Chunk) *analysed {
	a := &analysed{Chunk: c, body: term.Of(c.Text), headings: term.Of(d.Title)}
	for _, heading := range c.HeadingPath {
		a.headings = append(a.headings, term.Of(heading)...)
	}
	return a
}

// read gives the passages of candidates, nil for one that is no more.
func (e *Engine) read(ctx context.Context, batch []candidate) ([]*analysed, error) {
	out := make([]*analysed, len(batch))
	var missing []Place
	at := map[Place]int{}
	for i, c := range batch {
		if out[i] = e.texts.get(c.place()); out[i] == nil {
			missing = append(missing, c.place())
			at[c.place()] = i
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	passages, err := e.source.Passages(ctx, e.collection, missing)
	if err != nil {
		return nil, fmt.Errorf("read passages: %w", err)
	}
	for _, p := range passages {
		i := at[p.Place]
		out[i] = analyse(batch[i].document, p.Chunk)
		e.texts.put(p.Place, out[i])
	}
	return out, nil
}

func (c candidate) place() Place { return Place{c.document.Name, c.document.Version, c.ordinal} }

// cached is how many passages each half of the cache holds, some 10 MB.
const cached = 2048

// cache keeps the passages that were read last. What is not asked for while
// its newer half fills up is dropped.
type cache struct {
	mu         sync.Mutex
	newer, old map[Place]*analysed
}

func (c *cache) get(k Place) *analysed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.newer[k]; a != nil {
		return a
	}
	if a := c.old[k]; a != nil {
		c.keep(k, a)
		return a
	}
	return nil
}

func (c *cache) put(k Place, a *analysed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(k, a)
}

func (c *cache) keep(k Place, a *analysed) {
	if c.newer == nil || len(c.newer) >= cached {
		c.newer, c.old = map[Place]*analysed{}, c.newer
	}
	c.newer[k] = a
}
