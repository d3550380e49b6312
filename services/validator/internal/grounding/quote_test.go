package grounding

import (
	"math"
	"testing"
)

const guide = `# Running

Keep **all** replicas on one version. The limit is 5; see _limits_.

` + "```" + `
go run ./cmd/research migrate
go run ./cmd/research serve
` + "```" + `

It is not true that the cache is shared.

| Plan | Price |
|------|-------|
| Pro  | 5 EUR |
`

func TestQuotesScoreOne(t *testing.T) {
	for _, answer := range []string{
		"Keep all replicas on one version [1].",
		"\"The limit is 5; see limits.\" [1]",
		"Keep **all** replicas on one version. The limit is 5; see _limits_. [1]",
		"The limit is 5 [1].",
	} {
		findings, err := Check(t.Context(), answer, []Passage{{ID: "g", Text: guide}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Verdict != Supported || f.Score != 1 || f.Passages[0] != "g" {
				t.Errorf("%q: %s %v %v", f.Text, f.Verdict, f.Score, f.Reasons)
			}
		}
	}
}

func TestQuotedCodeIsSupportedThoughUncited(t *testing.T) {
	findings, err := Check(t.Context(), "```\ngo run ./cmd/research migrate\ngo run ./cmd/research serve\n```", []Passage{{ID: "g", Text: guide}}, nil)
	if err != nil || len(findings) != 1 || findings[0].Verdict != Uncited || findings[0].Score != 0.95*0.85 {
		t.Errorf("%+v %v", findings, err)
	}
}

func TestPartOfADenialIsNoQuote(t *testing.T) {
	findings, err := Check(t.Context(), "The cache is shared [1].", []Passage{{ID: "g", Text: guide}}, nil)
	if err != nil || len(findings) != 1 || findings[0].Verdict != Contradicted {
		t.Errorf("%+v %v", findings, err)
	}
}

func TestTableRowsAreClaimsWithTheirHeads(t *testing.T) {
	for answer, want := range map[string]Verdict{
		"| Plan | Price |\n|--|--|\n| Pro | 5 EUR [1] |": Supported,
		"| Plan | Price |\n|--|--|\n| Pro | 7 EUR [1] |": Contradicted,
	} {
		findings, err := Check(t.Context(), answer, []Passage{{ID: "g", Text: guide}}, nil)
		if err != nil || len(findings) != 1 || findings[0].Verdict != want {
			t.Errorf("%q: %+v %v, want %s", answer, findings, err, want)
		}
	}
}

func TestResultOfAProgramIsEvidence(t *testing.T) {
	for result, verdict := range map[string]Verdict{"42": Supported, "[1, 2, 3]": Supported, "hello world": Supported, `{"total": 12.5}`: Supported} {
		passages := []Passage{{ID: "run", Document: "the snippet's result", Text: result}}
		findings, err := Check(t.Context(), "The snippet gave `"+result+"` [1]", passages, nil)
		if err != nil || len(findings) != 1 || findings[0].Verdict != verdict {
			t.Errorf("%s: %+v %v", result, findings, err)
		}
	}
	findings, err := Check(t.Context(), "The snippet gave `43` [1]", []Passage{{ID: "run", Document: "the snippet's result", Text: "42"}}, nil)
	if err != nil || len(findings) != 1 || passes(findings[0].Verdict) {
		t.Errorf("%+v %v", findings, err)
	}
}

func TestCitationsOfOneClaim(t *testing.T) {
	passages := []Passage{{ID: "a", Text: "The fee is 5 EUR."}, {ID: "b", Text: "The fee is 7 EUR."}, {ID: "c", Text: "Cards are blue."}}
	for _, c := range []struct {
		answer  string
		verdict Verdict
		score   float64
		reason  string
	}{
		{"The fee is 5 EUR [1][3].", Supported, 1, "quoted word for word from [1]"},
		{"The fee is 5 EUR [1][2].", Supported, 0.6, "[2]: the claim says 5 EUR, the passage 7 EUR"},
		{"The fee is 5 EUR [1][9].", Supported, 0.6, "citation [9] does not exist: the passages are [1] to [3]"},
		{"The fee is 5 EUR [8][9].", Unsupported, 0, "citations [8], [9] do not exist: the passages are [1] to [3]"},
		{"The fee is 5 EUR [3].", Unsupported, 0.3, "[3] does not say so; [1] does"},
		{"The fee is 5 EUR [2].", Unsupported, 0.3, "[2] does not say so; [1] does"},
		{"The fee is 9 EUR [2].", Contradicted, 0.04, "[2]: the claim says 9 EUR, the passage 7 EUR"},
		{"The fee is 5 EUR and cards are blue [1][3].", Supported, 0.95, `[1][3] says: "The fee is 5 EUR."`},
	} {
		findings, err := Check(t.Context(), c.answer, passages, nil)
		if err != nil || len(findings) != 1 {
			t.Fatalf("%q: %+v %v", c.answer, findings, err)
		}
		f := findings[0]
		found := false
		for _, r := range f.Reasons {
			found = found || r == c.reason
		}
		if f.Verdict != c.verdict || math.Abs(f.Score-c.score) > 0.01 || !found {
			t.Errorf("%q: %s %v %q, want %s %v %q", c.answer, f.Verdict, f.Score, f.Reasons, c.verdict, c.score, c.reason)
		}
	}
}
