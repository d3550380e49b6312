package assertion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const loan = `{"type":"object","required":["amount","rate"],"additionalProperties":false,
	"properties":{"amount":{"type":"number","minimum":1000},"rate":{"type":"number","maximum":0.2},"due":{"type":"string","format":"date"}}}`

func TestSchemaListsEveryViolation(t *testing.T) {
	for _, c := range []struct {
		name, schema, data string
		want               []Result
	}{
		{"conforms", loan, `{"amount":5000,"rate":0.03,"due":"2026-01-31"}`, []Result{{"schema", true, "the data conforms to the schema"}}},
		{"missing", loan, `{"amount":5000}`, []Result{{"schema", false, "missing property 'rate'"}}},
		{"type and bound", loan, `{"amount":"much","rate":0.3}`, []Result{
			{"schema /amount", false, "got string, want number"},
			{"schema /rate", false, "maximum: got 0.3, want 0.2"},
		}},
		{"format", loan, `{"amount":5000,"rate":0.03,"due":"2026-02-31"}`, []Result{{"schema /due", false, "'2026-02-31' is not valid date: parsing time \"2026-02-31\": day out of range"}}},
		{"unknown key", loan, `{"amount":5000,"rate":0.03,"fee":1}`, []Result{{"schema", false, "additional properties 'fee' not allowed"}}},
		{"local reference", `{"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}}`, `[1,"a/b"]`, []Result{{"schema /1", false, "got string, want integer"}}},
		{"false schema", `false`, `1`, []Result{{"schema", false, "false schema"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Schema(parse(t, c.schema), parse(t, c.data))
			if err != nil {
				t.Fatal(err)
			}
			byName := map[string]Result{}
			for _, r := range got {
				byName[r.Name] = r
			}
			if len(got) != len(c.want) {
				t.Fatalf("%+v", got)
			}
			for _, w := range c.want {
				if byName[w.Name] != w {
					t.Errorf("%+v, want %+v", byName[w.Name], w)
				}
			}
		})
	}
}

func TestSchemaReadsNoFileAndNoAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "any.json")
	if err := os.WriteFile(file, []byte("true"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, "true")
	}))
	defer server.Close()
	for _, url := range []string{"file://" + file, server.URL + "/any.json", "other.json"} {
		_, err := Schema(map[string]any{"$ref": url}, 1.0)
		var bad *SchemaError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "references outside the schema are not followed") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if asked != 0 {
		t.Errorf("the schema made %d requests", asked)
	}
}

func TestBadSchemasSayWhere(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"numbr"}}}`: "/properties/a/type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'",
		`{"minimum":"1"}`:                       "/minimum: got string, want number",
		`{"$ref":"#/$defs/none"}`:               `json-pointer in "/$defs/none" not found`,
		`[]`:                                    "got array, want boolean or object",
	} {
		_, err := Schema(parse(t, schema), 1.0)
		var bad *SchemaError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if err.Error() != want {
			t.Errorf("%s: %q, want %q", schema, err, want)
		}
	}
}

func evaluator(t *testing.T) *Evaluator {
	t.Helper()
	v, err := NewEvaluator()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var input = Input{
	Answer: "The loan of 5,000 EUR is approved [1].",
	Data:   map[string]any{"amount": 5000.0, "rate": 0.03, "tags": []any{"a", "b"}},
	Passages: []any{
		map[string]any{"id": "p1", "document": "loan.md", "text": "approved"},
	},
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		expression string
		passed     bool
		reason     string
	}{
		{`data.amount <= 10000`, true, "data.amount <= 10000 holds"},
		{`data.amount > 10000`, false, "data.amount > 10000 does not hold"},
		{`answer.contains("approved") && size(passages) == 1`, true, `answer.contains("approved") && size(passages) == 1 holds`},
		{`passages.exists(p, p.document == "loan.md")`, true, `passages.exists(p, p.document == "loan.md") holds`},
		{`"b" in data.tags`, true, `"b" in data.tags holds`},
		{`answer.matches("[0-9],[0-9]{3} EUR")`, true, `answer.matches("[0-9],[0-9]{3} EUR") holds`},
		{`data.fee == 0`, false, "cannot be evaluated: no such key: fee"},
		{`data.amount`, false, "gives double, not a bool"},
		{`has(data.fee) || data.rate < 0.1`, true, "has(data.fee) || data.rate < 0.1 holds"},
	} {
		got, err := evaluator(t).Evaluate(context.Background(), Expression{Name: "rule", Expression: c.expression}, input)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		if want := (Result{"rule", c.passed, c.reason}); got != want {
			t.Errorf("%s: %+v, want %+v", c.expression, got, want)
		}
	}
}

func TestBadExpressionsSayWhere(t *testing.T) {
	for expression, want := range map[string]string{
		"data.amount >":              "line 1, column 14: Syntax error: mismatched input '<EOF>' expecting",
		"true &&\n  unknown == 1":    "line 2, column 3: undeclared reference to 'unknown'",
		"answer + 1 == ''":           "line 1, column 8: found no matching overload for '_+_' applied to '(string, int)'",
		"size(answer)":               "line 1, column 1: the expression gives int, an assertion has to give bool",
		"":                           "line 1, column 1: Syntax error: mismatched input '<EOF>' expecting",
		strings.Repeat("1 + ", 2000): "line 1, column 1: expression code point size exceeds limit: size: 8000, limit 4000",
	} {
		_, err := evaluator(t).Evaluate(context.Background(), Expression{Expression: expression}, input)
		var bad *ExpressionError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", expression, err, want)
		}
	}
}

func TestCostIsBounded(t *testing.T) {
	list := make([]any, 300)
	for i := range list {
		list[i] = float64(i)
	}
	got, err := evaluator(t).Evaluate(context.Background(), Expression{Name: "cubic", Expression: "data.all(a, data.all(b, data.all(c, a + b + c >= 0.0)))"}, Input{Data: list})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Result{"cubic", false, "stopped: the expression costs more than the limit of 200000"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestCanceledEvaluationIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := evaluator(t).Evaluate(ctx, Expression{Expression: "true"}, input); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
