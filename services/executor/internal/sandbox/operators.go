package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

type hidden func(args starlark.Tuple) (starlark.Value, error)

func (m *meter) hide(name string, f hidden) starlark.Value {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return f(args)
	})
}

// operators are the functions that instrumented source calls.
func (m *meter) operators() starlark.StringDict {
	env := starlark.StringDict{}
	for op := syntax.PLUS; op <= syntax.GTGT_EQ; op++ {
		binary, augmented := baseOperator(op)
		switch {
		case augmented:
			env[operatorName(op)] = m.hide(operatorName(op), func(a starlark.Tuple) (starlark.Value, error) { return m.inPlace(binary, a[0], a[1]) })
		case binary != syntax.ILLEGAL:
			env[operatorName(op)] = m.hide(operatorName(op), func(a starlark.Tuple) (starlark.Value, error) { return m.binary(binary, a[0], a[1]) })
		}
	}
	for _, op := range []syntax.Token{syntax.IN, syntax.NOT_IN} {
		env[operatorName(op)] = m.hide(operatorName(op), func(a starlark.Tuple) (starlark.Value, error) { return m.binary(op, a[0], a[1]) })
	}
	// Each counts something about its last argument and gives that back.
	counting := map[string]func(a starlark.Tuple) error{
		newName: func(a starlark.Tuple) error {
			if err := checkInt(a[0]); err != nil {
				return err
			}
			return m.charge(sizeOf(a[0]))
		},
		baseName: func(a starlark.Tuple) error {
			if a[0].Type() == "list" {
				return m.charge(listBytes)
			}
			return m.charge(tableBytes)
		},
		keyName: func(a starlark.Tuple) error { return m.key(a[0]) },
		slotName: func(a starlark.Tuple) error {
			switch v := a[0].(type) {
			case starlark.Int, starlark.Float:
				return m.charge(slotBytes + sizeOf(v))
			}
			return m.charge(2 * slotBytes)
		},
		entryName: func(starlark.Tuple) error { return m.charge(entryBytes) },
		indexName: func(a starlark.Tuple) error { return m.place(a[0], a[1]) },
		growName: func(a starlark.Tuple) error {
			if _, ok := a[0].(*starlark.Dict); ok {
				return m.charge(entryBytes)
			}
			return nil
		},
		spreadName: func(a starlark.Tuple) error { return m.spread(a[0]) },
		thenName:   func(starlark.Tuple) error { return nil },
	}
	for name, count := range counting {
		env[name] = m.hide(name, func(a starlark.Tuple) (starlark.Value, error) {
			if err := count(a); err != nil {
				return nil, err
			}
			return a[len(a)-1], nil
		})
	}
	env[attrName] = m.hide(attrName, func(a starlark.Tuple) (starlark.Value, error) {
		name, _ := starlark.AsString(a[1])
		return m.attr(a[0], name)
	})
	return env
}

// baseOperator is the operator of a token, and whether the token is its
// augmented form; ILLEGAL for a token that is no operator of two values.
func baseOperator(op syntax.Token) (binary syntax.Token, augmented bool) {
	switch op {
	case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH, syntax.SLASHSLASH, syntax.PERCENT,
		syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT,
		syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE:
		return op, false
	case syntax.PLUS_EQ, syntax.MINUS_EQ, syntax.STAR_EQ, syntax.SLASH_EQ, syntax.SLASHSLASH_EQ, syntax.PERCENT_EQ,
		syntax.AMP_EQ, syntax.PIPE_EQ, syntax.CIRCUMFLEX_EQ, syntax.LTLT_EQ, syntax.GTGT_EQ:
		return op - syntax.PLUS_EQ + syntax.PLUS, true
	}
	return syntax.ILLEGAL, false
}

// binary is x op y, counted.
func (m *meter) binary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if x.Type() == y.Type() {
			if err := m.workOver(x); err != nil {
				return nil, err
			}
		}
		same, err := starlark.Compare(op, x, y)
		return starlark.Bool(same), err
	case syntax.IN, syntax.NOT_IN:
		if err := m.membership(x, y); err != nil {
			return nil, err
		}
		return starlark.Binary(op, x, y)
	}
	size, work, err := m.operands(op, x, y)
	if err != nil {
		return nil, err
	}
	if err := m.reserve(size); err != nil {
		return nil, err
	}
	if err := m.work(work); err != nil {
		return nil, err
	}
	z, err := starlark.Binary(op, x, y)
	if err != nil {
		return nil, err
	}
	if err := checkInt(z); err != nil {
		return nil, err
	}
	return z, m.charge(sizeOf(z))
}

