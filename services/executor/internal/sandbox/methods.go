package sandbox

import (
	"fmt"
	"strings"
	"unicode"

	"go.starlark.net/starlark"
)

// attr is object.name. A method comes back counted by its rule.
func (m *meter) attr(object starlark.Value, name string) (starlark.Value, error) {
	has, ok := object.(starlark.HasAttrs)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s field or method", object.Type(), name)
	}
	v, err := has.Attr(name)
	if err != nil {
		return nil, err
	}
	target, isMethod := v.(*starlark.Builtin)
	switch {
	case v == nil:
		return nil, fmt.Errorf("%s has no .%s field or method", object.Type(), name)
	case !isMethod || target.Receiver() == nil:
		return v, nil // a member of a module, which is counted already
	}
	r, ok := methods[object.Type()][name]
	if !ok {
		return nil, fmt.Errorf("%s.%s is not available here", object.Type(), name)
	}
	views := viewMethods[name]
	method := starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := m.invoke(t, &call{m: m, name: name, recv: object, args: args, kwargs: kwargs}, r, target)
		if err != nil || !views {
			return v, err
		}
		return listOf(v), nil
	})
	return method.BindReceiver(object), nil
}

// viewMethods give an iterable over a text that has no length of its own; here
// they give a list, so that all that can be iterated can be counted.
var viewMethods = map[string]bool{"elems": true, "elem_ords": true, "codepoints": true, "codepoint_ords": true}

func listOf(v starlark.Value) starlark.Value {
	iter := starlark.Iterate(v)
	if iter == nil {
		return v
	}
	defer iter.Done()
	var elements []starlark.Value
	var e starlark.Value
	for iter.Next(&e) {
		elements = append(elements, e)
	}
	return starlark.NewList(elements)
}

var methods = map[string]map[string]rule{
	"bytes": {"elems": view},
	"string": {
		"capitalize": recased, "lower": recased, "title": recased, "upper": recased,
		"codepoint_ords": view, "codepoints": view, "elem_ords": view, "elems": view,
		"count": searched, "find": searched, "index": searched, "rfind": searched, "rindex": searched,
		"startswith": searched, "endswith": searched,
		"isalnum": searched, "isalpha": searched, "isdigit": searched, "islower": searched,
		"isspace": searched, "istitle": searched, "isupper": searched,
		"format": formatRule, "join": joinRule, "replace": replaceRule,
		"lstrip": stripped, "rstrip": stripped, "strip": stripped,
		"removeprefix": searched, "removesuffix": searched,
		"partition": partitioned, "rpartition": partitioned,
		"split": splitRule, "rsplit": splitRule, "splitlines": splitRule,
	},
	"list": {
		"append": constant(2 * slotBytes),
		"clear":  constant(0),
		"extend": func(c *call) (int64, error) { return c.copied(), c.m.work(c.total()) },
		"index":  eachCompared,
		"insert": func(c *call) (int64, error) { return 2 * slotBytes, c.m.work(length(c.recv) / slotBytes) },
		"pop":    func(c *call) (int64, error) { return 0, c.m.work(length(c.recv) / slotBytes) },
		"remove": eachCompared,
	},
	"dict": {
		"clear":      constant(0),
		"get":        hashing(0),
		"items":      each(listBytes + 3*slotBytes),
		"keys":       each(slotBytes),
		"pop":        hashing(0),
		"popitem":    constant(listBytes + 2*slotBytes),
		"setdefault": setdefaultRule,
		"update":     through(0, entryBytes),
		"values":     each(slotBytes),
	},
	"set": {
		"add":                  hashing(entryBytes),
		"clear":                constant(0),
		"difference":           setAlgebra,
		"discard":              hashing(0),
		"intersection":         setAlgebra,
		"issubset":             setAlgebra,
		"issuperset":           setAlgebra,
		"pop":                  constant(0),
		"remove":               hashing(0),
		"symmetric_difference": setAlgebra,
		"union":                setAlgebra,
		"update":               through(0, entryBytes),
	},
}

// receiver is the text that a method is called on.
func (c *call) receiver() string {
	s, _ := starlark.AsString(c.recv)
	return s
}

func view(c *call) (int64, error) {
	n := int64(starlark.Len(c.recv))
	if b, ok := c.recv.(starlark.Bytes); ok {
		n = int64(len(b))
	}
	size := listBytes + product(n, 3*slotBytes)
	c.settle = func(starlark.Value) int64 { return size }
	return size, c.m.work(n)
}

func recased(c *call) (int64, error) {
	n := int64(len(c.receiver()))
	return 16 + 3*n, c.m.work(n / textPerHop * 4)
}

