package memory

import (
	"fmt"
	"strings"
	"time"

	"sabha.dev/chassis/label"
)

// Fact says what something is: the value of a predicate of a subject, "customer 7", "prefers", "letters".
// Of one subject and predicate one value holds at a time.
type Fact struct {
	Subject   string `json:"subject"`
	Predicate string `json:"predicate"`
	Value     string `json:"value"`
	// Source names where it comes from; empty for the caller's own word.
	Source string `json:"source,omitempty"`
	// Confidence in [0,1].
	Confidence float64 `json:"confidence"`
	// At is since when it is so, in the source's view.
	At time.Time `json:"at"`
}

// Text is the fact as a sentence.
func (f Fact) Text() string { return f.Subject + " " + f.Predicate + " " + f.Value }

// Topic is what the fact answers: facts of one topic exclude each other.
func (f Fact) Topic() string { return fold(f.Subject) + "\x1f" + fold(f.Predicate) }

// Same tells whether two facts of a topic say the same.
func (f Fact) Same(o Fact) bool { return fold(f.Value) == fold(o.Value) }

// Better tells whether memory m's fact takes the place of o's: a trusted one that of
// an untrusted one, then the more certain, then the later.
func (m Memory) Better(o Memory) bool {
	if a, b := m.Labels.Integrity == label.Trusted, o.Labels.Integrity == label.Trusted; a != b {
		return a
	}
	if m.Fact.Confidence != o.Fact.Confidence {
		return m.Fact.Confidence > o.Fact.Confidence
	}
	return !m.Fact.At.Before(o.Fact.At)
}

// Step of a plan that was carried out.
type Step struct {
	Name    string  `json:"name"`
	Agent   string  `json:"agent,omitempty"`
	Skill   string  `json:"skill,omitempty"`
	Outcome string  `json:"outcome,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Episode is the trace of a finished plan: how something was done.
type Episode struct {
	Plan    string  `json:"plan"`
	Outcome string  `json:"outcome"`
	Steps   []Step  `json:"steps,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Approved is what people allowed on the way.
	Approved []string `json:"approved,omitempty"`
}

// Text is the episode in a sentence, which is what it is found by.
func (e Episode) Text() string {
	names := make([]string, 0, len(e.Steps))
	for _, s := range e.Steps {
		names = append(names, strings.TrimSpace(s.Name+" "+s.Skill))
	}
	return fmt.Sprintf("%s: %s. Steps: %s.", e.Plan, e.Outcome, strings.Join(names, ", "))
}

// Telling is one time that a memory was told.
type Telling struct {
	At      time.Time `json:"at"`
	Context string    `json:"context,omitempty"`
	Source  string    `json:"source,omitempty"`
}

// MaxTold is how many tellings are kept of a memory, the newest.
const MaxTold = 20

// Again merges another telling of the same memory: the strictest labels, the longer
// life, the greater confidence.
func (m *Memory) Again(o Memory) {
	m.Told = append(m.Told, o.Told...)
	if extra := len(m.Told) - MaxTold; extra > 0 {
		m.Told = m.Told[extra:]
	}
	m.Labels = label.Join(m.Labels, o.Labels)
	if m.ExpiresAt.IsZero() || o.ExpiresAt.IsZero() {
		m.ExpiresAt = time.Time{}
	} else if o.ExpiresAt.After(m.ExpiresAt) {
		m.ExpiresAt = o.ExpiresAt
	}
	if m.Fact != nil && o.Fact != nil {
		m.Fact.Confidence = max(m.Fact.Confidence, o.Fact.Confidence)
		if o.Fact.At.After(m.Fact.At) {
			m.Fact.At = o.Fact.At
		}
	}
}

// fillers say nothing: two texts that differ in them alone are one memory.
var fillers = map[string]bool{"a": true, "an": true, "the": true, "that": true, "please": true, "is": true, "are": true, "was": true, "so": true, "very": true}

// shapeWords is the least number of words of a text that may be merged with another.
const shapeWords = 2

// Shape is what a text says in its order, without case, punctuation and fillers; texts
// of one shape are told again, not new. It is empty for a text too short to tell.
func Shape(text string) string {
	var kept []string
	for _, w := range words(text) {
		if !fillers[w] {
			kept = append(kept, w)
		}
	}
	if len(kept) < shapeWords {
		return ""
	}
	return strings.Join(kept, " ")
}

func fold(s string) string { return strings.Join(words(s), " ") }

// Tokens estimates what a text costs a model: a token for four bytes.
func Tokens(text string) int { return (len(text) + 3) / 4 }
