package sandbox

import (
	"encoding/json"
	"fmt"
	"math/bits"

	starlarkmath "go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// call is one call of a built-in function or method, before it is made.
type call struct {
	m      *meter
	name   string
	recv   starlark.Value // nil for a function
	args   starlark.Tuple
	kwargs []starlark.Tuple
	// settle gives what the result really takes where the rule's bound is loose.
	settle func(result starlark.Value) int64
}

// rule counts the work of a call and gives an upper bound of the bytes it asks
// for. A built-in without a rule does not exist here.
type rule func(c *call) (int64, error)

// operandsOf are the values passed, positional and named.
func (c *call) operandsOf() []starlark.Value {
	values := append([]starlark.Value(nil), c.args...)
	for _, kw := range c.kwargs {
		values = append(values, kw[1])
	}
	return values
}

// visitAll counts the work of going through all operands.
func (c *call) visitAll() error {
	for _, v := range c.operandsOf() {
		if err := c.m.visit(v); err != nil {
			return err
		}
	}
	return nil
}

// total is the number of elements of all operands.
func (c *call) total() int64 {
	var n int64
	for _, v := range c.operandsOf() {
		n += length(v)
	}
	return n
}

// copied is what a list of the elements of all operands takes.
func (c *call) copied() int64 {
	n := product(c.total(), slotBytes)
	if n < 0 {
		return -1
	}
	n += listBytes
	for _, v := range c.operandsOf() {
		if made := elementBytes(v); made < 0 {
			return -1
		} else if n += made; n < 0 {
			return -1
		}
	}
	return n
}

// meterKey replaces the key function of sorted, min and max by one that counts
// the work of comparing what it gives, once for each of rounds.
func (c *call) meterKey(rounds int64) {
	for i, kw := range c.kwargs {
		inner, ok := kw[1].(starlark.Callable)
		if name, _ := starlark.AsString(kw[0]); name != "key" || !ok {
			continue
		}
		counted := starlark.NewBuiltin("key", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			v, err := starlark.Call(t, inner, args, kwargs)
			if err != nil {
				return nil, err
			}
			n, err := weight(v, c.m.limits.Steps)
			if err != nil {
				return nil, err
			}
			return v, c.m.work(product(n, rounds))
		})
		kwargs := append([]starlark.Tuple(nil), c.kwargs...)
		kwargs[i] = starlark.Tuple{kw[0], counted}
		c.kwargs = kwargs
	}
}

// invoke makes a call that a rule allows.
func (m *meter) invoke(t *starlark.Thread, c *call, r rule, target *starlark.Builtin) (starlark.Value, error) {
	bound, err := r(c)
	if err != nil {
		return nil, err
	}
	if err := m.reserve(bound); err != nil {
		return nil, err
	}
	v, err := target.CallInternal(t, c.args, c.kwargs)
	if err != nil {
		return nil, err
	}
	if err := checkInt(v); err != nil {
		return nil, err
	}
	switch v.(type) {
	case starlark.String, starlark.Bytes, starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType:
		if c.settle == nil && bound > sizeOf(v) && !keepsBound[c.name] {
			bound = sizeOf(v)
		}
	}
	if c.settle != nil {
		bound = c.settle(v)
	}
	return v, m.charge(bound)
}

// keepsBound names methods that give a scalar but change their receiver.
var keepsBound = map[string]bool{"append": true, "extend": true, "insert": true, "setdefault": true, "update": true, "add": true}

// constant is the rule of what costs the same for every operand.
func constant(n int64) rule {
	return func(*call) (int64, error) { return n, nil }
}

// hashing is the rule of what reads a text or hashes a key.
func hashing(n int64) rule {
	return func(c *call) (int64, error) { return n, c.hashAll() }
}

// hashAll counts the work of reading or hashing each operand.
func (c *call) hashAll() error {
	for _, v := range c.operandsOf() {
		if err := c.m.key(v); err != nil {
			return err
		}
	}
	return nil
}

func logarithm(n int64) int64 { return int64(bits.Len64(uint64(n))) + 1 }

// written is the rule of functions that write values as text, with a separator
// between them where they take one.
func written(c *call) (int64, error) {
	var size int64
	for _, kw := range c.kwargs {
		if sep, ok := starlark.AsString(kw[1]); ok {
			if size += product(int64(len(sep)), int64(len(c.args))); size < 0 {
				return -1, nil
			}
		}
	}
	for _, v := range c.operandsOf() {
		n, err := textSize(v, c.m.limits.Memory)
		if err != nil {
			return 0, err
		}
		if size += n; size > c.m.limits.Memory {
			return -1, nil
		}
	}
	return size, c.m.work(size / textPerHop)
}

// through is the rule of functions that go through iterables and make per bytes
// for each element.
func through(base, per int64) rule {
	return func(c *call) (int64, error) {
		n := product(c.total(), per)
		if n < 0 {
			return -1, nil
		}
		return base + n, c.visitAll()
	}
}