// operands gives an upper bound of the size of x op y and the work it takes.
func (m *meter) operands(op syntax.Token, x, y starlark.Value) (size, work int64, err error) {
	xi, xIsInt := x.(starlark.Int)
	yi, yIsInt := y.(starlark.Int)
	switch {
	case xIsInt && yIsInt:
		a, b := intBytes(xi), intBytes(yi)
		if op == syntax.STAR && a+b > MaxIntBits/8+3*48 {
			return 0, 0, tooManyBits()
		}
		return a + b, a * b >> 12, nil
	case op == syntax.STAR && yIsInt:
		size = repeated(x, yi)
	case op == syntax.STAR && xIsInt:
		size = repeated(y, xi)
	case op == syntax.PLUS:
		size = sizeOf(x) + sizeOf(y)
	case op == syntax.PERCENT:
		if format, ok := x.(starlark.String); ok {
			if size, err = m.formatted(string(format), y); err != nil {
				return 0, 0, err
			}
		}
	default: // set and dict algebra
		if length(x)+length(y) > 0 {
			return sizeOf(x) + sizeOf(y), length(x) + length(y), nil
		}
	}
	return size, size / textPerHop, nil
}

// repeated is the size of v * n; -1 for one above any limit.
func repeated(v starlark.Value, n starlark.Int) int64 {
	times, ok := n.Int64()
	switch {
	case n.Sign() <= 0:
		return listBytes
	case length(v) == 0 && starlark.Len(v) <= 0:
		return listBytes
	case !ok:
		return -1
	}
	each := int64(starlark.Len(v))
	if length(v) > 0 {
		each *= slotBytes
	}
	elements := product(each, times)
	if elements < 0 {
		return -1
	}
	return listBytes + elements
}

// formatted bounds the text that format % v makes.
func (m *meter) formatted(format string, v starlark.Value) (int64, error) {
	room := m.limits.Memory - m.used
	size, err := textSize(v, room)
	if err != nil {
		return 0, err
	}
	if _, ok := v.(*starlark.Dict); ok { // %(name)s may repeat
		size = product(size, int64(strings.Count(format, "%")))
	}
	if size < 0 {
		return -1, nil
	}
	return size + int64(len(format)), nil
}

// membership counts the work of x in y.
func (m *meter) membership(x, y starlark.Value) error {
	switch y := y.(type) {
	case starlark.String:
		return m.work(int64(len(y)) / textPerHop)
	case *starlark.List, starlark.Tuple:
		n, err := weight(x, m.limits.Steps)
		if err != nil {
			return err
		}
		return m.work(product(n, length(y)))
	case *starlark.Dict, *starlark.Set:
		return m.key(x)
	}
	return nil
}

// maxKey bounds the work of hashing one key.
const maxKey = 1 << 16

// key counts the work of hashing k. A tuple of tuples may unfold into a tree
// that would take for ever.
func (m *meter) key(k starlark.Value) error {
	switch k := k.(type) {
	case starlark.String:
		return m.work(int64(len(k)) / textPerHop)
	case starlark.Tuple:
		n, err := weight(k, maxKey)
		if err != nil {
			return err
		}
		if n > maxKey {
			return &Failure{Kind: Depth, Message: fmt.Sprintf("a key is made of more than %d values", maxKey)}
		}
		return m.work(n)
	}
	return nil
}

// place counts the entry that c[k] = v makes in a dict.
func (m *meter) place(c, k starlark.Value) error {
	if err := m.key(k); err != nil {
		return err
	}
	d, ok := c.(*starlark.Dict)
	if !ok {
		return nil
	}
	if _, found, err := d.Get(k); err != nil || found {
		return nil // the assignment itself reports a key that cannot be hashed
	}
	return m.charge(entryBytes)
}

// spread counts the elements of *v or the entries of **v.
func (m *meter) spread(v starlark.Value) error {
	n := length(v)
	if err := m.work(n); err != nil {
		return err
	}
	per := int64(slotBytes)
	if _, ok := v.(*starlark.Dict); ok {
		per = entryBytes
	}
	if err := m.charge(product(n, per)); err != nil {
		return err
	}
	return m.charge(elementBytes(v))
}

// inPlace is x op= y: lists and dicts change, all else is made anew.
func (m *meter) inPlace(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List:
		if _, ok := y.(starlark.Iterable); ok && op == syntax.PLUS {
			return x, m.extend(x, y)
		}
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok && op == syntax.PIPE {
			if err := m.charge(product(int64(y.Len()), entryBytes)); err != nil {
				return nil, err
			}
			if err := m.work(int64(y.Len())); err != nil {
				return nil, err
			}
			for _, item := range y.Items() {
				if err := x.SetKey(item[0], item[1]); err != nil {
					return nil, err
				}
			}
			return x, nil
		}
	}
	return m.binary(op, x, y)
}

func (m *meter) extend(list *starlark.List, v starlark.Value) error {
	if err := m.spread(v); err != nil {
		return err
	}
	n := int(length(v))
	added := make([]starlark.Value, 0, n)
	iter := starlark.Iterate(v)
	if iter == nil {
		return errors.New("value is not iterable")
	}
	var e starlark.Value
	for iter.Next(&e) {
		added = append(added, e)
	}
	iter.Done()
	for _, e := range added {
		if err := list.Append(e); err != nil {
			return err
		}
	}
	return nil
}
