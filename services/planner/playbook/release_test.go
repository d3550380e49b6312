package playbook

import "testing"

func TestAFieldIsReleasedByItsSchemaAlone(t *testing.T) {
	const file = `playbook: p
version: 1
steps:
  - id: read
    agent: research
    skill: search
    release:
      verdict: {description: What to do., enum: [pay, 3, true]}
      offer.rate: {type: number, minimum: 0, maximum: 10}
      years: {type: integer}
      sure: {type: boolean}
      day: {type: string, format: date}
      at: {type: string, format: date-time}
output: {text: "= steps.read.output.text"}
`
	book, err := Parse("p.yaml", []byte(file), Personas())
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]Release{}
	for _, r := range book.Step("read").Releases {
		schemas[r.Field] = r
	}
	for _, c := range []struct {
		field string
		value any
		keeps bool
	}{
		{"verdict", "pay", true},
		{"verdict", 3.0, true},
		{"verdict", true, true},
		{"verdict", "pay now", false},
		{"verdict", "Pay", false},
		{"verdict", []any{"pay"}, false},
		{"verdict", map[string]any{"pay": true}, false},
		{"verdict", nil, false},
		{"offer.rate", map[string]any{"rate": 9.5}, true},
		{"offer.rate", map[string]any{"rate": 10.5}, false},
		{"offer.rate", map[string]any{"rate": "9"}, false},
		{"offer.rate", 9.5, false},
		{"years", 3.0, true},
		{"years", 3.5, false},
		{"sure", false, true},
		{"sure", "false", false},
		{"day", "2026-11-30", true},
		{"day", "2026-11-31", false},
		{"day", "2026-11-30 and more", false},
		{"at", "2026-11-30T19:00:00Z", true},
		{"at", "2026-11-30", false},
	} {
		name := schemas[c.field].Path[0]
		if got := schemas[c.field].Keeps(map[string]any{name: c.value, "other": "x"}); got != c.keeps {
			t.Errorf("%s: %v kept to its schema: %v", c.field, c.value, got)
		}
		if schemas[c.field].Keeps(nil) {
			t.Errorf("%s: an absent field keeps to its schema", c.field)
		}
	}
}

func TestSourcesAreWhatAnExpressionReads(t *testing.T) {
	const file = `playbook: p
version: 1
input: {schema: {type: object, properties: {q: {type: string}}}}
steps:
  - {id: a, agent: research, skill: search, inputs: {query: "= input.q"}}
  - {id: b, agent: research, skill: search, when: "has(steps.a.output.data.results)", inputs: {x: ["= steps.a.output.data.results[0].text", "= steps.a.output.data.?top.name.orValue('')"], y: 1}}
  - {id: c, agent: validator, skill: judge, inputs: {all: "= input", old: "= revision.feedback.text", b: "= steps.b.output.text"}, revise: {step: c, until: "steps.c.output.data.n > 1", max: 1}}
output: {text: "= steps.c.output.text", data: "= steps.c.output.data"}
`
	book, err := Parse("p.yaml", []byte(file), Personas())
	if err != nil {
		t.Fatal(err)
	}
	show := func(s Sources) string {
		out := ""
		if s.Input {
			out += " input"
		}
		if s.Feedback {
			out += " feedback"
		}
		for _, f := range s.Fields {
			out += " " + f.Step
			for _, n := range f.Path {
				out += "." + n
			}
		}
		return out
	}
	text, data := book.Output.Sources()
	for _, c := range []struct {
		what string
		got  Sources
		want string
	}{
		{"a", book.Step("a").Sources, " input"},
		{"b", book.Step("b").Sources, " a.results a.top.name"},
		{"b's condition", book.Step("b").Condition, " a.results"},
		{"b.x", book.Step("b").InputSources["x"], " a.results a.top.name"},
		{"b.y", book.Step("b").InputSources["y"], ""},
		{"c.all", book.Step("c").InputSources["all"], " input"},
		{"c", book.Step("c").Sources, " input feedback b"},
		{"c's verdict", book.Step("c").Revise.Sources, " c.n"},
		{"text", text, " c"},
		{"data", data, " c"},
	} {
		if got := show(c.got); got != c.want {
			t.Errorf("%s is made of%s, want%s", c.what, got, c.want)
		}
	}
}
