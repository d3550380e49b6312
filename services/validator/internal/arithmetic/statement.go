package arithmetic

import (
	"math/big"
	"regexp"
	"strings"
)

// Find recomputes every numeric statement in a text:
//
//	12 + 30 = 42          (2 + 3) × 4 is 20       $1.2 million - $0.5 million = $0.7 million
//	15% of 200 is 30      30 is 15% of 200        10 / 4 ≈ 2.5
//	from 80 to 100, an increase of 25%
//
// A statement that mixes units (60 min + 1 h = 2 h) is left alone.
func Find(text string) []Statement {
	ts := tokens(text)
	var out []Statement
	for i := 0; i < len(ts); {
		s, next, ok := shareOf(text, ts, i)
		if !ok {
			s, next, ok = equation(text, ts, i)
		}
		if ok {
			out = append(out, s)
		}
		i = max(next, i+1)
	}
	return append(out, changes(text)...)
}

// side is one side of an equation.
type side struct {
	value    *big.Rat
	decimals int
	scale    *big.Rat
	percent  bool
	ops      int
	spaced   bool
	units    map[string]bool
	next     int
}

// equation reads "expression relation expression" at a token.
func equation(text string, ts []token, i int) (Statement, int, bool) {
	if ts[i].kind != 'n' && ts[i].kind != '(' || i > 0 && joined(text, ts[i-1], ts[i]) {
		return Statement{}, 0, false
	}
	left, ok := expression(ts, i, 0)
	if !ok {
		return Statement{}, 0, false
	}
	if left.next >= len(ts) || ts[left.next].kind != 'r' {
		return Statement{}, left.next, false // nothing inside it ends elsewhere
	}
	relation := ts[left.next]
	at := left.next + 1
	for at < len(ts) && (ts[at].text == "about" || ts[at].text == "approximately" || ts[at].text == "roughly" || ts[at].text == "exactly") {
		at++
	}
	right, ok := expression(ts, at, 0)
	if !ok || left.ops+right.ops == 0 {
		return Statement{}, 0, false
	}
	// "3-4 is" and "24/7 is" are prose; with an equals sign they are arithmetic.
	word := relation.text != "=" && relation.text != "≈" && relation.text != "~"
	if word && (!left.spaced || !right.spaced) {
		return Statement{}, 0, false
	}
	end := ts[right.next-1].end
	if right.next < len(ts) && ts[right.next].kind == 'o' && ts[right.next].op != 'f' {
		return Statement{}, 0, false // cut off in the middle of an expression
	}
	units := map[string]bool{}
	for u := range left.units {
		units[u] = true
	}
	for u := range right.units {
		units[u] = true
	}
	if len(units) > 1 {
		return Statement{}, 0, false
	}
	s := Statement{Text: text[ts[i].start:end], Start: ts[i].start, End: end}
	computed, stated := left, right
	if right.ops > 0 && left.ops == 0 {
		computed, stated = right, left
	}
	a, b := computed.value, stated.value
	scale := stated.scale
	if stated.percent {
		scale = big.NewRat(1, 100)
	}
	// A chain "1 + 2 = 3 + 0 = 3" goes on at the right side.
	next := right.next
	if next < len(ts) && ts[next].kind == 'r' {
		next = left.next + 1
	}
	return finish(s, a, b, agree(a, b, stated.decimals, scale)), next, true
}

// joined tells whether a token hangs on a word or sign before it ("A1", "x=3", "1.2.3").
func joined(text string, before, t token) bool {
	if before.kind == 'o' && before.op != 'f' && !before.spaced {
		return before.end == t.start
	}
	return before.kind == 'w' && before.end == t.start && strings.ContainsAny(text[before.start:before.end], "_.:/#")
}

// shareOf reads "30 is 15% of 200".
func shareOf(text string, ts []token, i int) (Statement, int, bool) {
	if i+4 >= len(ts) || ts[i].kind != 'n' || ts[i+1].kind != 'r' || ts[i+2].kind != 'n' || !ts[i+2].percent || ts[i+3].op != 'f' || ts[i+4].kind != 'n' || ts[i].percent {
		return Statement{}, 0, false
	}
	part, share, whole := ts[i], ts[i+2], ts[i+4]
	if part.currency != whole.currency || whole.value.Sign() == 0 {
		return Statement{}, 0, false
	}
	s := Statement{Text: text[part.start:whole.end], Start: part.start, End: whole.end}
	// The percentage is what is printed rounded.
	computed := new(big.Rat).Quo(part.value, whole.value)
	computed.Mul(computed, big.NewRat(100, 1))
	product := new(big.Rat).Mul(share.value, whole.value)
	product.Quo(product, big.NewRat(100, 1))
	passed := agree(computed, share.value, share.decimals, share.scale) || agree(product, part.value, part.decimals, part.scale)
	return finish(s, computed, share.value, passed), i + 5, true
}

