package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
)

// never is a timer that does not fire.
type never struct{}

func (never) After(time.Duration) <-chan time.Time { return nil }

func box(t testing.TB, limits Limits) *Sandbox {
	t.Helper()
	s, err := New(limits, 2, never{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRunGivesTheResult(t *testing.T) {
	s := box(t, DefaultLimits)
	for name, c := range map[string]struct{ code, inputs, want string }{
		"assigned result":     {"x = 2\nresult = x + 3", ``, `5`},
		"last expression":     {"x = 2\nx * 21", ``, `42`},
		"result wins":         {"result = 1\n2", ``, `1`},
		"inputs":              {"inputs['a'] + inputs['b'][1]", `{"a": 1, "b": [2, 40]}`, `41`},
		"big integers exact":  {"inputs['n'] + 1", `{"n": 123456789012345678901234567890}`, `123456789012345678901234567891`},
		"integer or float":    {"[type(inputs['i']), type(inputs['f'])]", `{"i": 3, "f": 3.5}`, `["int","float"]`},
		"keys sorted":         {"{'b': 1, 'a': {'z': None, 'y': True}}", ``, `{"a":{"y":true,"z":null},"b":1}`},
		"tuple set range":     {"[(1, 2), set([3, 3]), range(3), [], {}]", ``, `[[1,2],[3],[0,1,2],[],{}]`},
		"function":            {"def f(n, *rest, k=1, **more):\n  return n + len(rest) + k + len(more)\nf(1, 2, 3, k=10, z=1)", ``, `14`},
		"lambda with rest":    {"f = lambda *a, **k: [a, k]\nf(1, b=2)", ``, `[[1],{"b":2}]`},
		"spread":              {"def f(a, b, c):\n  return [a, b, c]\nf(*[1, 2], **{'c': 3})", ``, `[1,2,3]`},
		"while":               {"n = 0\nwhile n < 5:\n  n += 1\nresult = n", ``, `5`},
		"comprehensions":      {"[[x for x in range(4) if x % 2], {k: v for k, v in [('a', 1)]}]", ``, `[[1,3],{"a":1}]`},
		"split once":          {"[len(('a,' * 100000).split(',', 1)) for i in range(100)][0]", ``, `2`},
		"slices":              {"[[1, 2, 3][1:], 'hello'[::-1], 'abc'[1]]", ``, `[[2,3],"olleh","b"]`},
		"list grows in place": {"a = [1]\nb = a\na += [2]\nresult = b", ``, `[1,2]`},
		"list onto itself":    {"a = [1, 2]\na += a\nresult = a", ``, `[1,2,1,2]`},
		"dict grows in place": {"a = {'x': 1}\nb = a\na |= {'y': 2}\nresult = b", ``, `{"x":1,"y":2}`},
		"augmented once":      {"n = [0]\ndef at():\n  n[0] += 1\n  return 0\na = [10]\na[at()] += 5\nresult = [a, n]", ``, `[[15],[1]]`},
		"nested containers":   {"d = {'a': {'b': [1]}}\nd['a']['b'][0] *= 7\nd['a']['c'] = 2\nresult = d", ``, `{"a":{"b":[7],"c":2}}`},
		"swap":                {"a, b = 1, 2\na, b = b, a\nresult = [a, b]", ``, `[2,1]`},
		"unpack into dict":    {"d = {}\nd['a'], d['b'] = 1, 2\nfor d['i'] in range(3):\n  pass\nresult = d", ``, `{"a":1,"b":2,"i":2}`},
		"format":              {"'%s is %d and {}'.format(1) % ('x', 7)", ``, `"x is 7 and 1"`},
		"text methods":        {"[','.join(['a', 'b']), 'a,b'.split(','), ' a  b '.split(), 'aXb'.lower(), 'aaa'.replace('a', 'bb'), 'ab'.elems(), 'é'.codepoints()]", ``, `["a,b",["a","b"],["a","b"],"axb","bbbbbb",["a","b"],["é"]]`},
		"sorting":             {"[sorted([3, 1, 2]), sorted(['bb', 'a'], key=len, reverse=True), max([1, 9, 3]), min('b', 'a'), max([[1], [2, 3]], key=len)]", ``, `[[1,2,3],["bb","a"],9,"a",[2,3]]`},
		"dict methods":        {"d = {'a': 1}\nd.setdefault('l', []).append(2)\nd.update([('c', 3)], e=4)\nresult = [d.items(), d.get('zz', 0), d.pop('c')]", ``, `[[["a",1],["l",[2]],["c",3],["e",4]],0,3]`},
		"set algebra":         {"[sorted(set([1, 2]) | set([3])), sorted(set([1, 2]) & set([2])), 1 in set([1]), sorted(set([1]).union([5]))]", ``, `[[1,2,3],[2],true,[1,5]]`},
		"membership":          {"['b' in 'abc', 2 in [1, 2], 'a' not in {'a': 1}, (1, 2) in {(1, 2): 0}]", ``, `[true,true,false,true]`},
		"arithmetic":          {"[7 // 2, 7 % 3, 7 / 2, -7, 1 << 10, 6 & 3, 6 | 1, 6 ^ 2, ~5, 2 * 'ab']", ``, `[3,1,3.5,-7,1024,2,7,4,-6,"abab"]`},
		"json":                {"json.encode({'b': [1, None], 'a': 'x'}) + str(json.decode('[1, 2.5]'))", ``, `"{\"a\":\"x\",\"b\":[1,null]}[1, 2.5]"`},
		"math":                {"[math.sqrt(16), math.floor(2.7), math.ceil(2.1), math.pi > 3]", ``, `[4,2,3,true]`},
		"conversions":         {"[int('ff', 16), int(3.9), float('1.5'), str([1, 'a']), repr('a'), bool([]), ord('a'), chr(98), abs(-3), list(zip([1, 2], 'ab'.elems())), list(enumerate(['x'])), reversed([1, 2]), tuple([1]), any([0, 1]), all([0, 1]), len('abc'), type(1), hash('a'), list(b'ab'.elems()), dir([])[0], hasattr([], 'pop'), getattr('a,b', 'split')(',')]", ``, `[255,3,1.5,"[1, \"a\"]","\"a\"",false,97,"b",3,[[1,"a"],[2,"b"]],[[0,"x"]],[2,1],[1],true,false,3,"int",97,[97,98],"append",true,["a","b"]]`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Run(t.Context(), c.code, json.RawMessage(c.inputs))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Value) != c.want {
				t.Errorf("result %s, want %s", got.Value, c.want)
			}
		})
	}
}

func TestRunSaysWhatIsWrongAndWhere(t *testing.T) {
	s := box(t, DefaultLimits)
	for name, c := range map[string]struct {
		code, inputs string
		kind         Kind
		want         string
	}{
		"syntax":              {"x = 1\ny = = 2", ``, Syntax, "line 2: got '=', want primary expression"},
		"undefined name":      {"x = 1\n\ny = nosuch", ``, Syntax, "line 3: undefined: nosuch"},
		"load":                {"load('a.star', 'a')\n1", ``, Syntax, "line 1: load is not available here; a snippet is one file"},
		"no files":            {"open('/etc/passwd')", ``, Syntax, "line 1: undefined: open"},
		"no clock":            {"time.now()", ``, Syntax, "line 1: undefined: time"},
		"types":               {"a = 1\nb = 'x'\nc = a + b", ``, Runtime, "line 3: unknown binary op: int + string"},
		"division by zero":    {"def f(x):\n  return 1 // x\n\nf(0)", ``, Runtime, "line 2: floored division by zero"},
		"missing key":         {"inputs['a']", ``, Runtime, `line 1: key "a" not in dict`},
		"no such method":      {"[].push(1)", ``, Runtime, "line 1: list has no .push field or method"},
		"fail":                {"x = 1\nfail('no', x)", ``, Runtime, "line 2: fail: no 1"},
		"recursion":           {"def f(n):\n  return f(n + 1)\nf(0)", ``, Runtime, "line 2: function f called recursively"},
		"no result":           {"x = 1", ``, Runtime, "the snippet gave no result: assign the variable result, or end with an expression"},
		"empty":               {"", ``, Runtime, "the snippet gave no result: assign the variable result, or end with an expression"},
		"unwritable result":   {"result = len", ``, Runtime, "the result cannot be given back: JSON has nothing for a builtin_function_or_method"},
		"not a number":        {"float('nan')", ``, Runtime, "the result cannot be given back: JSON has no number for nan; turn it into text first"},
		"key not text":        {"{1: 2}", ``, Runtime, "the result cannot be given back: a key of a JSON object must be a string, not a int"},
		"inputs not JSON":     {"1", `{"a":`, Input, "the inputs are not JSON: unexpected EOF"},
		"inputs not object":   {"1", `[1]`, Input, "the inputs are a list; they must be a JSON object"},
		"inputs with tail":    {"1", `{} {}`, Input, "the inputs are not JSON: there is more after the JSON value"},
		"frozen in iteration": {"a = [1]\nfor x in a:\n  a.append(x)", ``, Runtime, "line 3: append: cannot append to list during iteration"},
		"hidden names":        {"«new»(1)", ``, Syntax, "line 1: unexpected input character '«'"},
		"print too much":      {"for i in range(100000):\n  print('x' * 100)", ``, Output, "line 2: printed text and result are larger than 262144 bytes together; print less or give back less"},
		"result too large":    {"'x' * 300000", ``, Output, "printed text and result are larger than 262144 bytes together; print less or give back less"},
		"source too large":    {strings.Repeat("#", MaxSource+1), ``, Syntax, "the snippet has 65537 bytes; at most 65536 are taken"},
		"source too deep":     {strings.Repeat("1+", 300) + "1", ``, Syntax, "line 1: the code nests more than 200 deep; split it over several lines"},
		"brackets too deep":   {strings.Repeat("(", 60000), ``, Syntax, "line 1: excessive nesting"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Run(t.Context(), c.code, json.RawMessage(c.inputs))
			var f *Failure
			if !errors.As(err, &f) {
				t.Fatalf("error %v, want a failure", err)
			}
			if f.Kind != c.kind || f.Error() != c.want {
				t.Errorf("%s failure %q, want %s %q", f.Kind, f.Error(), c.kind, c.want)
			}
		})
	}
}

