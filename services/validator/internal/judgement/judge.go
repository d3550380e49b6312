package judgement

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"sabha.dev/chassis/clock"

	"sabha.dev/services/validator/internal/arithmetic"
	"sabha.dev/services/validator/internal/assertion"
	"sabha.dev/services/validator/internal/grounding"
)

// Request is an answer with everything that it is judged against.
type Request struct {
	Answer    string
	Passages  []grounding.Passage
	Citations []grounding.Citation
	// Schema is a JSON Schema for Data; HasSchema tells that there is one (it may be false).
	Schema       any
	HasSchema    bool
	Data         any
	Assertions   []assertion.Expression
	Computations []arithmetic.Declared
	// Product and Risk choose the threshold.
	Product, Risk string
}

// Problem is something in a request that cannot be used.
type Problem struct {
	// Field is its path in the request, for example "assertions[1].expression".
	Field string
	// Text says what is wrong and where in the field.
	Text string
}

// Problems are the faults of one request.
type Problems []Problem

func (p Problems) Error() string {
	return fmt.Sprintf("%s: %s", p[0].Field, p[0].Text)
}

// Judge judges answers under a policy. It is safe for concurrent use.
type Judge struct {
	policy    Policy
	evaluator *assertion.Evaluator
	clock     clock.Clock
}

// NewJudge makes a judge.
func NewJudge(p Policy, c clock.Clock) (*Judge, error) {
	evaluator, err := assertion.NewEvaluator()
	if err != nil {
		return nil, err
	}
	return &Judge{p, evaluator, c}, nil
}

// Check finds what is wrong with the rules of a request: a schema that is none,
// expressions that do not compile, values that are no numbers.
func (j *Judge) Check(r Request) Problems {
	var out Problems
	if r.HasSchema {
		if _, err := assertion.Schema(r.Schema, r.Data); err != nil {
			out = append(out, schemaProblem(err))
		}
	}
	for i, a := range r.Assertions {
		if err := j.evaluator.Check(a.Expression); err != nil {
			out = append(out, Problem{fmt.Sprintf("assertions[%d].expression", i), err.Error()})
		}
	}
	for i, c := range r.Computations {
		if _, _, err := arithmetic.Number(c.Value); err != nil {
			out = append(out, Problem{fmt.Sprintf("computations[%d].value", i), err.Error()})
		}
		one := func(string) (*big.Rat, error) { return big.NewRat(1, 1), nil }
		var syntax *arithmetic.SyntaxError
		if _, err := arithmetic.Evaluate(c.Expression, one); errors.As(err, &syntax) {
			out = append(out, Problem{fmt.Sprintf("computations[%d].expression", i), err.Error()})
		}
	}
	return out
}

func schemaProblem(err error) Problem {
	return Problem{"schema", err.Error()}
}

// Judge checks the answer. A request with faulty rules gives Problems; a
// context that ends gives its error.
func (j *Judge) Judge(ctx context.Context, r Request) (Judgement, error) {
	if problems := j.Check(r); len(problems) > 0 {
		return Judgement{}, problems
	}
	claims, err := grounding.Check(ctx, r.Answer, r.Passages, r.Citations)
	if err != nil {
		return Judgement{}, err
	}
	f := Findings{Claims: claims, Found: arithmetic.Find(r.Answer)}
	if r.HasSchema {
		results, err := assertion.Schema(r.Schema, r.Data)
		if err != nil {
			return Judgement{}, Problems{schemaProblem(err)}
		}
		f.Assertions = results
	}
	in := assertion.Input{Answer: r.Answer, Data: r.Data, Passages: maps(r.Passages)}
	for i, a := range r.Assertions {
		if a.Name == "" {
			a.Name = fmt.Sprintf("assertions[%d]", i)
		}
		result, err := j.evaluator.Evaluate(ctx, a, in)
		if err != nil {
			return Judgement{}, err
		}
		f.Assertions = append(f.Assertions, result)
	}
	for _, c := range r.Computations {
		s, err := c.Check(r.Data)
		if err != nil {
			// What was fine with every path being 1 and is not with the data, such as an exponent.
			s.Reason = err.Error()
		}
		f.Declared = append(f.Declared, s)
	}
	rule := j.policy.Rule(r.Product, r.Risk)
	if note := rule.Overdue(j.clock.Now()); note != "" {
		return Combine(f, rule, note), nil
	}
	return Combine(f, rule), nil
}

// maps are the passages as expressions see them.
func maps(passages []grounding.Passage) []any {
	out := make([]any, 0, len(passages))
	for _, p := range passages {
		path := make([]any, 0, len(p.HeadingPath))
		for _, h := range p.HeadingPath {
			path = append(path, h)
		}
		out = append(out, map[string]any{
			"id": p.ID, "document": p.Document, "heading_path": path, "start": int64(p.Start), "end": int64(p.End), "text": p.Text,
		})
	}
	return out
}
