package arithmetic

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Bounds of an expression: they keep exact arithmetic from growing without end.
const (
	maxLength   = 2000
	maxDepth    = 50
	maxExponent = 1000
	maxBits     = 20_000
)

// SyntaxError is a declared expression that cannot be read.
type SyntaxError struct {
	// Column is the 1-based byte position in the expression.
	Column  int
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("column %d: %s", e.Column, e.Problem)
}

// ErrDivision is a division by zero.
var ErrDivision = errors.New("division by zero")

// Lookup gives the number at a path of the data, such as "loan.amount" or "items[0].price".
type Lookup func(path string) (*big.Rat, error)

// Evaluate computes an expression of numbers, paths into the data, + - * / ^
// and parentheses exactly. "%" behind a number divides it by 100; exponents are
// whole numbers up to 1000. Errors: *SyntaxError for a bad expression,
// ErrDivision, or what the lookup returned, with the column.
func Evaluate(expression string, lookup Lookup) (*big.Rat, error) {
	if len(expression) > maxLength {
		return nil, &SyntaxError{1, fmt.Sprintf("the expression has %d bytes, at most %d are read", len(expression), maxLength)}
	}
	p := &parser{text: expression, lookup: lookup}
	v, err := p.sum(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(p.text) {
		return nil, p.fail("unexpected %q", p.rest())
	}
	return v, nil
}

type parser struct {
	text   string
	at     int
	lookup Lookup
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{p.at + 1, fmt.Sprintf(format, args...)}
}

func (p *parser) rest() string {
	r := []rune(p.text[p.at:])
	return string(r[:min(len(r), 10)])
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
}

// take consumes one of the operators and returns its ASCII form, or 0.
func (p *parser) take(operators string) byte {
	p.space()
	for sign, op := range map[string]byte{"×": '*', "·": '*', "÷": '/', "−": '-', "–": '-'} {
		if strings.HasPrefix(p.text[p.at:], sign) && strings.IndexByte(operators, op) >= 0 {
			p.at += len(sign)
			return op
		}
	}
	if p.at < len(p.text) && strings.IndexByte(operators, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1]
	}
	return 0
}

func (p *parser) sum(depth int) (*big.Rat, error) {
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d", maxDepth)
	}
	v, err := p.product(depth)
	for err == nil {
		op := p.take("+-")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = p.product(depth); err == nil {
			v, err = p.apply(op, v, w)
		}
	}
	return nil, err
}

func (p *parser) product(depth int) (*big.Rat, error) {
	v, err := p.power(depth)
	for err == nil {
		op := p.take("*/")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = p.power(depth); err == nil {
			v, err = p.apply(op, v, w)
		}
	}
	return nil, err
}

func (p *parser) power(depth int) (*big.Rat, error) {
	if p.take("-") != 0 {
		if depth++; depth > maxDepth {
			return nil, p.fail("nested deeper than %d", maxDepth)
		}
		v, err := p.power(depth)
		if err != nil {
			return nil, err
		}
		return v.Neg(v), nil
	}
	v, err := p.atom(depth)
	if err != nil || p.take("^") == 0 {
		return v, err
	}
	if depth++; depth > maxDepth {
		return nil, p.fail("nested deeper than %d", maxDepth)
	}
	at := p.at
	e, err := p.power(depth)
	if err != nil {
		return nil, err
	}
	if !e.IsInt() || !e.Num().IsInt64() || e.Num().Int64() > maxExponent || e.Num().Int64() < -maxExponent {
		return nil, &SyntaxError{at + 1, fmt.Sprintf("the exponent must be a whole number between -%d and %d", maxExponent, maxExponent)}
	}
	n := e.Num().Int64()
	if v.Sign() == 0 && n < 0 {
		return nil, ErrDivision
	}
	if n < 0 {
		v, n = new(big.Rat).Inv(v), -n
	}
	if int64(max(v.Num().BitLen(), v.Denom().BitLen()))*n > maxBits {
		return nil, &SyntaxError{at + 1, "the result of this power is too long to be computed exactly"}
	}
	exp := big.NewInt(n)
	return new(big.Rat).SetFrac(new(big.Int).Exp(v.Num(), exp, nil), new(big.Int).Exp(v.Denom(), exp, nil)), nil
}

