package agent_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
)

func TestWhatARequestSaysInALine(t *testing.T) {
	data := func(v any) *a2apb.Part {
		p, err := agent.Data(v)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for want, parts := range map[string][]*a2apb.Part{
		"":      {},
		"Hello": {data(map[string]any{"a": 1}), agent.Text("Hello")},
		"amount: 12500.5, customer: Bo Li, express: no": {data(map[string]any{"customer": "Bo\n Li", "amount": 12500.5, "express": false, "note": nil})},
		"customer: (id: 7, name: Bo), lines: (a, b, c, 2 more)": {data(map[string]any{
			"customer": map[string]any{"name": "Bo", "id": 7}, "lines": []any{"a", "b", "c", "d", "e"},
		})},
		"a: (b: …)":                     {data(map[string]any{"a": map[string]any{"b": map[string]any{"c": 1}}})},
		"n: 1; file terms and more.pdf": {data(map[string]any{"n": 1}), {Filename: "terms and\tmore.pdf", Content: &a2apb.Part_Raw{Raw: []byte("%PDF")}}},
		"<script>: ='1+1'":              {data(map[string]any{"<script>": "='1+1'"})}, // whoever shows it escapes it
	} {
		if got := agent.Brief(parts, 200); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := map[string]any{}
	for _, c := range "abcdefghij" {
		long[string(c)] = strings.Repeat("ö", 1000)
	}
	if got := agent.Brief([]*a2apb.Part{data(long)}, 200); len(got) > 203 || !utf8.ValidString(got) || !strings.HasPrefix(got, "a: öö") || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
