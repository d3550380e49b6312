package playbook

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"sabha.dev/chassis/strictyaml"
)

// references collects the steps that an expression reads. It reports unknown steps, fields and
// inputs, and uses of the variables that cannot be followed; then it returns nil.
func (k *compiler) references(c cursor, tree *ast.AST) *refs {
	w := &refWalk{compiler: k, at: c, refs: refs{steps: map[string]bool{}}}
	w.walk(tree.Expr())
	if w.bad {
		return nil
	}
	return &w.refs
}

// refs are the variables an expression reads.
type refs struct {
	steps    map[string]bool
	fields   []Field
	input    bool
	revision bool
}

type refWalk struct {
	*compiler
	at   cursor
	refs refs
	bad  bool
}

var (
	variables    = []string{"input", "request", "revision", "steps"}
	stepFields   = []string{"output", "state"}
	outputFields = []string{"data", "state", "task", "text"}
	loopFields   = []string{"feedback", "round"}
)

func (w *refWalk) problem(format string, args ...any) {
	w.bad = true
	w.at.problem(format, args...)
}

func (w *refWalk) walk(e ast.Expr) {
	if root, names := chain(e); len(names) > 0 {
		if root.Kind() == ast.IdentKind {
			w.variable(root.AsIdent(), names)
		} else {
			w.walk(root)
		}
		return
	}
	switch e.Kind() {
	case ast.IdentKind:
		switch e.AsIdent() {
		case "input":
			w.refs.input = true
		case "revision":
			w.refs.revision = true
		case "steps":
			w.problem("steps must be followed by the id of a step, as in steps.ID.output.text; known steps: %s", strings.Join(w.order, ", "))
		}
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			w.walk(e.AsCall().Target())
		}
		for _, a := range e.AsCall().Args() {
			w.walk(a)
		}
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			w.walk(x)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			w.walk(x.AsMapEntry().Key())
			w.walk(x.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			w.walk(x.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		f := e.AsComprehension()
		for _, v := range []string{f.IterVar(), f.IterVar2()} {
			if slices.Contains(variables, v) {
				w.problem("%s is a variable of the playbook; give the loop variable another name", v)
			}
		}
		for _, x := range []ast.Expr{f.IterRange(), f.AccuInit(), f.LoopCondition(), f.LoopStep(), f.Result()} {
			w.walk(x)
		}
	}
}

// variable checks a selection such as steps.search.output.data.
func (w *refWalk) variable(name string, fields []string) {
	switch name {
	case "steps":
		id := fields[0]
		if !slices.Contains(w.order, id) {
			w.problem("%s", w.unknownStep(id, w.owner(w.at)))
			return
		}
		w.refs.steps[id] = true
		field := Field{Step: id}
		if len(fields) > 3 && fields[1] == "output" && fields[2] == "data" {
			field.Path = slices.Clone(fields[3:])
		}
		w.refs.fields = append(w.refs.fields, field)
		w.known("steps."+id, fields[1:], stepFields)
		if len(fields) > 1 && fields[1] == "output" {
			w.known("steps."+id+".output", fields[2:], outputFields)
		}
	case "revision":
		w.refs.revision = true
		w.known("revision", fields, loopFields)
		if fields[0] == "feedback" {
			w.known("revision.feedback", fields[1:], outputFields)
		}
	case "input":
		w.refs.input = true
		if w.inputFields != nil {
			w.known("input", fields, w.inputFields)
		}
	case "request":
		w.known("request", fields, requestFields)
	}
}

func (w *refWalk) known(of string, fields, known []string) {
	if len(fields) > 0 && !slices.Contains(known, fields[0]) {
		w.problem("%s has no field %q%s; it has %s", of, strictyaml.Clip(fields[0]), strictyaml.DidYouMean(fields[0], known), strings.Join(known, ", "))
	}
}

// chain takes selections apart: a.b["c"].?d is a and [b c d]; has(a.b) is a and [b].
func chain(e ast.Expr) (root ast.Expr, names []string) {
	for {
		switch e.Kind() {
		case ast.SelectKind:
			names = append(names, e.AsSelect().FieldName())
			e = e.AsSelect().Operand()
			continue
		case ast.CallKind:
			call := e.AsCall()
			switch call.FunctionName() {
			case operators.Index, operators.OptIndex, operators.OptSelect:
				if args := call.Args(); len(args) == 2 && args[1].Kind() == ast.LiteralKind {
					if s, isText := args[1].AsLiteral().(types.String); isText {
						names = append(names, string(s))
						e = args[0]
						continue
					}
				}
			}
		}
		slices.Reverse(names)
		return e, names
	}
}

// owner is the id of the step that a place in the document belongs to; empty outside of steps.
func (k *compiler) owner(c cursor) string {
	for id, src := range k.sources {
		if strings.HasPrefix(c.path, src.step.path+".") {
			return id
		}
	}
	return ""
}
