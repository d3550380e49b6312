package playbook

import (
	"reflect"
	"testing"
)

func TestPrepareFillsInTextAndDefaults(t *testing.T) {
	in := mustParse(t, reviewed).Input
	for _, tt := range []struct {
		name, text string
		data, want map[string]any
	}{
		{"text", "why?", nil, map[string]any{"query": "why?", "limit": 5.0, "remember": false}},
		{"data wins", "why?", map[string]any{"query": "how?", "limit": 2.0}, map[string]any{"query": "how?", "limit": 2.0, "remember": false}},
		{"blank text", " \n", nil, map[string]any{"limit": 5.0, "remember": false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given := map[string]any{}
			for k, v := range tt.data {
				given[k] = v
			}
			if got := in.Prepare(tt.text, given); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if len(given) != len(tt.data) {
				t.Errorf("Prepare changed the request's data: %v", given)
			}
		})
	}
}

func TestCheckTellsMissingFromWrong(t *testing.T) {
	in := mustParse(t, reviewed).Input
	got := in.Check(map[string]any{"limit": 9.0, "remember": "yes"})
	want := []Gap{
		{Path: "/query", Missing: true, Message: `"query" is missing`, Description: "What you want to know."},
		{Path: "/limit", Message: "limit maximum: got 9, want 5"},
		{Path: "/remember", Message: "remember got string, want boolean"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if gaps := in.Check(map[string]any{"query": "why?"}); gaps != nil {
		t.Errorf("a complete input has gaps: %+v", gaps)
	}
	if gaps := (Input{}).Check(nil); gaps != nil {
		t.Errorf("no schema, but gaps: %+v", gaps)
	}
}

func TestCheckNamesNestedProperties(t *testing.T) {
	in := mustParse(t, `
playbook: nested
version: 1
input:
  schema:
    type: object
    properties:
      a/b: {type: object, required: [c], properties: {c: {type: string, description: The c.}}}
steps: [{id: a, agent: memory, skill: recall}]
output: {text: done}
`).Input
	got := in.Check(map[string]any{"a/b": map[string]any{}})
	want := []Gap{{Path: "/a~1b/c", Missing: true, Message: `"a/b.c" is missing`, Description: "The c."}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
