package judgement

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sabha.dev/testrig/clocktest"

	"sabha.dev/services/validator/internal/arithmetic"
	"sabha.dev/services/validator/internal/assertion"
	"sabha.dev/services/validator/internal/grounding"
)

func judge(t *testing.T, policy string) *Judge {
	t.Helper()
	p, err := ParsePolicy([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJudge(p, clocktest.New(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

var fees = []grounding.Passage{
	{ID: "p1", Document: "fees.md", HeadingPath: []string{"Fees"}, End: 60, Text: "The transfer fee is 5 EUR. Transfers arrive within two days."},
	{ID: "p2", Document: "cards.md", HeadingPath: []string{"Cards"}, End: 40, Text: "A second card costs 12 EUR a year."},
}

func TestJudge(t *testing.T) {
	quoted := "The transfer fee is 5 EUR [1]. A second card costs 12 EUR a year [2]."
	for _, c := range []struct {
		name       string
		request    Request
		confidence float64
		verdict    Verdict
		reasons    []string
	}{
		{"quotes", Request{Answer: quoted, Passages: fees}, 1, Pass, []string{"claims: 2 supported"}},
		{"one number wrong", Request{Answer: "The transfer fee is 6 EUR [1]. A second card costs 12 EUR a year [2].", Passages: fees}, 0.1355, Fail, []string{
			`claim 1 is contradicted ("The transfer fee is 6 EUR."): [1]: the claim says 6 EUR, the passage 5 EUR; [1] says: "The transfer fee is 5 EUR."`,
			"claims: 1 supported, 1 contradicted",
		}},
		{"uncited", Request{Answer: "The transfer fee is 5 EUR.", Passages: fees}, 0.85, Pass, []string{
			`claim 1 cites no passage ("The transfer fee is 5 EUR.")`, "claims: 1 uncited",
		}},
		{"no such citation", Request{Answer: "The transfer fee is 5 EUR [3].", Passages: fees}, 0, Fail, []string{
			`claim 1 is unsupported ("The transfer fee is 5 EUR."): citation [3] does not exist: the passages are [1] to [2]; [1] says so but is not cited`,
			"claims: 1 unsupported",
		}},
		{"arithmetic of a quote", Request{Answer: quoted + "\n\nTogether 5 EUR + 12 EUR = 18 EUR [1][2].", Passages: fees}, 0, Fail, nil},
		{"broken assertion", Request{Answer: quoted, Passages: fees, Assertions: []assertion.Expression{{Name: "short", Expression: "size(answer) < 20"}}}, 0.3, Fail, []string{
			"assertion short failed: size(answer) < 20 does not hold", "claims: 2 supported; assertions: 0 of 1 hold",
		}},
		{"data alone", Request{
			Data: map[string]any{"fee": 5.0, "card": 12.0, "total": 17.0}, HasSchema: true, Schema: map[string]any{"required": []any{"fee"}},
			Assertions:   []assertion.Expression{{Expression: "data.total == data.fee + data.card"}},
			Computations: []arithmetic.Declared{{Name: "total", Expression: "fee + card", Value: 17.0}},
		}, 1, Pass, []string{"assertions: 2 of 2 hold; recomputed numbers: 1 of 1 hold"}},
		{"wrong total", Request{
			Data:         map[string]any{"fee": 5.0, "card": 12.0},
			Computations: []arithmetic.Declared{{Name: "total", Expression: "fee + card", Value: 18.0}},
		}, 0.3, Fail, []string{`the arithmetic of "fee + card" is wrong: recomputed: 17, stated: 18`, "recomputed numbers: 0 of 1 hold"}},
		{"broken schema", Request{Data: map[string]any{}, HasSchema: true, Schema: map[string]any{"required": []any{"fee"}}}, 0.3, Fail, []string{
			"assertion schema failed: missing property 'fee'", "assertions: 0 of 1 hold",
		}},
		{"nothing to check", Request{Answer: "Could you tell me more?", Passages: fees}, 0, Fail, []string{
			"nothing could be checked: the answer makes no claim, and there are no rules and no numbers",
		}},
		{"no passages", Request{Answer: "The moon is made of cheese."}, 0, Fail, []string{
			`claim 1 is unsupported ("The moon is made of cheese."): there are no passages to rest on`, "claims: 1 unsupported",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := judge(t, "").Judge(context.Background(), c.request)
			if err != nil {
				t.Fatal(err)
			}
			if c.reasons == nil {
				if j.Verdict != c.verdict || !strings.Contains(strings.Join(j.Reasons, "\n"), `the arithmetic of "5 EUR + 12 EUR = 18 EUR" is wrong: recomputed: 17, stated: 18`) {
					t.Errorf("%s %v", j.Verdict, j.Reasons)
				}
				return
			}
			if j.Confidence != c.confidence || j.Verdict != c.verdict || !slices.Equal(j.Reasons, c.reasons) {
				t.Errorf("confidence %v %s\n%s\nwant %v %s\n%s", j.Confidence, j.Verdict, strings.Join(j.Reasons, "\n"), c.confidence, c.verdict, strings.Join(c.reasons, "\n"))
			}
		})
	}
}

func TestThresholdOfTheProductDecides(t *testing.T) {
	policy := "rules:\n  - {product: mortgage, threshold: 0.9, owner: lending, review_date: 2026-06-30}"
	uncited := Request{Answer: "The transfer fee is 5 EUR.", Passages: fees}
	j, err := judge(t, policy).Judge(context.Background(), uncited)
	if err != nil || j.Verdict != Pass || j.Threshold != 0.7 {
		t.Errorf("%v %v %v", j.Verdict, j.Threshold, err)
	}
	uncited.Product = "mortgage"
	j, err = judge(t, policy).Judge(context.Background(), uncited)
	if err != nil || j.Verdict != Fail || j.Threshold != 0.9 || j.Rule.Owner != "lending" {
		t.Errorf("%v %v %v %v", j.Verdict, j.Threshold, j.Rule, err)
	}
	if last := j.Reasons[len(j.Reasons)-1]; last != "the threshold of 0.9 was due for review by lending on 2026-06-30" {
		t.Errorf("%q", last)
	}
}

func TestOneInventedSentenceAmongManySinksTheAnswer(t *testing.T) {
	answer := strings.Repeat("The transfer fee is 5 EUR [1]. ", 19) + "Accounts for students are free of charge [2]."
	j, err := judge(t, "").Judge(context.Background(), Request{Answer: answer, Passages: fees})
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Claims) != 20 || j.Verdict != Fail || j.Confidence >= 0.7 {
		t.Errorf("%d claims, confidence %v, %s", len(j.Claims), j.Confidence, j.Verdict)
	}
}

func TestFaultyRulesAreProblems(t *testing.T) {
	r := Request{
		Answer: "x", HasSchema: true, Schema: map[string]any{"type": "numbr"}, Data: 1.0,
		Assertions:   []assertion.Expression{{Expression: "true"}, {Expression: "data. >"}},
		Computations: []arithmetic.Declared{{Expression: "1 +", Value: 1.0}, {Expression: "a", Value: true}},
	}
	_, err := judge(t, "").Judge(context.Background(), r)
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	if want := []string{"schema", "assertions[1].expression", "computations[0].expression", "computations[1].value"}; !slices.Equal(fields, want) {
		t.Errorf("%v, want %v", fields, want)
	}
}

func TestJudgementHasEveryListInJSON(t *testing.T) {
	j, err := judge(t, "").Judge(context.Background(), Request{Answer: "The moon is made of cheese."})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"confidence":0,"threshold":0.7,"verdict":"fail","policy":{"threshold":0.7},` +
		`"reasons":["claim 1 is unsupported (\"The moon is made of cheese.\"): there are no passages to rest on","claims: 1 unsupported"],` +
		`"claims":[{"text":"The moon is made of cheese.","verdict":"unsupported","score":0,"start":0,"end":27,"citations":[],"passages":[],"reasons":["there are no passages to rest on"]}],` +
		`"assertions":[],"computations":[]}`
	if string(raw) != want {
		t.Errorf("%s\nwant %s", raw, want)
	}
	if got, want := j.Summary(), "FAIL: confidence 0.00, under the threshold of 0.70.\n- claim 1 is unsupported (\"The moon is made of cheese.\"): there are no passages to rest on\n- claims: 1 unsupported"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