func searched(c *call) (int64, error) {
	texts := int64(1)
	for _, v := range c.args {
		texts += length(v) // startswith takes a tuple
	}
	if err := c.m.work(product(int64(len(c.receiver()))/textPerHop+1, texts)); err != nil {
		return 0, err
	}
	return 16, c.visitAll()
}

func stripped(c *call) (int64, error) {
	cutset := int64(1)
	for _, v := range c.args {
		cutset += sizeOf(v)
	}
	return 16, c.m.work(product(int64(len(c.receiver())), cutset) / textPerHop)
}

func partitioned(c *call) (int64, error) {
	return listBytes + 6*slotBytes, c.m.work(int64(len(c.receiver())) / textPerHop)
}

func formatRule(c *call) (int64, error) {
	size := int64(len(c.receiver()))
	var largest int64
	for _, v := range c.operandsOf() {
		n, err := textSize(v, c.m.limits.Memory)
		if err != nil {
			return 0, err
		}
		largest = max(largest, n)
	}
	inserted := product(largest, int64(strings.Count(c.receiver(), "{")))
	if inserted < 0 {
		return -1, nil
	}
	return size + inserted, c.m.work((size + inserted) / textPerHop)
}

func joinRule(c *call) (int64, error) {
	if len(c.args) != 1 {
		return 0, nil
	}
	n := length(c.args[0])
	if err := c.m.work(n); err != nil {
		return 0, err
	}
	separators := product(n, int64(len(c.receiver())))
	if separators < 0 {
		return -1, nil
	}
	size := 16 + separators
	iter := starlark.Iterate(c.args[0])
	if iter == nil {
		return size, nil
	}
	defer iter.Done()
	var e starlark.Value
	for iter.Next(&e) {
		s, ok := starlark.AsString(e)
		if !ok {
			break // the call itself reports it
		}
		if size += int64(len(s)); size > c.m.limits.Memory {
			return -1, nil
		}
	}
	return size, c.m.work(size / textPerHop)
}

func replaceRule(c *call) (int64, error) {
	s := c.receiver()
	if len(c.args) < 2 {
		return 16, nil
	}
	from, _ := starlark.AsString(c.args[0])
	to, _ := starlark.AsString(c.args[1])
	if err := c.m.work(int64(len(s)) / textPerHop * 2); err != nil {
		return 0, err
	}
	made := product(int64(strings.Count(s, from)), int64(len(to)))
	if made < 0 {
		return -1, nil
	}
	return 16 + int64(len(s)) + made, c.m.work(made / textPerHop)
}

func splitRule(c *call) (int64, error) {
	s := c.receiver()
	var pieces int64
	separator := ""
	if len(c.args) > 0 {
		separator, _ = starlark.AsString(c.args[0])
	}
	switch {
	case c.name == "splitlines":
		pieces = int64(strings.Count(s, "\n")+strings.Count(s, "\r")) + 1
	case separator != "":
		pieces = int64(strings.Count(s, separator)) + 1
	default:
		inWord := false
		for _, r := range s {
			space := unicode.IsSpace(r)
			if !space && !inWord {
				pieces++
			}
			inWord = !space
		}
	}
	// With a limit of splits there are fewer pieces.
	c.settle = func(v starlark.Value) int64 { return listBytes + 2*slotBytes*length(v) }
	return listBytes + product(pieces, 2*slotBytes), c.m.work(pieces + int64(len(s))/textPerHop)
}

// eachCompared is the rule of methods that compare each element with the operand.
func eachCompared(c *call) (int64, error) {
	n := int64(1)
	for _, v := range c.args {
		w, err := weight(v, c.m.limits.Steps)
		if err != nil {
			return 0, err
		}
		n += w
	}
	return 0, c.m.work(product(n, length(c.recv)))
}

// each is the rule of methods that make per bytes for each element of the receiver.
func each(per int64) rule {
	return func(c *call) (int64, error) {
		n := length(c.recv)
		return listBytes + product(n, per), c.m.work(n)
	}
}

func setdefaultRule(c *call) (int64, error) {
	if err := c.hashAll(); err != nil {
		return 0, err
	}
	if d, ok := c.recv.(*starlark.Dict); ok && len(c.args) > 0 {
		if _, found, err := d.Get(c.args[0]); err != nil || found {
			return 0, nil
		}
	}
	return entryBytes, nil
}

func setAlgebra(c *call) (int64, error) {
	n := product(c.total()+length(c.recv), entryBytes)
	if n < 0 {
		return -1, nil
	}
	c.settle = func(v starlark.Value) int64 { return sizeOf(v) }
	if err := c.m.work(length(c.recv)); err != nil {
		return 0, err
	}
	return tableBytes + n, c.visitAll()
}
