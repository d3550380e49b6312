package synthesis

import (
	"slices"
	"testing"
)

func TestUnitsAreWhatCanBeQuoted(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"sentences", "One is here. Two\nis there! Is three? Yes.", []string{"One is here.", "Two is there!", "Is three?", "Yes."}},
		{"stops that end nothing", "Version 1.5 is out, e.g. for J. Smith (approx. 3.2 kg). See `a. B` too.", []string{"Version 1.5 is out, e.g. for J. Smith (approx. 3.2 kg).", "See `a. B` too."}},
		{"closing quotes", `He said "Go." Then he went.`, []string{`He said "Go."`, "Then he went."}},
		{"other scripts", "这是第一句。这是第二句。", []string{"这是第一句。", "这是第二句。"}},
		{"list", "The rules are:\n\n- first\n  goes on\n- second. And more.\n1. third", []string{"first goes on", "second.", "And more.", "third"}},
		{"table", "| who | pays |\n|---|---|\n| a guest | 5 |\n| | nothing |", []string{"who: a guest; pays: 5", "pays: nothing"}},
		{"table without its head", "| a guest | 5 |\n| a child | 2 |\n\nEnd.", []string{"a guest; 5", "a child; 2", "End."}},
		{"lone row", "| a guest | 5 |", []string{"a guest; 5"}},
		{"code with its introduction", "Build it with:\n\n```sh\nmake build\n```", []string{"Build it with: `make build`"}},
		{"long code", "```\na\nb\nc\nd\n```", nil},
		{"open fence", "Text.\n```\nmake", []string{"Text."}},
		{"headings, rules, comments, quotes", "# Title\n\n---\n<!-- no -->\n> Quoted.\n", []string{"Quoted."}},
		{"brackets that look like citations", "See [1, 2] and `[3]` and [4] now.", []string{"See `[1, 2]` and `[3]` and `[4]` now."}},
		{"empty", " \n\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, u := range units(0, tt.text) {
				got = append(got, u.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFormsOfAWordMeet(t *testing.T) {
	for _, family := range [][]string{
		{"store", "stores", "stored", "storing"},
		{"plan", "plans", "planned", "planning"},
		{"cancel", "cancels", "cancelled", "cancellation", "cancelling"},
		{"policy", "policies"},
		{"validate", "validates", "validated", "validation", "validator"},
		{"run", "running"},
		{"call", "calls", "called"},
	} {
		for _, w := range family {
			if stem(w) != stem(family[0]) {
				t.Errorf("%s gives %q, %s gives %q", family[0], stem(family[0]), w, stem(w))
			}
		}
	}
	if stem("go") != "go" || stem("bus") != "bus" {
		t.Errorf("short words are cut: %q, %q", stem("go"), stem("bus"))
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("How long?", "It lasts 3 hours. | a | b |\n|---|\n```\nx\n```")
	f.Add("what is [1]", "`unclosed [2] \x00 ..!\n- :\n1. ")
	f.Fuzz(func(t *testing.T, question, text string) {
		req := Request{Question: question, Passages: []Passage{{ID: "a", Text: text, Confidence: -1}}, MaxSentences: 3}
		a := Extract(req)
		if b := Extract(req); a.Text != b.Text {
			t.Errorf("two answers to one request: %q, %q", a.Text, b.Text)
		}
		if a.Answered != (len(a.Citations) > 0) {
			t.Errorf("answered %v with %d citations", a.Answered, len(a.Citations))
		}
	})
}
