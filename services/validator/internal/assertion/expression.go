package assertion

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// Expression is a named CEL expression over answer (string), data (the JSON
// value) and passages (a list of maps with id, document, heading_path, start,
// end, text). It has to give a bool.
type Expression struct {
	Name, Expression string
}

// ExpressionError is an expression that does not compile.
type ExpressionError struct {
	// Line and Column are 1-based.
	Line, Column int
	Problem      string
}

func (e *ExpressionError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// Bounds of one expression.
const (
	maxSize = 4000
	maxCost = 200_000
	// checkEvery is how many iterations of a comprehension pass between two looks at the context.
	checkEvery = 100
)

// Input is what expressions read.
type Input struct {
	Answer   string
	Data     any
	Passages []any
}

// Evaluator compiles and evaluates expressions. It is safe for concurrent use.
type Evaluator struct {
	env *cel.Env
}

// NewEvaluator makes an evaluator.
func NewEvaluator() (*Evaluator, error) {
	env, err := cel.NewEnv(
		cel.Variable("answer", cel.StringType),
		cel.Variable("data", cel.DynType),
		cel.Variable("passages", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxSize),
		cel.DefaultUTCTimeZone(true),
	)
	if err != nil {
		return nil, fmt.Errorf("expression environment: %w", err)
	}
	return &Evaluator{env}, nil
}

// Check compiles an expression without evaluating it. An expression that does
// not compile or is no bool is an *ExpressionError with its position.
func (v *Evaluator) Check(expression string) error {
	_, err := v.compile(expression)
	return err
}

func (v *Evaluator) compile(expression string) (*cel.Ast, error) {
	ast, issues := v.env.Compile(expression)
	if issues.Err() != nil {
		return nil, position(issues)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, &ExpressionError{1, 1, fmt.Sprintf("the expression gives %s, an assertion has to give bool", cel.FormatCELType(out))}
	}
	return ast, nil
}

// Evaluate checks one expression. An expression that does not compile or is no
// bool is an *ExpressionError with its position; one that fails while it is
// evaluated (a missing key, too costly) is a failed Result with the reason. A
// context that ends gives its error.
func (v *Evaluator) Evaluate(ctx context.Context, e Expression, in Input) (Result, error) {
	ast, err := v.compile(e.Expression)
	if err != nil {
		return Result{}, err
	}
	program, err := v.env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return Result{}, &ExpressionError{1, 1, line(err)}
	}
	value, _, err := program.ContextEval(ctx, map[string]any{"answer": in.Answer, "data": in.Data, "passages": in.Passages})
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case err != nil && strings.Contains(err.Error(), "cost limit"):
		return Result{Name: e.Name, Reason: fmt.Sprintf("stopped: the expression costs more than the limit of %d", maxCost)}, nil
	case err != nil:
		return Result{Name: e.Name, Reason: "cannot be evaluated: " + line(err)}, nil
	}
	holds, ok := value.(types.Bool)
	switch {
	case !ok:
		return Result{Name: e.Name, Reason: fmt.Sprintf("gives %s, not a bool", value.Type().TypeName())}, nil
	case bool(holds):
		return Result{Name: e.Name, Passed: true, Reason: e.Expression + " holds"}, nil
	}
	return Result{Name: e.Name, Reason: e.Expression + " does not hold"}, nil
}

func position(issues *cel.Issues) error {
	for _, e := range issues.Errors() {
		// CEL counts columns from 0 and gives -1 where the whole is meant.
		return &ExpressionError{max(1, e.Location.Line()), max(1, e.Location.Column()+1), line(errors.New(e.Message))}
	}
	return &ExpressionError{1, 1, line(issues.Err())}
}

func line(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
