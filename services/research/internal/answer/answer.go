// Package answer is the form in which passages leave the service, the same
// over A2A and MCP: each with all that is needed to check a citation.
package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/document"
	"sabha.dev/services/research/internal/retrieval"
)

// Answer is the result of one search.
type Answer struct {
	Query string `json:"query"`
	// Results are the passages, best first; empty when nothing was found.
	Results []Passage `json:"results"`
	// Embedding names what the vectors were made with.
	Embedding string `json:"embedding"`

	least float64 // the confidence that was asked for
}

// Passage is a piece of a document.
type Passage struct {
	Document    string   `json:"document"` // name in the collection
	Title       string   `json:"title"`
	Digest      string   `json:"digest"` // of the document's bytes
	HeadingPath []string `json:"heading_path"`
	Start       int      `json:"start"` // byte offset in the document; in DOCX in the text extracted from it
	End         int      `json:"end"`   // byte offset, excluded
	Text        string   `json:"text"`
	Score       float64  `json:"score"`      // of the fused ranking
	Confidence  float64  `json:"confidence"` // 0–1
	// Confidentiality is public, internal or sensitive where the document says so.
	Confidentiality label.Confidentiality `json:"confidentiality,omitempty"`
}

// New makes the answer to a query.
func New(q retrieval.Query, embedding string, results []retrieval.Result) Answer {
	a := Answer{Query: q.Text, Embedding: embedding, Results: make([]Passage, len(results)), least: q.MinConfidence}
	for i, r := range results {
		path := r.HeadingPath
		if path == nil {
			path = []string{}
		}
		a.Results[i] = Passage{
			Document: r.Document, Title: r.Title, Digest: r.Digest, HeadingPath: path, Start: r.Start, End: r.End,
			Text: r.Text, Score: round(r.Score, 6), Confidence: round(r.Confidence, 4), Confidentiality: document.Strictest(r.Confidentiality),
		}
	}
	return a
}

// Labels of the answer: what documents say is nobody's instruction, and the strictest of
// them tells who may see it.
func (a Answer) Labels() label.Labels {
	l := label.Labels{Integrity: label.Untrusted}
	for _, p := range a.Results {
		l = label.Join(l, label.Labels{Confidentiality: p.Confidentiality})
	}
	return l
}

func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

// Sentence says how much was found and where.
func (a Answer) Sentence() string {
	var titles []string
	for _, p := range a.Results {
		if !slices.Contains(titles, p.Title) {
			titles = append(titles, p.Title)
		}
	}
	switch {
	case len(a.Results) == 0 && a.least > 0:
		return fmt.Sprintf("Extracted 0 relevant passages: nothing about the query reaches a confidence of %v.", a.least)
	case len(a.Results) == 0:
		return "Extracted 0 relevant passages: no document says anything about the query."
	case len(a.Results) == 1:
		return fmt.Sprintf("Extracted 1 relevant passage from %s.", titles[0])
	case len(titles) == 1:
		return fmt.Sprintf("Extracted %d relevant passages from %s.", len(a.Results), titles[0])
	}
	last := len(titles) - 1
	return fmt.Sprintf("Extracted %d relevant passages from %s and %s.",
		len(a.Results), strings.Join(titles[:last], ", "), titles[last])
}

// Text is the answer for a reader: the sentence, then each passage under
// where it is from.
func (a Answer) Text() string {
	var b strings.Builder
	b.WriteString(a.Sentence())
	for i, p := range a.Results {
		fmt.Fprintf(&b, "\n\n[%d] %s, bytes %d–%d (confidence %.2f)\n%s",
			i+1, strings.Join(append([]string{p.Document}, p.HeadingPath...), " › "), p.Start, p.End, p.Confidence, p.Text)
	}
	return b.String()
}
