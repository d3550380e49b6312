package playbook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"go.yaml.in/yaml/v3"
)

// Bounds of one evaluation; beyond them it fails. The cost unit is CEL's own, about one operation.
const (
	costLimit   = 1_000_000
	memoryLimit = 1_000_000 // elements, as CEL counts them
)

// Expression is a checked CEL expression and the place it stands at.
type Expression struct {
	Source string
	Line   int
	Path   string

	file    string
	program cel.Program
	reads   []string // ids of the steps it reads, sorted
	fields  []Field  // what it reads of them
	input   bool     // reads the variable input
	revises bool     // reads the variable revision
}

// String gives the source.
func (e *Expression) String() string { return e.Source }

// Reads returns the ids of the steps whose state or output the expression reads, sorted.
func (e *Expression) Reads() []string { return slices.Clone(e.reads) }

// fail reports an evaluation that failed on the values of a run.
func (e *Expression) fail(err error) error {
	return fmt.Errorf("%s:%d: %s: %w", e.file, e.Line, e.Path, err)
}

// eval gives the value as JSON holds it.
func (e *Expression) eval(vars map[string]any) (any, error) {
	out, _, err := e.program.Eval(vars)
	if err != nil {
		return nil, e.fail(err)
	}
	v, err := toJSON(out)
	if err != nil {
		return nil, e.fail(err)
	}
	return v, nil
}

// test gives the value of a condition. A missing condition is true.
func (e *Expression) test(vars map[string]any) (bool, error) {
	if e == nil {
		return true, nil
	}
	v, err := e.eval(vars)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, e.fail(errors.New("the condition gave no boolean"))
	}
	return b, nil
}

// isExpression tells an expression from a literal: it begins with one "=".
func isExpression(s string) bool {
	return strings.HasPrefix(s, "=") && !strings.HasPrefix(s, "==")
}

// condition compiles a node that must be a boolean expression. A leading "=" is allowed.
func (k *compiler) condition(c cursor, env *cel.Env) *Expression {
	if c.Kind == yaml.ScalarNode && c.Tag == "!!bool" {
		return k.expression(c, c.Value, env, cel.BoolType)
	}
	src := c.text()
	if src == "" {
		if c.Tag == "!!str" {
			c.problem("must be a condition in CEL; it is empty")
		}
		return nil
	}
	if isExpression(src) {
		src = src[1:]
	}
	return k.expression(c, src, env, cel.BoolType)
}

// expression compiles src, which stands at c. It reports problems and returns nil when there are any.
func (k *compiler) expression(c cursor, src string, env *cel.Env, want *cel.Type) *Expression {
	src = strings.TrimSpace(src)
	if src == "" {
		c.problem("an expression must follow the =")
		return nil
	}
	parsed, issues := env.Parse(src)
	if issues.Err() != nil {
		reportIssues(c, issues)
		return nil
	}
	refs := k.references(c, parsed.NativeRep())
	if refs == nil {
		return nil
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		reportIssues(c, issues)
		return nil
	}
	if out := checked.OutputType(); want != nil && !out.IsExactType(want) && out.Kind() != types.DynKind {
		c.problem("must give %s; the expression gives %s", cel.FormatCELType(want), cel.FormatCELType(out))
		return nil
	}
	program, err := env.Program(checked, cel.CostTracking(jsonCost{}), cel.CostLimit(costLimit), cel.MemoryLimit(memoryLimit))
	if err != nil {
		c.problem("%s", err)
		return nil
	}
	return &Expression{Source: src, Line: c.Line, Path: c.path, file: c.rep.File(), program: program, reads: sortedKeys(refs.steps), fields: refs.fields, input: refs.input, revises: refs.revision}
}

// reportIssues reports what CEL found, with the column in the expression. In a block scalar the
// line is the one in the file.
func reportIssues(c cursor, issues *cel.Issues) {
	for _, e := range issues.Errors() {
		line, column := c.Line, e.Location.Column()+1
		if c.Style == yaml.LiteralStyle {
			line += e.Location.Line()
		}
		msg := strings.Join(strings.Fields(e.Message), " ")
		msg = strings.TrimSuffix(msg, " (in container '')")
		if head, _, cut := strings.Cut(msg, " expecting {"); cut { // the parser lists every token it knows
			msg = head
		}
		if column < 1 || e.Location.Line() < 1 { // about the expression as a whole
			c.rep.Add(c.Line, c.path, "%s", msg)
			continue
		}
		c.rep.Add(line, c.path, "column %d of the expression: %s", column, msg)
	}
}
