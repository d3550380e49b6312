package sandbox

import (
	"fmt"
	"math/big"

	"go.starlark.net/syntax"
)

// Names of the functions that the rewritten source calls. No source can spell them.
const (
	attrName   = "«attr»"   // (x, name) → x.name
	newName    = "«new»"    // (v) → v, whose own size is counted
	baseName   = "«base»"   // (v) → v, whose size is counted but for its elements
	keyName    = "«key»"    // (k) → k, whose hashing is counted
	slotName   = "«slot»"   // (v) → v, with a place in a list
	entryName  = "«entry»"  // (v) → v, with a place in a dict or set
	indexName  = "«index»"  // (c, k) → k, with a place in c if that is a dict without k
	growName   = "«grow»"   // (c) → c, with a place in it if it is a dict
	spreadName = "«spread»" // (v) → v, as *v or **v in a call
	thenName   = "«then»"   // (a, b) → b
	lastName   = "«last»"   // variable: the value of the last line
	boxName    = "«c»"      // variable: the container of an assignment
	atName     = "«k»"      // variable: its index
)

func operatorName(op syntax.Token) string { return "«" + op.String() + "»" }

// instrument rewrites a parsed file so that every operation whose cost is not
// constant passes the meter. Positions are kept, so errors name the author's lines.
func instrument(file *syntax.File) error {
	r := &rewriter{}
	if n := len(file.Stmts); n > 0 {
		if last, ok := file.Stmts[n-1].(*syntax.ExprStmt); ok {
			pos := syntax.Start(last)
			file.Stmts[n-1] = &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: ident(pos, lastName), RHS: last.X}
		}
	}
	file.Stmts = r.block(file.Stmts)
	return r.err
}

type rewriter struct {
	depth int
	err   error
}

func (r *rewriter) fail(pos syntax.Position, format string, args ...any) {
	if r.err == nil {
		r.err = &Failure{Kind: Syntax, Line: int(pos.Line), Message: fmt.Sprintf(format, args...)}
	}
}

// enter counts nesting and tells whether to go on.
func (r *rewriter) enter(n syntax.Node) bool {
	r.depth++
	if r.depth > MaxNesting {
		r.fail(syntax.Start(n), "the code nests more than %d deep; split it over several lines", MaxNesting)
	}
	return r.err == nil
}

func (r *rewriter) leave() { r.depth-- }

func ident(pos syntax.Position, name string) *syntax.Ident {
	return &syntax.Ident{NamePos: pos, Name: name}
}

func callOf(pos syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: ident(pos, name), Lparen: pos, Args: args, Rparen: pos}
}

func (r *rewriter) block(stmts []syntax.Stmt) []syntax.Stmt {
	out := make([]syntax.Stmt, 0, len(stmts))
	for _, s := range stmts {
		if !r.enter(s) {
			return out
		}
		out = append(out, r.stmt(s)...)
		r.leave()
	}
	return out
}

