package synthesis

import (
	"reflect"
	"testing"
)

func TestParseRequestReadsWhatResearchAndMemoryGive(t *testing.T) {
	got, err := ParseRequest(map[string]any{
		"question":      "When?",
		"passages":      []any{map[string]any{"document": "a.md", "title": "A", "heading_path": []any{"H"}, "start": 3.0, "end": 9.0, "text": "Noon.", "score": 1.5, "confidence": 0.7}, map[string]any{"id": "p1", "text": "One."}, map[string]any{"id": "p1", "text": "Two."}},
		"memories":      []any{map[string]any{"text": "Likes tea.", "kind": "fact"}},
		"feedback":      "too long",
		"max_sentences": 2.0,
		"min_relevance": 0.25,
	})
	want := Request{
		Question: "When?",
		Passages: []Passage{
			{ID: "p1", Document: "a.md", Title: "A", HeadingPath: []string{"H"}, Start: 3, End: 9, Text: "Noon.", Confidence: 0.7},
			{ID: "p2", Text: "One.", Confidence: -1},
			{ID: "p3", Text: "Two.", Confidence: -1},
			{ID: "p4", Document: "memory", Text: "Likes tea.", Confidence: -1},
		},
		Feedback: []string{"too long"}, MaxSentences: 2, MinRelevance: 0.25,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestParseRequestNamesTheBadInput(t *testing.T) {
	many := make([]any, MostPassages+1)
	for i := range many {
		many[i] = map[string]any{}
	}
	for want, in := range map[string]map[string]any{
		"question is empty":                                 {"question": " "},
		"question must be text":                             {"question": 1.0},
		"passages must be a list":                           {"question": "q", "passages": "p"},
		"passages[1] must be an object":                     {"question": "q", "passages": []any{map[string]any{}, "p"}},
		"passages[0].text must be text":                     {"question": "q", "passages": []any{map[string]any{"text": 1.0}}},
		"passages[0].start must be a byte offset":           {"question": "q", "passages": []any{map[string]any{"start": -1.0}}},
		"passages[0].heading_path must be a list of texts":  {"question": "q", "passages": []any{map[string]any{"heading_path": []any{1.0}}}},
		"passages: there are more than 100 passages":        {"question": "q", "passages": many},
		"memories[0] must be an object":                     {"question": "q", "memories": []any{nil}},
		"feedback must be a list of texts":                  {"question": "q", "feedback": 1.0},
		"max_sentences must be a whole number from 1 to 20": {"question": "q", "max_sentences": 0.5},
		"min_relevance must be a number from 0 to 1":        {"question": "q", "min_relevance": 2.0},
	} {
		if _, err := ParseRequest(in); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
