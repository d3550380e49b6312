// Package retrieval finds passages: by words (BM25), by words that say the
// same, and by vectors, fused by reciprocal rank, with a calibrated confidence
// for each passage.
//
// The index is in the process and follows the rows of the store change by
// change, so that every engine ranks alike and a query is never parsed by one.
// The texts of passages stay in the store.
package retrieval

import (
	"context"
	"time"

	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/embed"
)

// Source is where stored documents come from.
type Source interface {
	// Generation changes whenever a document of the collection does.
	Generation(ctx context.Context, collection string) (int64, error)
	// Changes tells a receiver, as of one moment, of every document that was
	// written after a generation, and of which documents there still are. It
	// gives that moment's generation.
	Changes(ctx context.Context, collection string, after int64, to Receiver) (int64, error)
	// Passages reads passages, in any order. One that is gone, or whose document
	// has another version now, is left out.
	Passages(ctx context.Context, collection string, places []Place) ([]Read, error)
}

// Place names a passage for ever: a document that changes gets another version.
type Place struct {
	Document string
	Version  int64
	Ordinal  int
}

// Read is a passage that was read.
type Read struct {
	Place Place
	Chunk chunk.Chunk
}

// Receiver takes the changes of a collection.
type Receiver interface {
	// Put takes a new document, or one in place of that of the same name.
	Put(Document)
	// Count is how many documents the receiver has.
	Count() int
	// Retain drops every document that is not named.
	Retain(names map[string]bool)
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
	Vector embed.Quantised
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
	// Since and Until leave out documents of before or from then on; the zero time
	// leaves out none. A document's day is what its metadata says under updated, or
	// else under date; one that says none is left out by either.
	Since, Until time.Time
	// Labels of the text: what may leave to an embedder elsewhere goes by them.
	Labels label.Labels
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
	// Score is the reciprocal-rank fusion of the rankings; it orders
	// results and means nothing else.
	Score float64
	// Confidence in [0,1] is how likely the passage answers the query; see
	// confidence.go for what it rests on.
	Confidence float64
	// Confidentiality is what the document's metadata says of it under that key, as it
	// stands there; empty where it says nothing.
	Confidentiality []string
}