func listing(c *call) (int64, error) { return c.copied(), c.visitAll() }

var functions = map[string]rule{
	"abs":       func(c *call) (int64, error) { return 64 + MaxIntBits/8, nil },
	"all":       through(0, 0),
	"any":       through(0, 0),
	"bool":      constant(0),
	"bytes":     func(c *call) (int64, error) { return bytesSize(c), c.visitAll() },
	"chr":       constant(32),
	"dict":      through(tableBytes, entryBytes),
	"dir":       constant(2048),
	"enumerate": through(listBytes, 2*slotBytes+listBytes+2*slotBytes+48),
	"fail":      written,
	"float":     hashing(16),
	"hasattr":   constant(0),
	"hash":      hashing(0),
	"int":       intRule,
	"len":       constant(0),
	"list":      listing,
	"max":       extreme,
	"min":       extreme,
	"ord":       hashing(0),
	"print":     written,
	"range":     constant(funcBytes),
	"repr":      written,
	"reversed":  listing,
	"set":       through(tableBytes, entryBytes),
	"sorted":    sortedRule,
	"str":       written,
	"tuple":     listing,
	"type":      constant(0),
	"zip":       zipRule,
}

func bytesSize(c *call) int64 {
	n := int64(16)
	for _, v := range c.operandsOf() {
		n += sizeOf(v) + length(v)
	}
	return n
}

func intRule(c *call) (int64, error) {
	for _, v := range c.operandsOf() {
		if s, ok := v.(starlark.String); ok && len(s) > MaxIntBits {
			return 0, tooManyBits()
		}
	}
	return 64 + MaxIntBits/8, c.hashAll()
}

func extreme(c *call) (int64, error) {
	c.meterKey(1)
	return 64, c.visitAll()
}

func sortedRule(c *call) (int64, error) {
	rounds := logarithm(c.total())
	for range rounds {
		if err := c.visitAll(); err != nil {
			return 0, err
		}
	}
	c.meterKey(rounds)
	return c.copied(), nil
}

func zipRule(c *call) (int64, error) {
	if len(c.args) == 0 {
		return listBytes, nil
	}
	shortest := length(c.args[0])
	for _, v := range c.args[1:] {
		shortest = min(shortest, length(v))
	}
	width := int64(len(c.args))
	made := product(shortest, 2*slotBytes+listBytes+width*(slotBytes+48))
	if made < 0 {
		return -1, nil
	}
	return listBytes + made, c.m.work(product(shortest, width))
}

// environment holds the names that a snippet finds: Starlark's own functions,
// counted, the modules json and math, and its inputs.
func (m *meter) environment(inputs json.RawMessage) (starlark.StringDict, error) {
	env := m.operators()
	for name, v := range starlark.Universe {
		target, ok := v.(*starlark.Builtin)
		if !ok {
			env[name] = v // None, True, False
			continue
		}
		if r, ok := functions[name]; ok {
			env[name] = m.function(name, r, target)
		}
	}
	env["getattr"] = starlark.NewBuiltin("getattr", m.getattr)
	env["print"] = m.printing(env["print"].(*starlark.Builtin))
	env["json"] = &starlarkstruct.Module{Name: "json", Members: m.jsonFunctions()}
	numbers := starlark.StringDict{}
	for name, v := range starlarkmath.Module.Members {
		if target, ok := v.(*starlark.Builtin); ok {
			v = m.function(name, constant(256), target)
		}
		numbers[name] = v
	}
	env["math"] = &starlarkstruct.Module{Name: "math", Members: numbers}
	value, err := m.inputs(inputs)
	if err != nil {
		return nil, err
	}
	env["inputs"] = value
	return env, nil
}

func (m *meter) function(name string, r rule, target *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return m.invoke(t, &call{m: m, name: name, args: args, kwargs: kwargs}, r, target)
	})
}

// print collects a line. It stops collecting above the limit, which printing reports.
func (m *meter) print(_ *starlark.Thread, line string) {
	if int64(len(m.printed)) <= m.limits.Output {
		m.printed = append(append(m.printed, line...), '\n')
	}
}

func (m *meter) printing(inner *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin("print", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := inner.CallInternal(t, args, kwargs)
		if err == nil && int64(len(m.printed)) > m.limits.Output {
			return nil, m.tooMuchOutput()
		}
		return v, err
	})
}

func (m *meter) tooMuchOutput() *Failure {
	return &Failure{Kind: Output, Message: fmt.Sprintf(
		"printed text and result are larger than %d bytes together; print less or give back less", m.limits.Output)}
}

func (m *meter) getattr(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var object, missing starlark.Value
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &object, &name, &missing); err != nil {
		return nil, err
	}
	v, err := m.attr(object, name)
	if err != nil {
		if missing != nil {
			return missing, nil
		}
		return nil, err
	}
	return v, m.charge(sizeOf(v))
}
