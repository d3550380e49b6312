package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/drift"
)

// Bounds of one expression.
const (
	maxExpression = 2000
	maxCost       = 200_000
	checkEvery    = 100 // iterations between two looks at the context
	// maxNumber is the largest figure that is compared.
	maxNumber = 1e15
)

// expression is CEL over answer (text), data (JSON) and took (seconds), or a JSON pointer
// into data, compiled.
type expression struct {
	text    string
	pointer []string
	program cel.Program
}

var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("answer", cel.StringType),
		cel.Variable("data", cel.DynType),
		cel.Variable("took", cel.DoubleType),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(100),
		cel.DefaultUTCTimeZone(true),
	)
})

// compile reads an expression; kinds are the types that it may give.
func compile(n strictyaml.Node, kinds ...*cel.Type) expression {
	text := n.Text()
	if text == "" {
		return expression{}
	}
	if strings.HasPrefix(text, "/") {
		if len(kinds) == 1 && kinds[0] == cel.BoolType {
			n.Problem("an assertion is an expression such as data.rate > 0.0, not a pointer")
		}
		parts := strings.Split(text[1:], "/")
		for i, p := range parts {
			parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
		}
		return expression{text: text, pointer: parts}
	}
	env, err := environment()
	if err != nil {
		n.Problem("%s", err)
		return expression{}
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		n.Problem("%s", strings.Join(strings.Fields(issues.Errors()[0].Message), " "))
		return expression{}
	}
	fits := ast.OutputType().IsExactType(cel.DynType)
	names := make([]string, len(kinds))
	for i, k := range kinds {
		fits = fits || k.IsAssignableType(ast.OutputType())
		names[i] = cel.FormatCELType(k)
	}
	if !fits {
		n.Problem("the expression gives %s; it has to give %s", cel.FormatCELType(ast.OutputType()), strings.Join(names, " or "))
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		n.Problem("%s", err)
	}
	return expression{text: text, program: program}
}

// evaluate gives the value over an answer.
func (e expression) evaluate(ctx context.Context, a *reply) (ref.Val, error) {
	if e.pointer != nil {
		v := a.data
		for _, key := range e.pointer {
			v = step(v, key)
		}
		if v == nil {
			return nil, fmt.Errorf("there is nothing at %s", e.text)
		}
		return types.DefaultTypeAdapter.NativeToValue(v), nil
	}
	v, _, err := e.program.ContextEval(ctx, map[string]any{"answer": a.text, "data": a.data, "took": a.took.Seconds()})
	if err != nil {
		return nil, errors.New(plain(err.Error()))
	}
	return v, nil
}

// plain says why an expression has no value, in words that hold nothing of the answer.
func plain(said string) string {
	for _, known := range []string{"no such key", "no such overload", "no such attribute", "index out of bounds", "cost limit exceeded"} {
		if strings.Contains(said, known) {
			return known
		}
	}
	return "it cannot be evaluated"
}

// step goes one step of a JSON pointer (RFC 6901).
func step(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[key]
	case []any:
		var i int
		if _, err := fmt.Sscanf(key, "%d", &i); err == nil && i >= 0 && i < len(v) && fmt.Sprint(i) == key {
			return v[i]
		}
	}
	return nil
}

// number reads a number or a length from what an expression gives.
func number(v ref.Val, kind drift.Kind) (float64, error) {
	if kind == drift.Length {
		if s, ok := v.(traits.Sizer); ok {
			return number(s.Size(), drift.Number)
		}
		return 0, fmt.Errorf("gives %s, which has no length", v.Type().TypeName())
	}
	var x float64
	switch v := v.(type) {
	case types.Double:
		x = float64(v)
	case types.Int:
		x = float64(v)
	case types.Uint:
		x = float64(v)
	default:
		return 0, fmt.Errorf("gives %s, not a number", v.Type().TypeName())
	}
	if !(math.Abs(x) <= maxNumber) {
		return 0, errors.New("gives a number beyond what is compared")
	}
	return x, nil
}

// category reads a category: text, or true and false.
func category(v ref.Val) (string, error) {
	switch v := v.(type) {
	case types.String:
		return strictyaml.Clip(string(v)), nil
	case types.Bool:
		return fmt.Sprint(bool(v)), nil
	case types.Int:
		return fmt.Sprint(int64(v)), nil
	}
	return "", fmt.Errorf("gives %s, not text", v.Type().TypeName())
}