// bombs are small programs that would take all memory, or for ever.
var bombs = map[string]struct {
	code string
	kind Kind
}{
	"repeat a string":         {`x = "a" * 1000000000`, Memory},
	"repeat the other way":    {`x = 1000000000 * "a"`, Memory},
	"repeat bytes":            {`x = b"a" * 1000000000`, Memory},
	"repeat a list":           {`x = [0] * 1000000000`, Memory},
	"repeat a tuple":          {`x = (0,) * 1000000000`, Memory},
	"repeat beyond 64 bits":   {"x = 'a' * (1 << 100)", Memory},
	"repeat in place":         {"x = 'a'\nx *= 1000000000", Memory},
	"repeat an element":       {"x = ['a']\nx[0] *= 1000000000", Memory},
	"double a string":         {"x = 'a'\nfor i in range(100):\n  x = x + x", Memory},
	"double in place":         {"x = 'a'\nfor i in range(100):\n  x += x", Memory},
	"double a list":           {"x = [1]\nfor i in range(100):\n  x += x", Memory},
	"extend with itself":      {"x = [1]\nfor i in range(100):\n  x.extend(x)", Memory},
	"double a tuple":          {"x = (1,)\nfor i in range(100):\n  x = x + x", Memory},
	"keep all prefixes":       {"x, all = '', []\nwhile True:\n  x += 'aaaaaaaaaa'\n  all.append(x)", Memory},
	"join":                    {"x = ','.join(['a' * 100000] * 100000)", Memory},
	"join with separator":     {"x = ('a' * 1000000).join(['b'] * 1000)", Memory},
	"replace":                 {"x = ('a' * 1000000).replace('a', 'b' * 1000)", Memory},
	"replace nothing":         {"x = ('a' * 1000000).replace('', 'b' * 1000)", Memory},
	"format":                  {"x = ('{0}' * 1000).format('a' * 100000)", Memory},
	"print with separator":    {"print(sep='a' * 1000000, *range(1000))", Memory},
	"percent":                 {"x = ('%(a)s' * 10000) % {'a': 'b' * 100000}", Memory},
	"split":                   {"x = ('a,' * 10000000).split(',')", Memory},
	"elems":                   {"x = ('a' * 4000000).elems()", Memory},
	"codepoints":              {"x = ('a' * 4000000).codepoints()", Memory},
	"list of a range":         {"x = list(range(1000000000))", Steps},
	"tuple of a range":        {"x = tuple(range(1000000000))", Steps},
	"set of a range":          {"x = set(range(1000000000))", Steps},
	"dict of a range":         {"x = dict(zip(range(100000000), range(100000000)))", Steps},
	"sort a range":            {"x = sorted(range(1000000000))", Steps},
	"sort a named range":      {"x = sorted(iterable=range(1000000000))", Steps},
	"enumerate a range":       {"x = enumerate(range(1000000000))", Steps},
	"zip ranges":              {"x = zip(range(1000000000), range(1000000000))", Steps},
	"reverse a range":         {"x = reversed(range(1000000000))", Steps},
	"extend by a range":       {"x = []\nx.extend(range(1000000000))", Steps},
	"add a range in place":    {"x = []\nx += range(1000000000)", Steps},
	"spread a range":          {"def f(*a):\n  pass\nf(*range(1000000000))", Steps},
	"all of a range":          {"all(range(1, 1000000000000))", Steps},
	"max of a range":          {"max(range(1000000000000))", Steps},
	"bytes of a range":        {"bytes(range(1000000000000))", Steps},
	"compare long lists":      {"s = 'a' * 1000000\nt = 'a' * 1000000\n[s] * 100000 == [t] * 100000", Steps},
	"sort long texts":         {"s, t = 'a' * 1000000, 'a' * 1000000\nsorted([s, t] * 100000)", Steps},
	"sort by long keys":       {"s, t = 'a' * 1000000, 'a' * 1000000\nsorted(range(10000), key=lambda i: s if i % 2 else t)", Steps},
	"find in long lists":      {"s = 'a' * 1000000\nt = 'a' * 1000000\nx = [s] * 100000\nfor i in range(100):\n  t in x", Steps},
	"comprehension":           {"x = [i for i in range(1000000000)]", Steps},
	"dict comprehension":      {"x = {i: i for i in range(1000000000)}", Memory},
	"set comprehension":       {"x = set([i for i in range(1000000000)])", Steps},
	"nested comprehension":    {"x = [[0] * 1000 for i in range(1000000)]", Memory},
	"dicts":                   {"x = [{} for i in range(1000000000)]", Memory},
	"functions":               {"x = []\nwhile True:\n  def f():\n    pass\n  x.append(f)", Memory},
	"bound methods":           {"x = []\nwhile True:\n  x.append('a'.join)", Memory},
	"slices":                  {"a = [0] * 100000\nx = [a[:] for i in range(100000)]", Memory},
	"grow a dict":             {"d, i = {}, 0\nwhile True:\n  d[i] = i\n  i += 1", Memory},
	"grow a dict by unpack":   {"d, i = {}, 0\nwhile True:\n  d[i], i = 0, i + 1", Memory},
	"grow a dict by default":  {"d, i = {}, 0\nwhile True:\n  d.setdefault(i)\n  i += 1", Memory},
	"grow a set":              {"s, i = set(), 0\nwhile True:\n  s.add(i)\n  i += 1", Memory},
	"kept arguments":          {"def f(*a):\n  return a\nx = []\nb = [0] * 100000\nwhile True:\n  x.append(f(*b))", Memory},
	"square an integer":       {"x = 3\nfor i in range(100):\n  x = x * x", Memory},
	"shift an integer":        {"x = 1\nfor i in range(1000000):\n  x = x << 500", Memory},
	"read an integer":         {"x = int('9' * 1000000)", Memory},
	"keep big integers":       {"x, a = 1 << 500, []\nfor i in range(6):\n  x = x * x\nwhile True:\n  a.append(-x)", Memory},
	"endless loop":            {"while True:\n  pass", Steps},
	"long loop":               {"for i in range(1000000000000):\n  pass", Steps},
	"write an unfolding tree": {"x = [1]\nfor i in range(60):\n  x = [x, x]\nstr(x)", Memory},
	"give an unfolding tree":  {"x = [1]\nfor i in range(60):\n  x = [x, x]\nresult = x", Output},
	"hash an unfolding tree":  {"x = (1,)\nfor i in range(60):\n  x = (x, x)\n{x: 1}", Depth},
	"index an unfolding tree": {"x = (1,)\nfor i in range(60):\n  x = (x, x)\nd = {}\nd[x] = 1", Depth},
	"find an unfolding tree":  {"x = (1,)\nfor i in range(60):\n  x = (x, x)\nx in {}", Depth},
	"set an unfolding tree":   {"x = (1,)\nfor i in range(60):\n  x = (x, x)\nset([x])", Steps},
	"get an unfolding tree":   {"x = (1,)\nfor i in range(60):\n  x = (x, x)\n{}.get(x)", Depth},
	"encode a tree":           {"x = [1]\nfor i in range(60):\n  x = [x, x]\njson.encode(x)", Steps},
	"deep nesting":            {"x = []\nfor i in range(100000):\n  x = [x]\nresult = x", Depth},
	"deep nesting written":    {"x = []\nfor i in range(100000):\n  x = [x]\nstr(x)", Depth},
	"a list within itself":    {"x = []\nx.append(x)\nresult = x", Depth},
	"decode a bomb":           {"json.decode('[' + '{},' * 1000000 + '{}]')", Memory},
	"deep JSON":               {"json.decode('[' * 100000)", Depth},
}

