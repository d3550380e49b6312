package trust_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"sabha.dev/services/partners/internal/trust"
)

var update = flag.Bool("update", false, "write the examples of docs/trust.md")

// half is a day on which half of the answers were bad.
func half(until, n int) []trust.Day {
	var list []trust.Day
	for i := range n {
		d := good(ago(until + i))
		d.OK, d.Invalid, d.Good = 20, 20, 20
		list = append(list, d)
	}
	return list
}

func TestTheExamplesOfTheDocumentAreComputed(t *testing.T) {
	burst := good(now)
	burst.Calls, burst.OK, burst.Callers, burst.Tests, burst.Good = 10_000, 10_000, 1, 0, 0
	drift := trust.Mark{Kind: trust.Drift, At: now, Open: true}
	closed, suspended, other := drift, drift, drift
	closed.Open, closed.At = false, ago(30)
	suspended.Kind, suspended.Open, suspended.At = trust.Suspended, false, ago(30)
	other.Other = true
	var b strings.Builder
	b.WriteString("| life | uptime | answers | history | standing | score |\n|---|---|---|---|---|---|\n")
	for _, e := range []struct {
		life  string
		days  []trust.Day
		marks []trust.Mark
	}{
		{life: "nothing yet"},
		{life: "one good day", days: goodDays(1, 0)},
		{life: "one day with 10,000 good calls of one caller", days: []trust.Day{burst}},
		{life: "7 good days", days: goodDays(7, 0)},
		{life: "30 good days", days: goodDays(30, 0)},
		{life: "90 good days", days: goodDays(90, 0)},
		{life: "a year of good days", days: goodDays(365, 0)},
		{life: "90 good days, then 30 without news", days: goodDays(90, 30)},
		{life: "90 good days, then 180 without news", days: goodDays(90, 180)},
		{life: "90 good days, then one bad", days: append(goodDays(90, 1), half(0, 1)...)},
		{life: "90 good days, then a bad week", days: append(goodDays(90, 7), half(0, 7)...)},
		{life: "the same, and 30 good days since", days: append(append(goodDays(90, 37), half(30, 7)...), goodDays(30, 0)...)},
		{life: "90 good days, and a drift that stands", days: goodDays(90, 0), marks: []trust.Mark{drift}},
		{life: "90 good days, and a drift closed 30 days ago", days: goodDays(90, 0), marks: []trust.Mark{closed}},
		{life: "90 good days, and a suspension 30 days ago", days: goodDays(90, 0), marks: []trust.Mark{suspended}},
		{life: "90 good days, and a drift of a sister that stands", days: goodDays(90, 0), marks: []trust.Mark{other}},
	} {
		s := trust.Of(e.days, e.marks, now)
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.2f | **%.2f** |\n", e.life, s.Uptime.Score, s.Answers.Score, s.History.Score, s.Standing, s.Score)
	}
	const (
		document = "../../../../docs/trust.md"
		opens    = "<!-- examples: go test ./services/partners/internal/trust -run Examples -update -->\n"
		closes   = "<!-- end of examples -->"
	)
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), opens)
	written, after, ended := strings.Cut(rest, closes)
	if !found || !ended {
		t.Fatalf("%s has no marks for the examples", document)
	}
	if written == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the examples of %s are not what the formula gives:\n%s", document, b.String())
	}
	if err := os.WriteFile(document, []byte(before+opens+b.String()+closes+after), 0o644); err != nil { //nolint:gosec // a document
		t.Fatal(err)
	}
}