// expression reads sums of products; percentages and "of" bind as products.
func expression(ts []token, i, depth int) (side, bool) {
	if depth > maxDepth {
		return side{}, false
	}
	out, ok := term(ts, i, depth)
	for ok && out.next < len(ts) && ts[out.next].kind == 'o' && (ts[out.next].op == '+' || ts[out.next].op == '-') {
		if out.ops >= maxOperators {
			return side{}, false
		}
		op := ts[out.next]
		right, fine := term(ts, out.next+1, depth)
		if !fine {
			return out, true
		}
		v := new(big.Rat)
		if op.op == '+' {
			v.Add(out.value, right.value)
		} else {
			v.Sub(out.value, right.value)
		}
		out = out.join(right, v, op)
	}
	return out, ok
}

func term(ts []token, i, depth int) (side, bool) {
	out, ok := operand(ts, i, depth)
	for ok && out.next < len(ts) && ts[out.next].kind == 'o' && (ts[out.next].op == '*' || ts[out.next].op == '/' || ts[out.next].op == 'f' && out.percent && out.ops == 0) {
		if out.ops >= maxOperators {
			return side{}, false
		}
		op := ts[out.next]
		right, fine := operand(ts, out.next+1, depth)
		if !fine {
			return out, true
		}
		v := new(big.Rat)
		if op.op == '/' {
			if right.value.Sign() == 0 {
				return side{}, false
			}
			v.Quo(out.value, right.value)
			if len(out.units) > 0 && len(right.units) > 0 && !right.percent {
				out.units, right.units = nil, nil // a ratio has no unit
			}
		} else {
			v.Mul(out.value, right.value)
		}
		out = out.join(right, v, op)
	}
	return out, ok
}

func operand(ts []token, i, depth int) (side, bool) {
	if i >= len(ts) {
		return side{}, false
	}
	t := ts[i]
	switch {
	case t.kind == '(':
		in, ok := expression(ts, i+1, depth+1)
		if !ok || in.next >= len(ts) || ts[in.next].kind != ')' {
			return side{}, false
		}
		in.next++
		return in, true
	case t.kind == 'o' && t.op == '-' && i+1 < len(ts) && ts[i+1].kind == 'n' && ts[i+1].start == t.end:
		in, ok := operand(ts, i+1, depth)
		if ok {
			in.value = new(big.Rat).Neg(in.value)
		}
		return in, ok
	case t.kind != 'n':
		return side{}, false
	}
	s := side{value: t.value, decimals: t.decimals, scale: t.scale, percent: t.percent, spaced: true, next: i + 1, units: map[string]bool{}}
	if t.percent {
		s.value = new(big.Rat).Quo(t.value, big.NewRat(100, 1))
	}
	if u := t.currency + t.unit; u != "" {
		s.units[u] = true
	}
	return s, true
}

// join puts two sides together under an operator.
func (s side) join(right side, v *big.Rat, op token) side {
	units := map[string]bool{}
	for u := range s.units {
		units[u] = true
	}
	for u := range right.units {
		units[u] = true
	}
	return side{
		value: v, decimals: max(s.decimals, right.decimals), scale: big.NewRat(1, 1), ops: s.ops + right.ops + 1,
		spaced: s.spaced && right.spaced && (op.spaced || op.op == 'f'), units: units, next: right.next,
		percent: s.percent && right.percent && (op.op == '+' || op.op == '-'),
	}
}

const amount = `[$€£¥₹]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(thousand|million|billion)?`

var change = regexp.MustCompile(`(?i)from ` + amount + `[^.;\d]{0,40}? to ` + amount +
	`[^.;\d]{0,60}?\b(increase|rise|growth|gain|decrease|drop|fall|decline|reduction|cut|up|down)\b[^.;\d]{0,20}?(\d+(?:\.\d+)?)\s?(?:%|percent\b)`)

// changes recomputes "from a to b, an increase of p%".
func changes(text string) []Statement {
	var out []Statement
	for _, m := range change.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		from, to := scaled(group(1), group(2)), scaled(group(3), group(4))
		stated, decimals, err := Number(group(6))
		if err != nil || from == nil || to == nil || from.Sign() == 0 {
			continue
		}
		computed := new(big.Rat).Sub(to, from)
		computed.Quo(computed, from)
		computed.Mul(computed, big.NewRat(100, 1))
		switch strings.ToLower(group(5)) {
		case "decrease", "drop", "fall", "decline", "reduction", "cut", "down":
			computed.Neg(computed)
		}
		s := Statement{Text: text[m[0]:m[1]], Start: m[0], End: m[1]}
		out = append(out, finish(s, computed, stated, agree(computed, stated, decimals, big.NewRat(1, 1))))
	}
	return out
}

func scaled(number, scale string) *big.Rat {
	v, _, err := Number(number)
	if err != nil {
		return nil
	}
	if k, ok := scaleWords[strings.ToLower(scale)]; ok {
		v.Mul(v, big.NewRat(k, 1))
	}
	return v
}