func (r *rewriter) stmt(s syntax.Stmt) []syntax.Stmt {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return r.assign(s)
	case *syntax.DefStmt:
		counted := r.params(s.Params)
		s.Body = append(counted, r.block(s.Body)...)
		return []syntax.Stmt{s, &syntax.ExprStmt{X: callOf(s.Def, newName, ident(s.Def, s.Name.Name))}}
	case *syntax.ExprStmt:
		s.X = r.expr(s.X)
	case *syntax.ForStmt:
		s.Vars, s.X, s.Body = r.target(s.Vars), r.expr(s.X), r.block(s.Body)
	case *syntax.WhileStmt:
		s.Cond, s.Body = r.expr(s.Cond), r.block(s.Body)
	case *syntax.IfStmt:
		s.Cond, s.True = r.expr(s.Cond), r.block(s.True)
		if s.False != nil {
			s.False = r.block(s.False)
		}
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = r.expr(s.Result)
		}
	case *syntax.LoadStmt:
		r.fail(s.Load, "load is not available here; a snippet is one file")
	case *syntax.BranchStmt:
	default:
		r.fail(syntax.Start(s), "this statement is not available here")
	}
	return []syntax.Stmt{s}
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// assign rewrites a = b, c[k] = b and their augmented forms. A container that is
// not a plain name is put in a variable first, so that it is evaluated once.
func (r *rewriter) assign(s *syntax.AssignStmt) []syntax.Stmt {
	var before []syntax.Stmt
	hold := func(e syntax.Expr, name string) syntax.Expr {
		if id, ok := e.(*syntax.Ident); ok && id.Name != name {
			return e
		}
		before = append(before, &syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: ident(s.OpPos, name), RHS: e})
		return ident(s.OpPos, name)
	}
	copyOf := func(e syntax.Expr) syntax.Expr {
		id := e.(*syntax.Ident)
		return ident(id.NamePos, id.Name)
	}
	left := unparen(s.LHS)
	augmented := s.Op != syntax.EQ

	if index, ok := left.(*syntax.IndexExpr); ok {
		box := hold(r.expr(index.X), boxName)
		key := r.expr(index.Y)
		if augmented {
			key = hold(key, atName)
			old := &syntax.IndexExpr{X: copyOf(box), Lbrack: index.Lbrack, Y: callOf(index.Lbrack, keyName, copyOf(key)), Rbrack: index.Rbrack}
			s.RHS = callOf(s.OpPos, operatorName(s.Op), old, r.expr(s.RHS))
			s.Op = syntax.EQ
		} else {
			s.RHS = r.expr(s.RHS)
		}
		s.LHS = &syntax.IndexExpr{X: box, Lbrack: index.Lbrack, Y: callOf(index.Lbrack, indexName, copyOf(box), key), Rbrack: index.Rbrack}
		return append(before, s)
	}
	if id, ok := left.(*syntax.Ident); ok && augmented {
		s.RHS = callOf(s.OpPos, operatorName(s.Op), ident(id.NamePos, id.Name), r.expr(s.RHS))
		s.Op = syntax.EQ
		return []syntax.Stmt{s}
	}
	s.LHS = r.target(s.LHS)
	// The tuple of a, b = x, y lives for a moment only.
	if to, ok := left.(*syntax.TupleExpr); ok {
		if from, ok := unparen(s.RHS).(*syntax.TupleExpr); ok && len(from.List) == len(to.List) {
			from.List = r.exprs(from.List)
			return []syntax.Stmt{s}
		}
	}
	s.RHS = r.expr(s.RHS)
	return []syntax.Stmt{s}
}

// target rewrites what is assigned to.
func (r *rewriter) target(e syntax.Expr) syntax.Expr {
	if !r.enter(e) {
		return e
	}
	defer r.leave()
	switch e := e.(type) {
	case *syntax.ParenExpr:
		e.X = r.target(e.X)
	case *syntax.TupleExpr:
		for i := range e.List {
			e.List[i] = r.target(e.List[i])
		}
	case *syntax.ListExpr:
		for i := range e.List {
			e.List[i] = r.target(e.List[i])
		}
	case *syntax.IndexExpr:
		e.X = callOf(e.Lbrack, growName, r.expr(e.X))
		e.Y = callOf(e.Lbrack, keyName, r.expr(e.Y))
	case *syntax.DotExpr:
		e.X = r.expr(e.X)
	}
	return e
}

// params rewrites the defaults of parameters and returns the statements that
// count *args and **kwargs on entry.
func (r *rewriter) params(params []syntax.Expr) []syntax.Stmt {
	var counted []syntax.Stmt
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.BinaryExpr: // name = default
			p.Y = r.expr(p.Y)
		case *syntax.UnaryExpr: // *args, **kwargs, or a bare *
			if id, ok := p.X.(*syntax.Ident); ok {
				counted = append(counted, &syntax.ExprStmt{X: callOf(p.OpPos, newName, ident(id.NamePos, id.Name))})
			}
		}
	}
	return counted
}

func (r *rewriter) exprs(list []syntax.Expr) []syntax.Expr {
	for i := range list {
		list[i] = r.expr(list[i])
	}
	return list
}