func TestBombsAreStopped(t *testing.T) {
	limits := Limits{Steps: 5_000_000, Memory: 16 << 20, WallTime: time.Hour, Output: 256 << 10}
	s := box(t, limits)
	for name, c := range bombs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.Run(t.Context(), c.code, nil)
			runtime.ReadMemStats(&after)
			var f *Failure
			if !errors.As(err, &f) {
				t.Fatalf("error %v, want a failure", err)
			}
			if f.Kind != c.kind {
				t.Errorf("%s failure %q, want %s", f.Kind, f, c.kind)
			}
			// What was ever allocated bounds what was alive. Steps allocate small
			// temporaries, about 100 bytes a step at the most.
			bound := 4*limits.Memory + 100*limits.Steps
			if got := int64(after.TotalAlloc - before.TotalAlloc); got > bound {
				t.Errorf("%d bytes allocated, bound is %d", got, bound)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 4*limits.Memory {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		})
	}
}

func TestEveryBuiltinHasACostOrDoesNotExist(t *testing.T) {
	for name, v := range starlark.Universe {
		if _, ok := v.(*starlark.Builtin); !ok || name == "getattr" {
			continue
		}
		if functions[name] == nil {
			t.Errorf("%s has no rule, so it would run uncounted", name)
		}
	}
	for _, v := range []starlark.HasAttrs{
		starlark.String(""), starlark.Bytes(""), starlark.NewList(nil), starlark.NewDict(0), starlark.NewSet(0),
	} {
		for _, name := range v.AttrNames() {
			if methods[v.Type()][name] == nil {
				t.Errorf("%s.%s has no rule", v.Type(), name)
			}
		}
	}
}

