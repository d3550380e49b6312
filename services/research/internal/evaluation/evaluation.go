// Package evaluation measures retrieval against questions with known answers.
package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sabha.dev/services/research/internal/retrieval"
)

// Question is a query and the sections that answer it, each as
// document#heading. A question without any has no answer in the collection.
type Question struct {
	Query string   `json:"query"`
	In    []string `json:"in,omitempty"`
}

// Read reads questions from a JSON list; an unknown key is an error.
func Read(r io.Reader) ([]Question, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var questions []Question
	if err := dec.Decode(&questions); err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	return questions, nil
}

// Searcher is what is measured.
type Searcher interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Result, error)
}

// Depth is how many passages a question may take to be answered.
const Depth = 5

// Report is what was measured.
type Report struct {
	Answerable   int
	First, Found int     // answered by the first passage; within Depth
	Reciprocal   float64 // mean reciprocal rank within Depth

	Unanswerable int
	Sure         int // of those, how many got a passage of confidence 0.5 or more

	// Brier is the mean square of confidence minus truth over every passage
	// returned, and Base the same for a constant guess: lower is better.
	Brier, Base float64
	// Bins show the calibration: of passages with a confidence in each fifth
	// of [0,1], how many there were and how many were right.
	Bins [5]struct{ Passages, Right int }

	Missed []string // queries not answered within Depth
}

// Run asks every question.
func Run(ctx context.Context, s Searcher, questions []Question) (Report, error) {
	var r Report
	var judged []judgement
	for _, q := range questions {
		results, err := s.Search(ctx, retrieval.Query{Text: q.Query, Limit: Depth})
		if err != nil {
			return r, fmt.Errorf("%q: %w", q.Query, err)
		}
		place := 0
		sure := false
		for i, res := range results {
			right := q.Answers(res)
			judged = append(judged, judgement{res.Confidence, right})
			sure = sure || res.Confidence >= 0.5
			if right && place == 0 {
				place = i + 1
			}
		}
		r.count(q, place, sure)
	}
	if r.Answerable > 0 {
		r.Reciprocal /= float64(r.Answerable)
	}
	r.calibrate(judged)
	return r, nil
}

// Answers tells whether a passage is from a section that answers q.
func (q Question) Answers(res retrieval.Result) bool {
	return slices.ContainsFunc(q.In, func(section string) bool {
		document, heading, _ := strings.Cut(section, "#")
		return res.Document == document && (slices.Contains(res.HeadingPath, heading) || holds(res.Text, heading))
	})
}

// holds tells whether a passage of several sections has this one's heading.
func holds(text, heading string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(strings.TrimLeft(line, "#")) == heading {
			return true
		}
	}
	return false
}

func (r *Report) count(q Question, place int, sure bool) {
	if len(q.In) == 0 {
		r.Unanswerable++
		if sure {
			r.Sure++
		}
		return
	}
	r.Answerable++
	switch {
	case place == 0:
		r.Missed = append(r.Missed, q.Query)
		return
	case place == 1:
		r.First++
	}
	r.Found++
	r.Reciprocal += 1 / float64(place)
}

type judgement struct {
	confidence float64
	right      bool
}

func (r *Report) calibrate(judged []judgement) {
	if len(judged) == 0 {
		return
	}
	rights := 0.0
	for _, j := range judged {
		truth := 0.0
		bin := &r.Bins[min(int(j.confidence*5), 4)]
		bin.Passages++
		if j.right {
			truth = 1
			bin.Right++
		}
		rights += truth
		r.Brier += (j.confidence - truth) * (j.confidence - truth)
	}
	n := float64(len(judged))
	share := rights / n
	r.Brier /= n
	r.Base = share * (1 - share)
}

// String is the report as text for a terminal.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hit@1 %d/%d  hit@%d %d/%d  MRR %.3f\n", r.First, r.Answerable, Depth, r.Found, r.Answerable, r.Reciprocal)
	fmt.Fprintf(&b, "questions without an answer: %d/%d got a passage of confidence >= 0.5\n", r.Sure, r.Unanswerable)
	fmt.Fprintf(&b, "Brier %.3f (a constant guess: %.3f)\n", r.Brier, r.Base)
	for i, bin := range r.Bins {
		fmt.Fprintf(&b, "  confidence %.1f-%.1f: %d passages, %d right\n", float64(i)/5, float64(i+1)/5, bin.Passages, bin.Right)
	}
	for _, q := range r.Missed {
		fmt.Fprintf(&b, "  missed: %s\n", q)
	}
	return b.String()
}
