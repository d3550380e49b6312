package tool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const object = `{"type":"object"}`

func define(name, input, output string) Definition {
	d := Definition{Name: name, Input: json.RawMessage(input)}
	if output != "" {
		d.Output = json.RawMessage(output)
	}
	return d
}

func contract(t *testing.T, input, output string) *Contract {
	t.Helper()
	c, err := New(define("t", input, output))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSchemasAreCheckedWhenAContractIsMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(file, []byte(object), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ input, output, which string }{
		"no schema":                    {``, ``, "input"},
		"not JSON":                     {`{"type":`, ``, "input"},
		"not a schema":                 {`{"type":"object","properties":[]}`, ``, "input"},
		"an unknown type":              {object, `{"type":"no-such-type"}`, "output"},
		"an unknown type within":       {`{"type":"object","properties":{"a":{"type":"strnig"}}}`, ``, "input"},
		"a negative length":            {`{"type":"object","properties":{"a":{"minLength":-1}}}`, ``, "input"},
		"arguments that are an array":  {`{"type":"array"}`, ``, "input"},
		"arguments of any type":        {`{}`, ``, "input"},
		"arguments of several types":   {`{"type":["object","null"]}`, ``, "input"},
		"a boolean as input":           {`true`, ``, "input"},
		"a reference to a file":        {`{"type":"object","$ref":"file://` + file + `"}`, ``, "input"},
		"a reference to a site":        {`{"type":"object","properties":{"a":{"$ref":"https://schemas.example/a.json"}}}`, ``, "input"},
		"a relative reference":         {object, `{"$ref":"other.json"}`, "output"},
		"a reference to nothing":       {object, `{"$ref":"#/$defs/none"}`, "output"},
		"a meta-schema that is remote": {`{"$schema":"https://schemas.example/meta","type":"object"}`, ``, "input"},
		"a key given twice":            {`{"type":"object","type":"object"}`, ``, "input"},
		"a pattern that is none":       {`{"type":"object","properties":{"a":{"pattern":"("}}}`, ``, "input"},
	} {
		_, err := New(define("t", c.input, c.output))
		invalid, ok := errors.AsType[*InvalidSchema](err)
		if !ok || invalid.Tool != "t" || invalid.Which != c.which {
			t.Errorf("%s: %v, want the %s schema refused", name, err, c.which)
		}
	}
}

func TestSchemasThatAreTaken(t *testing.T) {
	for name, schema := range map[string]string{
		"Draft 2020-12, named":      `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"an older draft, named":     `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}`,
		"references within":         `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`,
		"references by an id of it": `{"$id":"https://schemas.example/a","type":"object","properties":{"a":{"$ref":"https://schemas.example/b"}},"$defs":{"b":{"$id":"b","type":"string"}}}`,
		"2020-12 keywords":          `{"type":"object","unevaluatedProperties":false,"properties":{"a":{"prefixItems":[{"type":"integer"}]}}}`,
	} {
		if _, err := New(define("t", schema, schema)); err != nil {
			t.Errorf("%s: %v: %v", name, err, errors.Unwrap(err))
		}
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "research_search": true, "Get-Weather.v2/now": true, "Wetter für Köln": true, strings.Repeat("n", 128): true,
		"": false, strings.Repeat("n", 129): false, "a\nb": false, "a\u202eb": false, "\xff": false,
	} {
		_, err := New(define(name, object, ""))
		if _, refused := errors.AsType[*InvalidName](err); refused == ok || (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestArguments(t *testing.T) {
	c := contract(t, `{"type":"object","required":["n"],"additionalProperties":false,
		"properties":{"n":{"type":"integer","maximum":9007199254740993},"when":{"type":"string","format":"date-time"},"deep":{}}}`, "")
	for raw, want := range map[string]string{
		`{"n":1}`:                                "",
		` {"n":1.0} `:                            "",
		`{"n":9007199254740993}`:                 "",
		`{"n":9007199254740994}`:                 "/n: maximum: ",
		``:                                       "missing property 'n'",
		`null`:                                   "missing property 'n'",
		`{}`:                                     "missing property 'n'",
		`{"n":"1"}`:                              "/n: got string, want integer",
		`{"n":1.5}`:                              "/n: got number, want integer",
		`{"n":1,"N":2}`:                          "additional properties 'N' not allowed",
		`{"n":1,"n":2}`:                          `the key "n" is given twice`,
		`{"n":1,"\u006e":2}`:                     `the key "n" is given twice`,
		`{"n":1,"deep":{"a":[{"b":1,"b":1}]}}`:   `the key "b" is given twice`,
		`{"n":1,"when":"yesterday"}`:             "/when: 'yesterday' is not valid date-time",
		`{"n":1} {}`:                             "there is something after the JSON value",
		`{"n":1e999999999}`:                      "a number has more than 512 digits",
		`{"n":` + strings.Repeat("9", 513) + `}`: "a number has more than 512 digits",
		`{"n":1,"deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "it is nested deeper than 128 levels",
		"{\"n\":1,\"deep\":\"\xff\"}": "it is not UTF-8",
		`[1]`:                         "the arguments must be a JSON object",
		`"{}"`:                        "the arguments must be a JSON object",
		`{"n":1`:                      "it is not JSON",
		`{"n":01}`:                    "it is not JSON",
	} {
		got, err := c.Arguments(json.RawMessage(raw))
		switch {
		case want == "" && (err != nil || string(got) != strings.TrimSpace(raw)):
			t.Errorf("%s: %s, %v", raw, got, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), `the arguments of "t" do not fit its input schema: `) || !strings.Contains(err.Error(), want)):
			t.Errorf("%.80s: %v, want %q", raw, err, want)
		}
	}
}

