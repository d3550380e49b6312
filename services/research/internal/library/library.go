// Package library is the documents as readers see them: one by its name, and what
// has changed since they looked last.
package library

import (
	"strconv"
	"strings"

	"sabha.dev/chassis/fault"
)

// Document is one document with its passages in their order.
type Document struct {
	ID       string              `json:"id"` // name in the collection
	Title    string              `json:"title"`
	Format   string              `json:"format"`
	Digest   string              `json:"digest"` // of the document's bytes
	Bytes    int64               `json:"bytes"`
	Ingested string              `json:"ingested_at"` // RFC 3339, UTC
	Metadata map[string][]string `json:"metadata,omitempty"`
	Passages []Passage           `json:"passages"`
}

// Passage is a piece of a document.
type Passage struct {
	HeadingPath []string `json:"heading_path"`
	Start       int      `json:"start"` // byte offset in the document; in DOCX in the text extracted from it
	End         int      `json:"end"`   // byte offset, excluded
	Text        string   `json:"text"`
}

// Change is a document that was added or changed.
type Change struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Digest   string `json:"digest"`
	Ingested string `json:"ingested_at"`

	At Cursor `json:"-"`
}

// Cursor is a place among the changes: after the document of that name in that
// generation of the collection.
type Cursor struct {
	Generation int64
	Name       string
}

// String is the cursor as readers keep it.
func (c Cursor) String() string { return strconv.FormatInt(c.Generation, 10) + "/" + c.Name }

// ParseCursor reads what String wrote; empty is the beginning.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	generation, name, ok := strings.Cut(s, "/")
	n, err := strconv.ParseInt(generation, 10, 64)
	if !ok || err != nil || n < 0 {
		return Cursor{}, fault.Invalid("cursor", "is not one that an earlier answer gave; leave it out to begin again")
	}
	return Cursor{Generation: n, Name: name}, nil
}