func TestSameRunSameAnswerAndCost(t *testing.T) {
	s := box(t, DefaultLimits)
	code := "d = {}\nfor w in inputs['t'].split():\n  d[w] = d.get(w, 0) + 1\nprint(d)\nd"
	inputs := json.RawMessage(`{"t": "b a c a b a"}`)
	first, err := s.Run(t.Context(), code, inputs)
	if err != nil {
		t.Fatal(err)
	}
	if string(first.Value) != `{"a":3,"b":2,"c":1}` || first.Printed != "{\"b\": 2, \"a\": 3, \"c\": 1}\n" {
		t.Errorf("result %s, printed %q", first.Value, first.Printed)
	}
	for range 20 {
		again, err := s.Run(t.Context(), code, inputs)
		if err != nil {
			t.Fatal(err)
		}
		if string(again.Value) != string(first.Value) || again.Printed != first.Printed || again.Steps != first.Steps || again.Memory != first.Memory {
			t.Fatalf("%+v, then %+v", first, again)
		}
	}
}

// fired is a timer that fires at once.
type fired struct{}

func (fired) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

func TestWallTimeEndsARun(t *testing.T) {
	s, err := New(Limits{Steps: 1 << 40, Memory: 1 << 20, WallTime: 3 * time.Second, Output: 1 << 10}, 1, fired{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(t.Context(), "while True:\n  pass", nil)
	var f *Failure
	if !errors.As(err, &f) || f.Kind != Time || f.Error() != "the snippet ran longer than 3s; do less in one snippet" {
		t.Fatalf("error %v", err)
	}
	// The only slot is free again, so the abandoned snippet has stopped.
	if _, err := s.Run(t.Context(), "while True:\n  pass", nil); !errors.As(err, &f) {
		t.Fatalf("error %v", err)
	}
}

func TestCancelEndsARun(t *testing.T) {
	s := box(t, Limits{Steps: 1 << 40, Memory: 1 << 20, WallTime: time.Hour, Output: 1 << 10})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller went away")
	cancel(gone)
	if _, err := s.Run(ctx, "while True:\n  pass", nil); !errors.Is(err, gone) {
		t.Fatalf("error %v, want the cause of the cancel", err)
	}
}

func TestLimitsMustBePositive(t *testing.T) {
	_, err := New(Limits{Steps: 1, Memory: 1, WallTime: 0, Output: 1}, 1, never{})
	if err == nil || err.Error() != "sandbox limit wall time is 0; it must be positive" {
		t.Fatalf("error %v", err)
	}
}

func FuzzRun(f *testing.F) {
	for _, c := range bombs {
		f.Add(c.code, `{"a": 1}`)
	}
	f.Add("result = inputs", `{"a": [1, 2.5, "x", null, {"b": true}]}`)
	f.Add("def f(*a, **k):\n  return [a, k]\nf(*[1], **{'b': 2})", ``)
	f.Add("x = [1, 2, 3]\nx[1:] + [y * 2 for y in x if y in {1: 2}]", `{}`)
	s, err := New(Limits{Steps: 200_000, Memory: 1 << 20, WallTime: time.Minute, Output: 4 << 10}, 4, never{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code, inputs string) {
		got, err := s.Run(t.Context(), code, json.RawMessage(inputs))
		var failure *Failure
		switch {
		case err == nil && !json.Valid(got.Value):
			t.Errorf("result %q is not JSON", got.Value)
		case err != nil && !errors.As(err, &failure):
			t.Errorf("error %v is not a failure", err)
		case got.Memory > 1<<20:
			t.Errorf("%d bytes counted, more than the limit", got.Memory)
		}
	})
}
