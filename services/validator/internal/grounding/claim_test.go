package grounding

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	type claim struct {
		text      string
		citations string
		shared    string
	}
	for _, c := range []struct {
		name, answer string
		want         []claim
	}{
		{"marker before the stop", "It is blue [1]. It is red [2].", []claim{{"It is blue.", "1", ""}, {"It is red.", "2", ""}}},
		{"marker behind the stop", "It is blue. [1] It is red.[2]", []claim{{"It is blue.", "1", ""}, {"It is red.", "2", ""}}},
		{"several", "It is blue [1][3]. It is red [1, 2-4].", []claim{{"It is blue.", "1 3", ""}, {"It is red.", "1 2 3 4", ""}}},
		{"footnote", "It is blue [^2].", []claim{{"It is blue.", "2", ""}}},
		{"shared", "It is blue. It is red. [1]", []claim{{"It is blue.", "", "1"}, {"It is red.", "1", ""}}},
		{"not shared inside", "It is blue. It is red [1].", []claim{{"It is blue.", "", ""}, {"It is red.", "1", ""}}},
		{"not shared over paragraphs", "It is blue.\n\nIt is red. [1]", []claim{{"It is blue.", "", ""}, {"It is red.", "1", ""}}},
		{"list", "Colours:\n\n- blue [1]\n- red [2]\n1. green", []claim{{"blue", "1", ""}, {"red", "2", ""}, {"green", "", ""}}},
		{"abbreviations", "Dr. A. Smith pays approx. 5 EUR, e.g. in cash. See no. 7 of it.", []claim{{"Dr. A. Smith pays approx. 5 EUR, e.g. in cash.", "", ""}, {"See no. 7 of it.", "", ""}}},
		{"decimals and versions", "It costs 1.5 EUR in v1.2. It is 3.0 today.", []claim{{"It costs 1.5 EUR in v1.2.", "", ""}, {"It is 3.0 today.", "", ""}}},
		{"headings, questions, lead-ins", "# Answer\n\nHere is what I found:\n\nIs it blue? It is blue.", []claim{{"It is blue.", "", ""}}},
		{"not found", "I could not find anything about green. It is blue.", []claim{{"It is blue.", "", ""}}},
		{"references", "It is blue [1].\n\nSources:\n[1] colours.md\n[2] other.md", []claim{{"It is blue.", "1", ""}}},
		{"link and index", "See [the guide](http://a.b/c) and `a[1]` now.", []claim{{"See the guide and `a[1]` now.", "", ""}}},
		{"emphasis", "It is **very** _blue_ [1].", []claim{{"It is very blue.", "1", ""}}},
		{"code", "Use `__init__` in `rules_*.go` [1].", []claim{{"Use `__init__` in `rules_*.go`.", "1", ""}}},
		{"fence", "```\na = b[1]\n```\nIt is blue.", []claim{{"a = b[1]", "", ""}, {"It is blue.", "", ""}}},
		{"table", "| Plan | Price |\n|---|---|\n| Pro | 5 EUR [1] |", []claim{{"Plan Pro; Price 5 EUR", "1", ""}}},
		{"other scripts", "它是蓝色的。它是红色的[1]。", []claim{{"它是蓝色的。", "", ""}, {"它是红色的。", "1", ""}}},
		{"empty", " \n\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []claim
			for _, k := range Split(c.answer) {
				got = append(got, claim{k.Text, strings.Join(k.Citations, " "), strings.Join(k.Shared, " ")})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

func TestClaimsKeepTheirPlaceInTheAnswer(t *testing.T) {
	answer := "Yes. The **fee** is 5 EUR. [1] It is due\non Monday [2]."
	var got []string
	for _, c := range Split(answer) {
		got = append(got, answer[c.Start:c.End])
	}
	if want := []string{"Yes. ", "The **fee** is 5 EUR. [1] ", "It is due\non Monday [2]."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"It is blue [1]. It is red.", "a.\n\n- b [2-4]\n```\nx\n", "| a | b |\n|--|--|\n| 1 | 2 |", "[1][^2] no. 5% of 3 km on 12 May 2020 at 3 pm", "“It isn’t” – 1,000.50 °C [x-1]", "at least once, twenty-five thousand",
	} {
		f.Add(s, "It is blue at 5 km on 12 May 2020. No more than 3 are not red.")
	}
	f.Fuzz(func(t *testing.T, answer, passage string) {
		findings, err := Check(t.Context(), answer, []Passage{{ID: "x-1", Text: passage}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range findings {
			if c.Start < 0 || c.End > len(answer) || c.Start >= c.End || c.Score < 0 || c.Score > 1 || len(c.Reasons) == 0 || strings.TrimSpace(c.Text) == "" {
				t.Fatalf("%+v of %q", c, answer)
			}
		}
	})
}
