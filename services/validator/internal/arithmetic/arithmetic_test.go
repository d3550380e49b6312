package arithmetic

import (
	"errors"
	"strings"
	"testing"
)

func TestFindRecomputesStatements(t *testing.T) {
	for _, c := range []struct {
		text, statement, computed string
		passed                    bool
	}{
		{"12 + 30 = 42", "12 + 30 = 42", "42", true},
		{"In total 12 + 30 = 43 days.", "12 + 30 = 43 days", "42", false},
		{"100 - 37.5 = 62.5", "100 - 37.5 = 62.5", "62.5", true},
		{"3 × 4.5 = 13.5", "3 × 4.5 = 13.5", "13.5", true},
		{"3 x 4 is 13", "3 x 4 is 13", "12", false},
		{"100 / 3 ≈ 33.3", "100 / 3 ≈ 33.3", "33.333333", true},
		{"100 / 3 = 33.4", "100 / 3 = 33.4", "33.333333", false},
		{"(2 + 3) * 4 = 20", "(2 + 3) * 4 = 20", "20", true},
		{"2 + 3 * 4 = 20", "2 + 3 * 4 = 20", "14", false},
		{"42 = 12 + 30", "42 = 12 + 30", "42", true},
		{"15% of 200 is 30", "15% of 200 is 30", "30", true},
		{"15 percent of $1,500 is $225.", "15 percent of $1,500 is $225", "225", true},
		{"20% of 450 is 80", "20% of 450 is 80", "90", false},
		{"30 is 15% of 200", "30 is 15% of 200", "15", true},
		{"30 is 12% of 200", "30 is 12% of 200", "15", false},
		{"60 is 33% of 180", "60 is 33% of 180", "33.333333", true},
		{"$1.2 million + $0.5 million = $1.7 million", "$1.2 million + $0.5 million = $1.7 million", "1700000", true},
		{"$1.2 million + $0.5 million = $1.9 million", "$1.2 million + $0.5 million = $1.9 million", "1700000", false},
		{"1,200 + 300 equals 1,500", "1,200 + 300 equals 1,500", "1500", true},
		{"12 plus 30 is 42", "12 plus 30 is 42", "42", true},
		{"84 divided by 4 is 21", "84 divided by 4 is 21", "21", true},
		{"3 kg + 4 kg = 8 kg", "3 kg + 4 kg = 8 kg", "7", false},
		{"45 / 180 = 25%", "45 / 180 = 25%", "0.25", true},
		{"45 / 180 = 30%", "45 / 180 = 30%", "0.25", false},
		{"12.5% + 7.5% = 20%", "12.5% + 7.5% = 20%", "0.2", true},
		{"It rose from 80 to 100, an increase of 25%.", "from 80 to 100, an increase of 25%", "25", true},
		{"It rose from 80 to 100, an increase of 20%.", "from 80 to 100, an increase of 20%", "25", false},
		{"Costs went from $2 million to $1.5 million, a drop of 25 percent.", "from $2 million to $1.5 million, a drop of 25 percent", "25", true},
		{"0.1 + 0.2 = 0.3", "0.1 + 0.2 = 0.3", "0.3", true},
		{"9007199254740993 + 1 = 9007199254740994", "9007199254740993 + 1 = 9007199254740994", "9007199254740994", true},
	} {
		t.Run(c.text, func(t *testing.T) {
			got := Find(c.text)
			if len(got) != 1 {
				t.Fatalf("%d statements, want one: %+v", len(got), got)
			}
			if got[0].Text != c.statement || got[0].Computed != c.computed || got[0].Passed != c.passed {
				t.Errorf("%q computed %s passed %v, want %q %s %v", got[0].Text, got[0].Computed, got[0].Passed, c.statement, c.computed, c.passed)
			}
			if c.text[got[0].Start:got[0].End] != got[0].Text {
				t.Errorf("offsets give %q", c.text[got[0].Start:got[0].End])
			}
		})
	}
}

func TestFindLeavesProseAlone(t *testing.T) {
	for _, text := range []string{
		"Support is open 24/7 and pages 3-4 are short.",
		"Version 1.2.3 is from 2024-03-12.",
		"The limit is 5 MB.",
		"3 of 10 replicas are ready.",
		"60 min + 1 h = 2 h",
		"x = 3",
		"5 / 0 = 7",
		"In 2019-2020 it was 4.",
		"",
	} {
		if got := Find(text); len(got) != 0 {
			t.Errorf("%q gives %+v", text, got)
		}
	}
}

