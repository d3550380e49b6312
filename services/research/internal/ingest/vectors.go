package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/document"
	"sabha.dev/services/research/internal/embed"
)

// Shelf is where stored documents get other vectors.
type Shelf interface {
	// Unembedded lists the documents of a collection whose vectors are not of an embedder.
	Unembedded(ctx context.Context, collection, embedder string) ([]string, error)
	// Text gives a document as it is cut; nil if there is none of the name, or if its
	// vectors are of the embedder by now.
	Text(ctx context.Context, collection, name, embedder string) (*Text, error)
	// Embed replaces the vectors of a document, one a chunk, unless it has changed since.
	Embed(ctx context.Context, collection string, of *Text, embedder string, vectors [][]float32) error
}

// Text is a stored document without its vectors.
type Text struct {
	Name, Title string
	Version     int64
	Metadata    document.Metadata
	Chunks      []chunk.Chunk
}

// Vectors makes the vectors of an embedder for all documents of a collection that have
// none of it, document by document, and tells how many it made. Those of another
// embedder are of no use meanwhile: the words of their documents are. It ends at the
// first error, embed.ErrAway among them; what was made stays.
func Vectors(ctx context.Context, shelf Shelf, embedder embed.Embedder, collection string) (int, error) {
	names, err := shelf.Unembedded(ctx, collection, embedder.Name())
	if err != nil {
		return 0, fmt.Errorf("vectors of %q: %w", collection, err)
	}
	// Replicas that do the same begin at different documents, and pass over what is done.
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	made := 0
	for _, name := range names {
		text, err := shelf.Text(ctx, collection, name, embedder.Name())
		if err != nil {
			return made, fmt.Errorf("vectors of %s: %w", name, err)
		}
		if text == nil {
			continue
		}
		vectors, err := vectorsOf(ctx, embedder, text.Title, text.Metadata, text.Chunks)
		if err == nil {
			err = shelf.Embed(ctx, collection, text, embedder.Name(), vectors)
		}
		if errors.Is(err, ErrChanged) {
			continue // whoever changed it sees to its vectors
		}
		if err != nil {
			return made, fmt.Errorf("vectors of %s: %w", name, err)
		}
		made++
	}
	return made, nil
}

// ErrChanged says that a document is not what it was when it was read.
var ErrChanged = errors.New("the document has changed")

func vectorsOf(ctx context.Context, embedder embed.Embedder, title string, about document.Metadata, chunks []chunk.Chunk) ([][]float32, error) {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		// A passage is about its headings too.
		texts[i] = strings.Join(append([]string{title}, c.HeadingPath...), "\n") + "\n" + c.Text
	}
	return embedder.Embed(ctx, label.Labels{Confidentiality: about.Confidentiality()}, texts)
}
