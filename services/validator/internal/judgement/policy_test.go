package judgement

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestPolicyPicksTheMostSpecificRule(t *testing.T) {
	raw, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		product, risk string
		want          float64
	}{
		{"mortgage", "high", 0.95},
		{"mortgage", "low", 0.8},
		{"mortgage", "", 0.8},
		{"card", "low", 0.5},
		{"card", "high", 0.7},
		{"", "", 0.7},
	} {
		if got := p.Rule(c.product, c.risk); got.Threshold != c.want {
			t.Errorf("%q %q: %v, want %v", c.product, c.risk, got.Threshold, c.want)
		}
	}
	if got := DefaultPolicy().Rule("mortgage", "high").Threshold; got != 0.7 {
		t.Errorf("without a file: %v, want 0.7", got)
	}
	empty, err := ParsePolicy(nil)
	if err != nil || empty.Rule("", "").Threshold != 0.7 {
		t.Errorf("an empty file: %v, %v", empty, err)
	}
}

func TestOverdueReviewIsNoted(t *testing.T) {
	r := Rule{Threshold: 0.95, Owner: "lending-quality", ReviewDate: "2026-06-30"}
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if got := r.Overdue(day("2026-06-30 23:59:59")); got != "" {
		t.Errorf("on the day: %q", got)
	}
	if got, want := r.Overdue(day("2026-07-01 00:00:00")), "the threshold of 0.95 was due for review by lending-quality on 2026-06-30"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFaultyPoliciesSayWhere(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown key":  {"rules:\n  - {product: a, treshold: 0.8, owner: x, review_date: 2027-01-01}", `policy: rules[0]: line 2: unknown key "treshold"`},
		"unknown top":  {"thresholds: []", "field thresholds not found"},
		"out of range": {"default: {threshold: 1.2, owner: x, review_date: 2027-01-01}", "policy: default: line 1: threshold 1.2: must be over 0 and at most 1"},
		"zero":         {"default: {owner: x, review_date: 2027-01-01}", "threshold 0: must be over 0"},
		"not a number": {"default: {threshold: .nan, owner: x, review_date: 2027-01-01}", "threshold NaN: must be over 0"},
		"no owner":     {"rules:\n\n  - {product: a, threshold: 0.8, review_date: 2027-01-01}", "policy: rules[0]: line 3: owner is missing"},
		"bad date":     {"default: {threshold: 0.8, owner: x, review_date: 31.1.2027}", `review_date "31.1.2027": write a day as 2027-01-31`},
		"no date":      {"default: {threshold: 0.8, owner: x}", `review_date "": write a day as 2027-01-31`},
		"twice":        {"rules:\n  - &r {product: a, threshold: 0.8, owner: x, review_date: 2027-01-01}\n  - {product: a, threshold: 0.9, owner: x, review_date: 2027-01-01}", `policy: rules[1]: line 3: there is already a rule for product "a" and risk ""`},
		"for all":      {"rules:\n  - {threshold: 0.8, owner: x, review_date: 2027-01-01}", "policy: rules[0]: line 2: name a product or a risk"},
		"default of":   {"default: {product: a, threshold: 0.8, owner: x, review_date: 2027-01-01}", "the default names no product"},
		"no mapping":   {"rules: [0.8]", "policy: rules[0]: line 1: a rule is a mapping"},
		"no YAML":      {"rules: [", "policy: yaml:"},
	} {
		if _, err := ParsePolicy([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	raw, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw))
	f.Add("default: {threshold: 0.7, owner: a, review_date: 2027-01-31}")
	f.Add("rules: [{product: &a b, risk: *a}]")
	f.Fuzz(func(t *testing.T, file string) {
		p, err := ParsePolicy([]byte(file))
		if err != nil {
			return
		}
		if r := p.Rule("mortgage", "high"); !(r.Threshold > 0 && r.Threshold <= 1) {
			t.Fatalf("%q accepts a threshold of %v", file, r.Threshold)
		}
	})
}
