package evaluation_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"sabha.dev/services/research/internal/evaluation"
	"sabha.dev/services/research/internal/retrieval"
)

// table answers from a table.
type table map[string][]retrieval.Result

func (s table) Search(_ context.Context, q retrieval.Query) ([]retrieval.Result, error) {
	return s[q.Text], nil
}

func TestRunCountsHitsRanksAndFalseAlarms(t *testing.T) {
	right := retrieval.Result{Document: "a.md", HeadingPath: []string{"T", "Right"}, Confidence: 0.9}
	merged := retrieval.Result{Document: "a.md", HeadingPath: []string{"T"}, Text: "## Right\n\ntext", Confidence: 0.5}
	wrong := retrieval.Result{Document: "b.md", HeadingPath: []string{"T", "Right"}, Confidence: 0.1}
	questions := []evaluation.Question{
		{Query: "first", In: []string{"a.md#Right"}},
		{Query: "second", In: []string{"c.md#Other", "a.md#Right"}},
		{Query: "never", In: []string{"a.md#Right"}},
		{Query: "nonsense"},
		{Query: "false alarm"},
	}
	report, err := evaluation.Run(context.Background(), table{
		"first": {right}, "second": {wrong, merged}, "never": {wrong}, "false alarm": {merged},
	}, questions)
	if err != nil {
		t.Fatal(err)
	}
	if report.Answerable != 3 || report.First != 1 || report.Found != 2 || report.Reciprocal != 0.5 || report.Unanswerable != 2 || report.Sure != 1 {
		t.Errorf("got %+v", report)
	}
	if want := "hit@1 1/3  hit@5 2/3  MRR 0.500\nquestions without an answer: 1/2 got a passage of confidence >= 0.5\n"; !strings.HasPrefix(report.String(), want) {
		t.Errorf("report reads %q", report)
	}
	if !strings.HasSuffix(report.String(), "missed: never\n") {
		t.Errorf("report reads %q", report)
	}
}

func TestBuiltInQuestionsCanBeRead(t *testing.T) {
	questions, err := evaluation.Read(bytes.NewReader(evaluation.A2A))
	if err != nil || len(questions) != 60 {
		t.Errorf("%d questions, %v", len(questions), err)
	}
	if _, err := evaluation.Read(strings.NewReader(`[{"query":"q","typo":1}]`)); err == nil {
		t.Error("an unknown key was taken")
	}
}

func TestFiguresOfARanking(t *testing.T) {
	passages := map[string]retrieval.Result{
		"right": {Document: "a.md", HeadingPath: []string{"T", "Right"}}, "also": {Document: "a.md", HeadingPath: []string{"T", "Right", "More"}},
		"wrong": {Document: "b.md"},
	}
	rank := func(_ context.Context, q retrieval.Query) ([]retrieval.Result, error) {
		var out []retrieval.Result
		for name := range strings.FieldsSeq(q.Text) {
			out = append(out, passages[name])
		}
		return out, nil
	}
	answering := func(evaluation.Question) int { return 2 }
	ask := func(queries ...string) evaluation.Figures {
		var m evaluation.Mean
		for _, q := range queries {
			if err := m.Measure(t.Context(), rank, []evaluation.Question{{Query: q, In: []string{"a.md#Right"}}, {Query: "wrong"}}, answering); err != nil {
				t.Fatal(err)
			}
		}
		return m.Figures()
	}
	for _, c := range []struct {
		queries []string
		want    string
	}{
		{[]string{"right also wrong"}, "recall@5 1.000  nDCG@10 1.000  MRR 1.000"},
		{[]string{"wrong right"}, "recall@5 1.000  nDCG@10 0.387  MRR 0.500"},
		{[]string{"wrong wrong wrong wrong wrong right"}, "recall@5 0.000  nDCG@10 0.218  MRR 0.167"},
		{[]string{"wrong", "right also"}, "recall@5 0.500  nDCG@10 0.500  MRR 0.500"},
	} {
		if got := ask(c.queries...).String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.queries, got, c.want)
		}
	}
	var m evaluation.Mean
	if err := m.Measure(t.Context(), rank, []evaluation.Question{{Query: "q", In: []string{"a.md#Gone"}}}, func(evaluation.Question) int { return 0 }); err == nil {
		t.Error("a question that nothing answers was taken")
	}
}
