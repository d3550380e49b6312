package query_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

func TestQueriesAreReadAsTheyAreMeant(t *testing.T) {
	for in, want := range map[string]query.Query{
		"":                            {},
		"  leave   policy ":           {Text: "leave policy"},
		"state:working":               {States: []request.State{request.Working}},
		"STATE:Failed,input_required": {States: []request.State{request.InputRequired, request.Failed}},
		"state:failed state:working":  {States: []request.State{request.Working, request.Failed}},
		"state:open":                  {States: []request.State{request.Submitted, request.Working, request.InputRequired, request.AuthRequired}},
		"agent:research playbook:general caller:acme/alma context:c-1 task:t-1": {Agent: "research", Playbook: "general", Caller: "acme/alma", Context: "c-1", Task: "t-1"},
		"age:>1h age:<2d":                  {Older: time.Hour, Younger: 48 * time.Hour},
		"retrying failed:*":                {Retrying: true, Failed: "*"},
		`"retrying" "state:working"`:       {Text: "retrying state:working"},
		`playbook:"home loan" "a \"b\" c"`: {Playbook: "home loan", Text: `a "b" c`},
		"at 10:30 https://example.com/a":   {Text: "at 10:30 https://example.com/a"},
		"agent:a agent:a":                  {Agent: "a"},
		"caller:/operator":                 {Caller: "/operator"},
	} {
		got, err := query.Parse(in)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
}

func TestWhatIsWrongIsSaidWithWhatToWriteInstead(t *testing.T) {
	for in, want := range map[string]string{
		"state:wrking":           `There is no state "wrking". States are submitted, working`,
		"statte:working":         "statte: is no filter. There are state, agent",
		"agent:":                 "agent: needs a value, for example agent:research.",
		"agent:a agent:b":        "agent: stands twice",
		"age:1h":                 "age:>1h began over an hour ago",
		"age:>1y":                "An age is > or <",
		"age:>0h":                "An age is > or <",
		"age:>9999999w":          "ten years at most",
		"age:>1h age:>2h":        "age:> stands twice",
		`leave "policy`:          "A quote is not closed",
		strings.Repeat("x", 501): "longer than 500 bytes",
	} {
		_, err := query.Parse(in)
		var e *query.Error
		if !errors.As(err, &e) || !strings.Contains(e.Help, want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

func TestAQueryIsWrittenAsOneWouldWriteIt(t *testing.T) {
	q := query.Query{
		States: []request.State{request.Failed}, Agent: "research", Playbook: "home loan", Caller: "acme/alma", Older: 90 * time.Minute, Younger: 7 * 24 * time.Hour,
		Failed: "draft", Retrying: true, Text: "leave policy",
	}
	want := `state:failed agent:research playbook:"home loan" caller:acme/alma failed:draft age:>90m age:<1w retrying leave policy`
	if got := q.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := q.With(request.Working).With().String(); strings.Contains(got, "state:") {
		t.Errorf("without states: %s", got)
	}
}

func TestEveryKeyCanBeUsedAsItsExampleSays(t *testing.T) {
	for _, k := range query.Keys {
		if q, err := query.Parse(k.Example); err != nil || q.Text != "" {
			t.Errorf("%s: %+v, %v", k.Example, q, err)
		}
	}
}

func FuzzAQueryThatWasReadIsReadTheSameAgain(f *testing.F) {
	for _, seed := range []string{"", "state:open,failed a", `playbook:"x\\ \"y" age:<9s`, `"state:x" retrying`, "a:b", "age:>1h", "x \u2003y", "agent:\u00a0", `""`, "caller:\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		q, err := query.Parse(in)
		if err != nil {
			return
		}
		again, err := query.Parse(q.String())
		if err != nil && len(q.String()) > query.MaxLength {
			return // its canonical form has more quotes
		}
		if err != nil || !reflect.DeepEqual(again, q) {
			t.Errorf("%q was read as %+v and written as %q, which is %+v, %v", in, q, q.String(), again, err)
		}
	})
}
