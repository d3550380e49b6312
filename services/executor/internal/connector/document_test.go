package connector

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDocumentsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		`{"openapi": "3.1.0", "openapi": "3.0.0", "paths": {}}`: `the key "openapi" is given twice`,
		"openapi: 3.1.0\npaths: {}\npaths: {}":                  `the key "paths" is given twice`,
		"openapi: 3.1.0\npaths: {a: .inf}":                      ".inf is no number of JSON",
		"openapi: 3.1.0\n<<: {a: 1}\npaths: {}":                 "a key is no plain text",
		"openapi: 3.1.0\npaths: 7":                              "the document has no paths",
		"- 1":                                                   "the document is not OpenAPI 3",
		"":                                                      "the document cannot be read",
		"a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]": "it has more than",
		"a: &a [*a]": "cannot be read",
	} {
		if _, err := read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func TestADefinitionIsTheSameEachTime(t *testing.T) {
	const text = `{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"200": {"content": {"application/json": {"schema":
		{"properties": {"x": {"$ref": "#/components/schemas/X"}, "y": {"$ref": "#/components/schemas/Y"}, "z": {"$ref": "#/components/schemas/Z"}}}}}}}}}},
		"components": {"schemas": {"X": {"$ref": "#/components/schemas/Y"}, "Y": {"type": "string"}, "Z": {"type": "integer", "format": "int64"}}}}`
	var first string
	for range 50 {
		d, err := read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		o := d.operations(nil)[0]
		if o.problem != "" || o.name != "get-a" {
			t.Fatalf("%s: %s", o.name, o.problem)
		}
		if first == "" {
			first = string(o.output)
		}
		if string(o.output) != first {
			t.Fatalf("%s\nand then\n%s", first, o.output)
		}
	}
}

// Whatever a document holds, it is refused or its operations are tools with a schema.
func FuzzDocument(f *testing.F) {
	for _, text := range []string{
		"openapi: 3.0.3\npaths: {/a/{b}: {get: {parameters: [{name: b, in: path, schema: {type: integer, format: int64, nullable: true}}], security: [{k: []}]}}}",
		`{"openapi": "3.1.0", "paths": {"/": {"$ref": "#/paths/~1"}, "/x": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/paths/~1x"}}}}}}}}`,
		"openapi: 3.1.0\nservers: [{url: 'https://{h}/', variables: {h: {default: a}}}]\npaths: {/a: {put: {responses: {2XX: {content: {text/json+json: {schema: {allOf: [{$ref: '#/a'}]}}}}}}}}\na: &x {items: *x}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := read(text)
		if err != nil {
			return
		}
		for _, o := range d.operations(map[string]Credential{"k": {SecretFile: "k"}}) {
			if listed := o.tool(); o.problem == "" && (!json.Valid(o.input) || !json.Valid(o.output) || listed.Name == "") {
				t.Errorf("operation %+v", o)
			}
		}
	})
}