func (p *parser) atom(depth int) (*big.Rat, error) {
	p.space()
	if p.at >= len(p.text) {
		return nil, p.fail("a number, a path or \"(\" is expected here")
	}
	c := p.text[p.at]
	switch {
	case c == '(':
		p.at++
		v, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.take(")") == 0 {
			return nil, p.fail("a \")\" is missing")
		}
		return p.percent(v), nil
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	case letter(c):
		return p.path()
	}
	return nil, p.fail("a number, a path or \"(\" is expected here, not %q", p.rest())
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *parser) number() (*big.Rat, error) {
	start := p.at
	for p.at < len(p.text) && (digit(p.text[p.at]) || p.text[p.at] == '.') {
		p.at++
	}
	v, ok := new(big.Rat).SetString(p.text[start:p.at])
	if !ok {
		bad := p.text[start:p.at]
		p.at = start
		return nil, p.fail("%q is not a number", bad)
	}
	return p.percent(v), nil
}

func (p *parser) percent(v *big.Rat) *big.Rat {
	for p.take("%") != 0 {
		v = new(big.Rat).Quo(v, big.NewRat(100, 1))
	}
	return v
}

func (p *parser) path() (*big.Rat, error) {
	start := p.at
	for p.at < len(p.text) && (letter(p.text[p.at]) || digit(p.text[p.at]) || strings.IndexByte(".[]", p.text[p.at]) >= 0) {
		p.at++
	}
	path := p.text[start:p.at]
	if p.lookup == nil {
		return nil, &SyntaxError{start + 1, fmt.Sprintf("%q: there is no data to look it up in", path)}
	}
	v, err := p.lookup(path)
	if err != nil {
		return nil, fmt.Errorf("column %d: %w", start+1, err)
	}
	return new(big.Rat).Set(p.percent(v)), nil
}

func (p *parser) apply(op byte, a, b *big.Rat) (*big.Rat, error) {
	if a.Num().BitLen()+a.Denom().BitLen()+b.Num().BitLen()+b.Denom().BitLen() > maxBits {
		return nil, p.fail("the result is too long to be computed exactly")
	}
	out := new(big.Rat)
	switch op {
	case '+':
		return out.Add(a, b), nil
	case '-':
		return out.Sub(a, b), nil
	case '*':
		return out.Mul(a, b), nil
	}
	if b.Sign() == 0 {
		return nil, ErrDivision
	}
	return out.Quo(a, b), nil
}

// In gives the numbers of a JSON value: maps, slices, float64 and strings that
// hold a number.
func In(data any) Lookup {
	return func(path string) (*big.Rat, error) {
		at := data
		for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
			switch v := at.(type) {
			case map[string]any:
				next, ok := v[step]
				if !ok {
					return nil, fmt.Errorf("%s: the data has no %q", path, step)
				}
				at = next
			case []any:
				i, err := strconv.Atoi(step)
				if err != nil || i < 0 || i >= len(v) {
					return nil, fmt.Errorf("%s: %q is not an index of a list of %d", path, step, len(v))
				}
				at = v[i]
			default:
				return nil, fmt.Errorf("%s: %q is inside something that is no object and no list", path, step)
			}
		}
		v, _, err := Number(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return v, nil
	}
}

// Number reads a JSON number, or a string such as "1,234.50" or "12.5%", with
// the decimals it is printed with. A percentage keeps the decimals of its
// fraction: "12.5%" is 0.125 with three.
func Number(v any) (*big.Rat, int, error) {
	text := ""
	switch v := v.(type) {
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		text = strings.ReplaceAll(strings.TrimSpace(v), ",", "")
	default:
		return nil, 0, fmt.Errorf("a number is expected, not %s", kind(v))
	}
	body, percent := strings.CutSuffix(text, "%")
	body = strings.TrimSpace(body)
	if len(body) > 400 || !plainNumber.MatchString(body) {
		return nil, 0, fmt.Errorf("%q is not a number", shorten(text))
	}
	r, ok := new(big.Rat).SetString(body)
	if !ok {
		return nil, 0, fmt.Errorf("%q is not a number", shorten(text))
	}
	_, frac, _ := strings.Cut(body, ".")
	decimals := len(frac)
	if percent {
		r.Quo(r, big.NewRat(100, 1))
		decimals += 2
	}
	return r, decimals, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprintf("%T", v)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
