package connector_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sabha.dev/services/executor/internal/connector"
)

const accounts = `
openapi: 3.0.3
paths:
  /accounts/{number}:
    put:
      operationId: put
      parameters: [{name: number, in: path, required: true, schema: {$ref: '#/components/schemas/Number'}}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Account'}}}}
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Account'}}}}}
  /plain:
    get:
      operationId: plain
      responses: {"200": {content: {application/json: {schema: {type: object}}}}}
components:
  schemas:
    Number: {type: integer, format: int64, minimum: 10, nullable: true}
    Account:
      type: object
      properties:
        number: {$ref: '#/components/schemas/Number'}
        note: {type: string}
        others: {type: array, items: {$ref: '#/components/schemas/Number'}}
        by: {type: object, additionalProperties: {type: integer, format: int64}}
`

func TestIntegersKeepEveryDigit(t *testing.T) {
	p := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.WriteString(w, `{"number": 9007199254740993, "note": "9007199254740993", "others": [12, 9223372036854775807, null], "by": {"a": -9007199254740993}}`)
			return
		}
		_, _ = io.WriteString(w, `{"number": 9007199254740993}`)
	})
	h := connect(t, accounts, connector.Config{URL: p.URL})
	got, err := invoke(t, h, "put", `{"number": "9223372036854775807", "body": {"number": 9007199254740993, "note": "42", "others": ["9007199254740995"]}}`)
	if want := `{"body":{"by":{"a":"-9007199254740993"},"note":"9007199254740993","number":"9007199254740993","others":[12,"9223372036854775807",null]},"status":200}`; got != want || err != nil {
		t.Errorf("result %s, error %v\nwant %s", got, err, want)
	}
	seen, _ := p.asked()
	if want := `PUT /accounts/9223372036854775807 {"note":"42","number":9007199254740993,"others":[9007199254740995]}`; seen[0] != want {
		t.Errorf("the provider was asked %s\nwant %s", seen[0], want)
	}
	// Text is held to the bounds of the number, and is nothing else.
	for arguments, want := range map[string]string{
		`{"number": "9", "body": {}}`:        "/number: minimum: got 9, want 10",
		`{"number": "twelve", "body": {}}`:   "/number: 'twelve' does not match pattern",
		`{"number": 12, "body": {"note":7}}`: "/body/note: got number, want string",
	} {
		if _, err := invoke(t, h, "put", arguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", arguments, err, want)
		}
	}
	// What no schema calls an int64 is refused, and never rounded.
	if got, err := invoke(t, h, "plain", `{}`); err == nil || !strings.Contains(err.Error(), "holds the whole number 9007199254740993, which a data part cannot carry exactly") {
		t.Errorf("result %s, error %v", got, err)
	}
}