// expr rewrites what is evaluated.
func (r *rewriter) expr(e syntax.Expr) syntax.Expr {
	if e == nil || !r.enter(e) {
		return e
	}
	defer r.leave()
	pos := syntax.Start(e)
	switch e := e.(type) {
	case *syntax.Ident:
		return e
	case *syntax.Literal:
		if n, ok := e.Value.(*big.Int); ok && n.BitLen() > MaxIntBits {
			r.fail(pos, "an integer has more than %d bits, the limit here", MaxIntBits)
		}
		return e
	case *syntax.ParenExpr:
		e.X = r.expr(e.X)
		return e
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = r.expr(e.Cond), r.expr(e.True), r.expr(e.False)
		return e
	case *syntax.BinaryExpr:
		e.X, e.Y = r.expr(e.X), r.expr(e.Y)
		if e.Op == syntax.AND || e.Op == syntax.OR {
			return e
		}
		return callOf(e.OpPos, operatorName(e.Op), e.X, e.Y)
	case *syntax.UnaryExpr:
		_, literal := e.X.(*syntax.Literal)
		e.X = r.expr(e.X)
		if e.Op == syntax.NOT || literal {
			return e
		}
		return callOf(pos, newName, e)
	case *syntax.DotExpr:
		return callOf(pos, newName, r.attr(e))
	case *syntax.CallExpr:
		return r.call(e)
	case *syntax.IndexExpr:
		e.X, e.Y = r.expr(e.X), r.expr(e.Y)
		if _, literal := e.Y.(*syntax.Literal); !literal {
			e.Y = callOf(e.Lbrack, keyName, e.Y)
		}
		return e
	case *syntax.SliceExpr:
		e.X, e.Lo, e.Hi, e.Step = r.expr(e.X), r.expr(e.Lo), r.expr(e.Hi), r.expr(e.Step)
		return callOf(e.Lbrack, newName, e)
	case *syntax.ListExpr:
		e.List = r.exprs(e.List)
		return callOf(pos, newName, e)
	case *syntax.TupleExpr:
		e.List = r.exprs(e.List)
		return callOf(pos, newName, e)
	case *syntax.DictExpr:
		for _, item := range e.List {
			r.entry(item)
		}
		return callOf(pos, newName, e)
	case *syntax.Comprehension:
		return r.comprehension(e)
	case *syntax.LambdaExpr:
		counted := r.params(e.Params)
		e.Body = r.expr(e.Body)
		for _, c := range counted {
			x := c.(*syntax.ExprStmt).X
			e.Body = callOf(syntax.Start(x), thenName, x, e.Body)
		}
		return callOf(pos, newName, e)
	default:
		r.fail(pos, "this expression is not available here")
		return e
	}
}

func (r *rewriter) attr(e *syntax.DotExpr) syntax.Expr {
	name := &syntax.Literal{Token: syntax.STRING, TokenPos: e.NamePos, Raw: e.Name.Name, Value: e.Name.Name}
	return callOf(e.Dot, attrName, r.expr(e.X), name)
}

func (r *rewriter) call(e *syntax.CallExpr) syntax.Expr {
	if dot, ok := e.Fn.(*syntax.DotExpr); ok {
		e.Fn = r.attr(dot)
	} else {
		e.Fn = r.expr(e.Fn)
	}
	for i, arg := range e.Args {
		switch arg := arg.(type) {
		case *syntax.BinaryExpr:
			if arg.Op == syntax.EQ { // name = value
				arg.Y = r.expr(arg.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if arg.Op == syntax.STAR || arg.Op == syntax.STARSTAR {
				arg.X = callOf(arg.OpPos, spreadName, r.expr(arg.X))
				continue
			}
		}
		e.Args[i] = r.expr(arg)
	}
	return e
}

func (r *rewriter) entry(e syntax.Expr) {
	if item, ok := e.(*syntax.DictEntry); ok {
		item.Key = callOf(item.Colon, keyName, r.expr(item.Key))
		item.Value = r.expr(item.Value)
	}
}

func (r *rewriter) comprehension(e *syntax.Comprehension) syntax.Expr {
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.Vars, c.X = r.target(c.Vars), r.expr(c.X)
		case *syntax.IfClause:
			c.Cond = r.expr(c.Cond)
		}
	}
	pos := syntax.Start(e.Body)
	if item, ok := e.Body.(*syntax.DictEntry); ok {
		r.entry(item)
		item.Value = callOf(pos, entryName, item.Value)
	} else if e.Curly {
		e.Body = callOf(pos, entryName, callOf(pos, keyName, r.expr(e.Body)))
	} else {
		e.Body = callOf(pos, slotName, r.expr(e.Body))
	}
	return callOf(syntax.Start(e), baseName, e)
}
