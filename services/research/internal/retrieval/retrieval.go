// Package retrieval finds passages: BM25 over words and cosine over vectors,
// fused by reciprocal rank, with a calibrated confidence for each passage.
//
// Both indexes are in the process and built from the rows of the store, so
// that every engine ranks alike and a query is never parsed by one.
package retrieval

import (
	"context"

	"sabha.dev/services/research/internal/chunk"
)

// Source is where stored documents come from.
type Source interface {
	// Generation changes whenever a document of the collection does.
	Generation(ctx context.Context, collection string) (int64, error)
	// Load gives the collection's documents as of one moment, with that
	// moment's generation. Documents whose version is the known one come
	// without their passages.
	Load(ctx context.Context, collection string, known map[string]int64) (int64, []Document, error)
}

// Document is a stored document.
type Document struct {
	Name, Title string
	Digest      string // of the bytes that offsets point into
	Version     int64  // of the stored document
	Embedding   string // name of the embedder that made the vectors
	Metadata    map[string][]string
	Passages    []Passage
}

// Passage is a stored passage with its vector.
type Passage struct {
	chunk.Chunk
	Vector []float32
}

// Query is what to look for.
type Query struct {
	// Text is data: no character of it has a meaning to the search.
	Text string
	// Limit is the most passages to return, 1–MaxLimit.
	Limit int
	// MinConfidence leaves out passages below it, 0–1.
	MinConfidence float64
	// Filters name metadata keys with the values of which a document must
	// have one, for every key. Case does not matter.
	Filters map[string][]string
}

// Bounds of a query.
const (
	MaxLimit = 50
	MaxQuery = 4096 // bytes
)

// Result is a passage found, with all that a reader needs to check it.
type Result struct {
	Document, Title string
	Digest          string
	HeadingPath     []string
	Ordinal         int
	Start, End      int
	Text            string
	// Score is the reciprocal-rank fusion of the two rankings; it orders
	// results and means nothing else.
	Score float64
	// Confidence in [0,1] is how likely the passage is about the query; see
	// confidence.go for what it rests on.
	Confidence float64
	// Confidentiality is what the document's metadata says of it under that key, as it
	// stands there; empty where it says nothing.
	Confidentiality []string
}