func TestNoArgumentsAreAnEmptyObject(t *testing.T) {
	c := contract(t, object, "")
	for _, raw := range []json.RawMessage{nil, json.RawMessage(" "), json.RawMessage("null")} {
		if got, err := c.Arguments(raw); err != nil || string(got) != "{}" {
			t.Errorf("%q: %s, %v", raw, got, err)
		}
	}
}

func TestResults(t *testing.T) {
	declared := contract(t, object, `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	for raw, want := range map[string]string{
		`{"n":18446744073709551617}`: "",
		`{"n":"many"}`:               "/n: got string, want integer",
		`{"n":1,"n":2}`:              `the key "n" is given twice`,
		`null`:                       "got null, want object",
		`{`:                          "it is not JSON",
	} {
		err := declared.Result(json.RawMessage(raw))
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	if err := declared.Result(nil); err == nil || !strings.Contains(err.Error(), "there is no structured result") {
		t.Errorf("none where one is declared: %v", err)
	}
	free := contract(t, object, "")
	if err := errors.Join(free.Result(nil), free.Result(json.RawMessage(`[1]`))); err != nil {
		t.Errorf("nothing is declared: %v", err)
	}
}

func TestTheFirstProblemsAreTold(t *testing.T) {
	c := contract(t, `{"type":"object","additionalProperties":{"type":"string"}}`, "")
	fields := map[string]int{}
	for i := range 40 {
		fields[strings.Repeat("f", i+1)] = i
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Arguments(raw)
	invalid, ok := errors.AsType[*InvalidInput](err)
	if !ok || len(invalid.Problems) != maxProblems || invalid.Problems[0] != (Problem{Path: "/f", Message: "got number, want string"}) {
		t.Errorf("%v", err)
	}
}

func TestSetsHaveEachNameOnce(t *testing.T) {
	a, b := &Contract{Definition: define("a", object, "")}, &Contract{Definition: define("b", object, "")}
	s, err := NewSet(b, a)
	if err != nil || !reflect.DeepEqual(s.All(), []*Contract{a, b}) {
		t.Fatalf("%v, %v", s, err)
	}
	if got, err := s.Get("b"); got != b || err != nil {
		t.Errorf("b: %v, %v", got, err)
	}
	if _, err := s.Get("c"); err == nil || err.Error() != `there is no tool "c"; there are: a, b` {
		t.Errorf("c: %v", err)
	}
	none, err := NewSet[*Contract]()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Get("c"); err == nil || err.Error() != `there is no tool "c", nor any other` {
		t.Errorf("c of none: %v", err)
	}
	_, err = NewSet(a, b, &Contract{Definition: define("a", object, "")})
	if twice, ok := errors.AsType[*Duplicate](err); !ok || twice.Name != "a" {
		t.Errorf("two a: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,null,true,"x"]}`, `{"a":1,"a":2}`, `[`, `1 2`, `{"a":1e999999999}`, `"\ud800"`, `{"a" 1}`, `[,]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, err := Decode(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is not JSON and was read as %v", raw, value)
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Decode(again)
		if err != nil || !reflect.DeepEqual(twice, value) {
			t.Errorf("%q is %v, and written again %v, %v", raw, value, twice, err)
		}
	})
}
