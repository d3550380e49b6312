package document

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestValuesAreLinesWithTheirPathsAndBytes(t *testing.T) {
	long := strings.Repeat("word ", 310) + "end"
	cases := []struct{ name, file, src, title, want string }{
		{
			"one block of lines", "a.json", "\ufeff" + ` {"title": "The \u0000T\ud800", "a": {"b": [1, "two", true], "c": [{"d": null}, {}]}, "e": 1.50}` + "\n", "The T\ufffd",
			`"title: The T` + "\ufffd" + `\na.b: 1, two, true\na.c[0].d: null\ne: 1.50" <- ` +
				strconv.Quote(`{"title": "The \u0000T\ud800", "a": {"b": [1, "two", true], "c": [{"d": null}, {}]}, "e": 1.50}`) + "\n",
		},
		{
			"what is too long for a block is divided at values", "a.json", `{"a": 1, "b": {"c": "` + long + `", "d": [2 , {"e" : 3}]}}`, "a",
			`"a: 1" <- "\"a\": 1"` + "\n" + strconv.Quote("b.c: "+long) + " <- " + strconv.Quote(`"c": "`+long+`"`) + "\n" +
				`"b.d[0]: 2\nb.d[1].e: 3" <- "\"d\": [2 , {\"e\" : 3}]"` + "\n",
		},
		{"lines", "a.jsonl", "{\"a\":1}\n{\"a\":2}\n", "a", `"a: 1" <- "{\"a\":1}"` + "\n" + `"a: 2" <- "{\"a\":2}"` + "\n"},
		{"a plain value", "a.json", `"x"`, "a", `"x" <- "\"x\""` + "\n"},
	}
	for _, c := range cases {
		d, err := Parse(c.file, []byte(c.src))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		verify(t, d, []byte(c.src))
		if got := spans(d, c.src); got != c.want || d.Title != c.title {
			t.Errorf("%s: title %q, got\n%swant\n%s", c.name, d.Title, got, c.want)
		}
	}
}

const petstore = `{"openapi": "3.1.0",
 "paths": {"/pets/{id}": {
   "parameters": [{"name": "id", "in": "path", "required": true}],
   "get": {"summary": "Find a pet", "tags": ["pets", "read"],
     "parameters": [{"$ref": "#/components/parameters/Verbose"}],
     "responses": {"200": {"description": "The pet", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}, "404": {"description": "None"}}},
   "delete": {"operationId": "removePet"}}},
 "info": {"title": "Pet store", "version": "1.2"},
 "components": {"schemas": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}}, "requestBodies": {"New": {"description": "A new pet"}}},
 "servers": [{"url": "https://pets.example"}]}`

func TestOperationsOfAnAPIAreSections(t *testing.T) {
	d, err := Parse("pets.json", []byte(petstore))
	if err != nil {
		t.Fatal(err)
	}
	verify(t, d, []byte(petstore))
	want := `## /pets/{id}
| parameter id.name: id⏎parameter id.in: path⏎parameter id.required: true
## GET /pets/{id}: Find a pet
| summary: Find a pet⏎tags: pets, read⏎parameter.$ref: #/components/parameters/Verbose⏎response 200.description: The pet⏎` +
		`response 200.content.application/json.schema.$ref: #/components/schemas/Pet⏎response 404.description: None
## DELETE /pets/{id}
| operationId: removePet
## info
| title: Pet store⏎version: 1.2
## schema Pet
| type: object⏎properties.name.type: string
## request body New
| description: A new pet
## servers
| [0].url: https://pets.example
`
	if got := outline(d); got != want || d.Title != "Pet store" || d.Metadata["version"][0] != "1.2" {
		t.Errorf("%q %v\n%swant\n%s", d.Title, d.Metadata, got, want)
	}
	found := d.Root.Children[2]
	if got := petstore[found.Start:found.Blocks[0].End]; got != `"delete": {"operationId": "removePet"` {
		t.Errorf("the operation's bytes are %q", got)
	}
}

func TestJSONNamesWhatIsWrong(t *testing.T) {
	key := strings.Repeat("k", 1000)
	wide := strings.Repeat(`{"`+key+`":`, 30) + "[" + strings.Repeat("[{},1],", 1<<14) + "1]" + strings.Repeat("}", 30)
	cases := []struct {
		file, src, says string
		want            error
	}{
		{"a.json", `{"a": [1, `, "not valid JSON: it ends in the middle of a value", ErrJSON},
		{"a.json", `{"a"`, "not valid JSON: it ends in the middle of a value", ErrJSON},
		{"a.json", `{"a": "x`, "not valid JSON: it ends in the middle of a value", ErrJSON},
		{"a.json", `{"a": 1,}`, "not valid JSON, at byte 8", ErrJSON},
		{"a.json", `<html>`, "not valid JSON, at byte 1", ErrJSON},
		{"a.json", "{}\n{}", "not valid JSON: something follows the value, at byte 3; name a file of one value a line .jsonl", ErrJSON},
		{"a.jsonl", "{}\n[}", "not valid JSON, at byte 4", ErrJSON},
		{"a.json", "", "no text in it", ErrNoText},
		{"a.json", "[{}, []]", "no text in it", ErrNoText},
		{"a.json", strings.Repeat("[", 1<<20), "nested too deeply", ErrTooDeep},
		{"a.json", "[" + strings.Repeat("1,", maxValues) + "1]", "more than 524288 values; split it", ErrTooMany},
		{"a.json", wide, "its text is more than 32 MiB; split it", ErrExpands},
		{"a.json", "\"\xff\"", "not valid UTF-8; convert it to UTF-8", ErrEncoding},
		{"a.json", "%PDF-1.4", "not what its name says: it is a PDF file", ErrMislabelled},
	}
	for _, c := range cases {
		_, err := Parse(c.file, []byte(c.src))
		if !errors.Is(err, c.want) || err.Error() != c.file+": "+c.says {
			t.Errorf("%.20q: got %v, want %s", c.src, err, c.says)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(petstore, false)
	f.Add(`{"swagger":"2.0","webhooks":{"x":{"post":{"parameters":{"a":{}},"responses":[{}]}}},"definitions":[1]}`, false)
	f.Add("{\"a\":[1,{}]}\n[\"\\ud800\",null]\n", true)
	f.Fuzz(func(t *testing.T, src string, lines bool) {
		name := "a.json"
		if lines {
			name = "a.jsonl"
		}
		d, err := Parse(name, []byte(src))
		if err != nil {
			return
		}
		verify(t, d, []byte(src))
		d.Sections(func(_ []string, s *Section) {
			if strings.ContainsRune(s.Heading, 0) {
				t.Fatalf("heading %q", s.Heading)
			}
			for _, b := range s.Blocks {
				if strings.ContainsRune(b.Text, 0) {
					t.Fatalf("text %q", b.Text)
				}
			}
		})
	})
}
