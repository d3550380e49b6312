package answer_test

import (
	"encoding/json"
	"testing"

	"sabha.dev/services/research/internal/answer"
	"sabha.dev/services/research/internal/retrieval"
)

func result(document, title string) retrieval.Result {
	return retrieval.Result{
		Document: document, Title: title, Digest: "sha256:aa", HeadingPath: []string{"A", "B"}, Start: 3, End: 9,
		Text: "a text", Score: 0.0327868852, Confidence: 0.876543,
	}
}

func TestSentenceSaysHowMuchAndWhere(t *testing.T) {
	cases := []struct {
		results []retrieval.Result
		want    string
	}{
		{nil, "Extracted 0 relevant passages: no document says anything about the query."},
		{[]retrieval.Result{result("a.md", "Alpha")}, "Extracted 1 relevant passage from Alpha."},
		{[]retrieval.Result{result("a.md", "Alpha"), result("a.md", "Alpha")}, "Extracted 2 relevant passages from Alpha."},
		{
			[]retrieval.Result{result("a.md", "Alpha"), result("b.md", "Beta"), result("c.md", "Gamma")},
			"Extracted 3 relevant passages from Alpha, Beta and Gamma.",
		},
	}
	for _, c := range cases {
		if got := answer.New(retrieval.Query{Text: "q"}, "e", c.results).Sentence(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSentenceSaysWhatAMissWasMeasuredBy(t *testing.T) {
	got := answer.New(retrieval.Query{Text: "q", MinConfidence: 0.82}, "e", nil).Sentence()
	if want := "Extracted 0 relevant passages: nothing about the query reaches a confidence of 0.82."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnswerHasWhatACitationNeeds(t *testing.T) {
	bare := result("a.txt", "Alpha")
	bare.HeadingPath = nil
	a := answer.New(retrieval.Query{Text: "q"}, "e", []retrieval.Result{result("a.md", "Alpha"), bare})
	got, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"query":"q","results":[` +
		`{"document":"a.md","title":"Alpha","digest":"sha256:aa","heading_path":["A","B"],"start":3,"end":9,"text":"a text","score":0.032787,"confidence":0.8765},` +
		`{"document":"a.txt","title":"Alpha","digest":"sha256:aa","heading_path":[],"start":3,"end":9,"text":"a text","score":0.032787,"confidence":0.8765}],"embedding":"e"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err := json.Marshal(answer.New(retrieval.Query{Text: "q"}, "e", nil)); err != nil || string(got) != `{"query":"q","results":[],"embedding":"e"}` {
		t.Errorf("a miss is %s, %v", got, err)
	}
	text := "Extracted 2 relevant passages from Alpha.\n\n[1] a.md › A › B, bytes 3–9 (confidence 0.88)\na text\n\n[2] a.txt, bytes 3–9 (confidence 0.88)\na text"
	if a.Text() != text {
		t.Errorf("text is %q", a.Text())
	}
}
