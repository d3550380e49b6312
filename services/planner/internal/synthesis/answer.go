// Package synthesis writes an answer out of passages, with a citation behind every statement.
//
// Without a model it quotes: it picks the sentences of the passages that answer the question best
// and gives them verbatim. With a model it has the passages turned into prose and keeps only
// citations that exist. Where nothing answers the question, it says so.
package synthesis

import (
	"fmt"

	"sabha.dev/chassis/label"
)

// Passage is a piece of a document that an answer may rest on.
type Passage struct {
	ID          string // unique among the passages of a request
	Document    string
	Title       string
	HeadingPath []string // outermost first
	Start, End  int      // byte offsets in the document
	Text        string
	Confidence  float64 // that it is about the question, in [0,1]; negative when unknown
}

// Request is a question with what was found about it.
type Request struct {
	Question     string
	Passages     []Passage // best first
	Feedback     []string  // why an earlier answer was sent back; a model sees it
	MaxSentences int       // of the answer, 1 to 20
	MinRelevance float64   // in [0,1]: how much of the question a quote must cover to be an answer
	// Labels of all of it, and the task that asks, for what leaves to a model.
	Labels label.Labels
	Task   string
}

// Defaults and bounds of a request.
const (
	DefaultMaxSentences = 4
	MostSentences       = 20
	// DefaultMinRelevance was chosen on the questions of testdata/questions.yaml.
	DefaultMinRelevance = 0.5
	MostPassages        = 100
)

// Method tells how an answer was written.
type Method string

// The methods.
const (
	Extractive Method = "extractive" // quotes, no model involved
	ByModel    Method = "model"
)

// Citation binds a marker in the text to a passage: [1] is the first.
type Citation struct {
	Marker  int
	Passage Passage
}

// Answer is what came out.
type Answer struct {
	Text      string // with markers such as [1]
	Answered  bool   // false when the passages do not answer the question; Text says so
	Method    Method
	Model     string     // the model's name when Method is ByModel; otherwise empty
	Note      string     // why a configured model did not write the answer; otherwise empty
	Citations []Citation // in the order of their markers, which count from 1
}

// Data gives the answer as a step's output data: answered, method, model, note, citations (marker
// and passage), and the cited passages in the order of their markers.
func (a Answer) Data() map[string]any {
	citations, passages := make([]any, len(a.Citations)), make([]any, len(a.Citations))
	for i, c := range a.Citations {
		passages[i] = c.Passage.data()
		cited := c.Passage.data()
		cited["marker"] = float64(c.Marker)
		citations[i] = cited
	}
	out := map[string]any{"answered": a.Answered, "method": string(a.Method), "citations": citations, "passages": passages}
	if a.Model != "" {
		out["model"] = a.Model
	}
	if a.Note != "" {
		out["note"] = a.Note
	}
	return out
}

func (p Passage) data() map[string]any {
	headings := make([]any, len(p.HeadingPath))
	for i, h := range p.HeadingPath {
		headings[i] = h
	}
	out := map[string]any{
		"id": p.ID, "document": p.Document, "heading_path": headings,
		"start": float64(p.Start), "end": float64(p.End), "text": p.Text,
	}
	if p.Title != "" {
		out["title"] = p.Title
	}
	if p.Confidence >= 0 {
		out["confidence"] = p.Confidence
	}
	return out
}

// unanswered says that the passages do not answer the question.
func unanswered(passages int) Answer {
	text := "No passage answers this question: nothing was found about it."
	switch {
	case passages == 1:
		text = "No passage answers this question: the one that was found is about something else."
	case passages > 1:
		text = fmt.Sprintf("No passage answers this question: the %d that were found are about something else.", passages)
	}
	return Answer{Text: text, Method: Extractive}
}

// cite numbers passages in the order they are first cited.
type cite struct {
	citations []Citation
}

func (c *cite) marker(p Passage) int {
	for _, known := range c.citations {
		if known.Passage.ID == p.ID {
			return known.Marker
		}
	}
	c.citations = append(c.citations, Citation{Marker: len(c.citations) + 1, Passage: p})
	return len(c.citations)
}