func TestFindReadsEveryStatementOfAnAnswer(t *testing.T) {
	got := Find("First 2 + 2 = 4. Then 10% of 50 is 6, and 1 + 2 = 3 = 4 - 1.")
	want := []struct {
		text   string
		passed bool
	}{{"2 + 2 = 4", true}, {"10% of 50 is 6", false}, {"1 + 2 = 3", true}, {"3 = 4 - 1", true}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if got[i].Text != w.text || got[i].Passed != w.passed {
			t.Errorf("%d: %q %v, want %q %v", i, got[i].Text, got[i].Passed, w.text, w.passed)
		}
	}
}

func TestDeclaredComputations(t *testing.T) {
	data := map[string]any{"loan": map[string]any{"amount": 240000.0, "years": 30.0}, "items": []any{map[string]any{"price": "19.90"}, map[string]any{"price": 5.05}}, "name": "x"}
	for _, c := range []struct {
		expression       string
		value            any
		computed, reason string
		passed           bool
	}{
		{"loan.amount * 80%", 192000.0, "192000", "recomputed: 192000", true},
		{"items[0].price + items[1].price", "24.95", "24.95", "recomputed: 24.95", true},
		{"items[0].price + items[1].price", 24.9, "24.95", "recomputed: 24.95", true},
		{"items[0].price + items[1].price", "24.90", "24.95", "recomputed: 24.95, stated: 24.9", false},
		{"(1 + 0.05) ^ 2", 1.1025, "1.1025", "recomputed: 1.1025", true},
		{"2 ^ -2", 0.25, "0.25", "recomputed: 0.25", true},
		{"-3 * -(2 - 4)", -6.0, "-6", "recomputed: -6", true},
		{"60000 / loan.amount", "25%", "0.25", "recomputed: 0.25", true},
		{"1 / (loan.years - 30)", 1.0, "", "division by zero", false},
		{"loan.rate * 2", 1.0, "", `column 1: loan.rate: the data has no "rate"`, false},
		{"1 + items[5].price", 1.0, "", `column 5: items[5].price: "5" is not an index of a list of 2`, false},
		{"name * 2", 1.0, "", `column 1: name: "x" is not a number`, false},
	} {
		got, err := Declared{Expression: c.expression, Value: c.value}.Check(data)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		if got.Computed != c.computed || got.Passed != c.passed || got.Reason != c.reason {
			t.Errorf("%s = %v: computed %q passed %v reason %q, want %q %v %q", c.expression, c.value, got.Computed, got.Passed, got.Reason, c.computed, c.passed, c.reason)
		}
	}
}

func TestBadExpressionsSayWhere(t *testing.T) {
	for expression, want := range map[string]string{
		"1 +":                         `column 4: a number, a path or "(" is expected here`,
		"(1 + 2":                      `column 7: a ")" is missing`,
		"1 2":                         `column 3: unexpected "2"`,
		"1.2.3":                       `column 1: "1.2.3" is not a number`,
		"2 ^ 0.5":                     "column 4: the exponent must be a whole number between -1000 and 1000",
		"2 ^ 5000":                    "column 4: the exponent must be a whole number between -1000 and 1000",
		"(2 ^ 1000) ^ 1000":           "column 13: the result of this power is too long to be computed exactly",
		"loan.amount":                 `column 1: "loan.amount": there is no data to look it up in`,
		"":                            `column 1: a number, a path or "(" is expected here`,
		strings.Repeat("(", 60) + "1": "column 52: nested deeper than 50",
		strings.Repeat("1+", 1500):    "column 1: the expression has 3000 bytes, at most 2000 are read",
	} {
		_, err := Declared{Expression: expression, Value: 1.0}.Check(nil)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"12 + 30 = 42", "15% of 200 is 30", "from 80 to 100, an increase of 25%", "((((1", "1 = 1 = 1", "€5 x 3 = €15", "- - 1 = 2", "1e999 = 3 + 4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Find(text) {
			if s.Start < 0 || s.End > len(text) || text[s.Start:s.End] != s.Text || s.Reason == "" {
				t.Fatalf("%+v in %q", s, text)
			}
		}
	})
}

func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{"1 + 2 * 3", "(a.b[0] - 1) ^ 2 / 3%", "--1", "2^2^2", "((((((", "9^999^9", "1/0"} {
		f.Add(s)
	}
	data := map[string]any{"a": map[string]any{"b": []any{2.0}}}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Evaluate(text, In(data))
		if (v == nil) == (err == nil) {
			t.Fatalf("%q: value %v, error %v", text, v, err)
		}
	})
}
