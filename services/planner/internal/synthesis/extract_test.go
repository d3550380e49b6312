package synthesis

import (
	"reflect"
	"testing"
)

func extract(question string, texts ...string) Answer {
	req := Request{Question: question, MaxSentences: DefaultMaxSentences, MinRelevance: DefaultMinRelevance}
	for i, text := range texts {
		req.Passages = append(req.Passages, Passage{ID: string(rune('a' + i)), Document: "d", Text: text, Confidence: -1})
	}
	return Extract(req)
}

func TestExtract(t *testing.T) {
	for _, tt := range []struct {
		name, question string
		passages       []string
		want           string
	}{
		{"one quote", "When does the ferry leave?", []string{"The ferry leaves at noon. It is blue."}, "The ferry leaves at noon. [1]"},
		{"the best passage speaks first", "When does the ferry leave?", []string{"A ferry may be late.", "The ferry leaves at noon from pier 4."}, "The ferry leaves at noon from pier 4. [1]"},
		{"nothing is said twice", "When does the ferry leave?", []string{"The ferry leaves at noon.", "The ferry leaves at noon."}, "The ferry leaves at noon. [1]"},
		{"a question is no answer", "When does the ferry leave?", []string{"When does the ferry leave? The ferry leaves at noon."}, "The ferry leaves at noon. [1]"},
		{"an echo is no answer", "ferry leaves", []string{"Ferry leaves."}, "No passage answers this question: the one that was found is about something else."},
		{"other matters", "When does the ferry leave?", []string{"Bread needs flour.", "The train is late."}, "No passage answers this question: the 2 that were found are about something else."},
		{"no passages", "When does the ferry leave?", nil, "No passage answers this question: nothing was found about it."},
		{"no words to look for", "Why is it?", []string{"It is what it is."}, "No passage answers this question: the one that was found is about something else."},
		{"a pronoun takes up the sentence before", "How fast is the ferry?", []string{"The ferry was built in 1990. It makes 30 knots at full speed and is fast."}, "- The ferry was built in 1990. [1]\n- It makes 30 knots at full speed and is fast. [1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := extract(tt.question, tt.passages...); a.Text != tt.want {
				t.Errorf("got %q, want %q", a.Text, tt.want)
			}
		})
	}
}

func TestHeadingsSayWhatAPassageIsAbout(t *testing.T) {
	p := Passage{ID: "a", Document: "ships.md", HeadingPath: []string{"Ferry", "Departure times"}, Text: "At noon on weekdays, at ten on Sundays.", Confidence: -1}
	req := Request{Question: "departure times of the ferry", Passages: []Passage{p}, MaxSentences: 2, MinRelevance: DefaultMinRelevance}
	if a := Extract(req); a.Text != "At noon on weekdays, at ten on Sundays. [1]" {
		t.Errorf("got %q", a.Text)
	}
	req.Passages[0].HeadingPath = []string{"Restaurant"}
	if a := Extract(req); a.Answered {
		t.Errorf("answered from another heading: %q", a.Text)
	}
}

func TestSentencesAreBounded(t *testing.T) {
	req := Request{Question: "What does the ferry carry?", MaxSentences: 2, MinRelevance: 0.3, Passages: []Passage{{
		ID: "a", Confidence: -1,
		Text: "The ferry carries up to forty cars to the island. The ferry carries mail and newspapers from the city. The ferry carries sheep and their shepherds in autumn.",
	}}}
	if a := Extract(req); a.Text != "- The ferry carries up to forty cars to the island. [1]\n- The ferry carries mail and newspapers from the city. [1]" {
		t.Errorf("got %q", a.Text)
	}
}

func TestDataHoldsThePassagesInTheOrderOfTheirMarkers(t *testing.T) {
	req := Request{Question: "When does the ferry leave?", MaxSentences: 4, MinRelevance: 0.5, Passages: []Passage{
		{ID: "x", Document: "other.md", Text: "Bread needs flour.", Confidence: 0.2},
		{ID: "y", Document: "ferry.md", Title: "The ferry", HeadingPath: []string{"Times"}, Start: 10, End: 35, Text: "The ferry leaves at noon.", Confidence: 0.9},
	}}
	passage := map[string]any{"id": "y", "document": "ferry.md", "title": "The ferry", "heading_path": []any{"Times"}, "start": 10.0, "end": 35.0, "text": "The ferry leaves at noon.", "confidence": 0.9}
	citation := map[string]any{"marker": 1.0}
	for k, v := range passage {
		citation[k] = v
	}
	want := map[string]any{"answered": true, "method": "extractive", "passages": []any{passage}, "citations": []any{citation}}
	if got := Extract(req).Data(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
