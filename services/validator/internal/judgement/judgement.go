// Package judgement combines what grounding, assertions and arithmetic found
// into one confidence with its reasons, and compares it with the threshold that
// the policy sets for the product and its risk.
package judgement

import (
	"sabha.dev/services/validator/internal/arithmetic"
	"sabha.dev/services/validator/internal/assertion"
	"sabha.dev/services/validator/internal/grounding"
)

// Verdict says whether the confidence reaches the threshold.
type Verdict string

const (
	// Pass means that the confidence is at or over the threshold.
	Pass Verdict = "pass"
	// Fail means that it is under it.
	Fail Verdict = "fail"
)

// Judgement is a confidence with everything it rests on. Its JSON form is the
// data part that callers read.
type Judgement struct {
	// Confidence is in [0,1].
	Confidence float64 `json:"confidence"`
	Threshold  float64 `json:"threshold"`
	Verdict    Verdict `json:"verdict"`
	Rule       Rule    `json:"policy"`
	// Reasons are sentences that explain the confidence, the weightiest first; there is always one.
	Reasons      []string      `json:"reasons"`
	Claims       []Claim       `json:"claims"`
	Assertions   []Assertion   `json:"assertions"`
	Computations []Computation `json:"computations"`
}

// Claim is one statement of the answer with what the passages say about it.
type Claim struct {
	Text    string            `json:"text"`
	Verdict grounding.Verdict `json:"verdict"`
	Score   float64           `json:"score"`
	// Start and End are byte offsets in the answer.
	Start     int      `json:"start"`
	End       int      `json:"end"`
	Citations []string `json:"citations"`
	// Passages are the ids of the passages that the verdict rests on.
	Passages []string `json:"passages"`
	Reasons  []string `json:"reasons"`
}

// Assertion is one checked rule.
type Assertion struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason"`
}

// Computation is one recomputed statement.
type Computation struct {
	Name string `json:"name,omitempty"`
	// Source is "answer" for a statement of the text, "declared" for a computation beside it.
	Source   string `json:"source"`
	Text     string `json:"text"`
	Stated   string `json:"stated"`
	Computed string `json:"computed,omitempty"`
	Passed   bool   `json:"passed"`
	Reason   string `json:"reason"`
}

// Findings are the parts that a judgement is made of.
type Findings struct {
	Claims     []grounding.Finding
	Assertions []assertion.Result
	// Found are the statements of the answer, Declared those beside it.
	Found, Declared []arithmetic.Statement
}

// Combine judges findings under a rule. notes are reasons that do not touch the
// confidence, such as an overdue review of the policy.
func Combine(f Findings, rule Rule, notes ...string) Judgement {
	j := Judgement{
		Threshold: rule.Threshold, Rule: rule,
		Claims: make([]Claim, 0, len(f.Claims)), Assertions: make([]Assertion, 0, len(f.Assertions)),
		Computations: make([]Computation, 0, len(f.Found)+len(f.Declared)),
	}
	for _, c := range f.Claims {
		j.Claims = append(j.Claims, Claim{
			Text: c.Text, Verdict: c.Verdict, Score: round(c.Score), Start: c.Start, End: c.End,
			Citations: list(c.Citations), Passages: list(c.Passages), Reasons: list(c.Reasons),
		})
	}
	for _, a := range f.Assertions {
		j.Assertions = append(j.Assertions, Assertion(a))
	}
	add := func(source string, statements []arithmetic.Statement) {
		for _, s := range statements {
			j.Computations = append(j.Computations, Computation{
				Name: s.Name, Source: source, Text: s.Text, Stated: s.Stated, Computed: s.Computed, Passed: s.Passed, Reason: s.Reason,
			})
		}
	}
	add("answer", f.Found)
	add("declared", f.Declared)
	j.Confidence, j.Reasons = j.weigh()
	j.Verdict = Fail
	if j.Confidence >= j.Threshold {
		j.Verdict = Pass
	}
	j.Reasons = append(j.Reasons, notes...)
	return j
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
