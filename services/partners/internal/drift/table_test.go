//go:build slow

package drift_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/contract-tests.md")

// The table's marks in the document.
const (
	document = "../../../../docs/contract-tests.md"
	opens    = "<!-- figures: go test -tags=slow ./services/partners/internal/drift -run Characteristics -update -->\n"
	closes   = "<!-- end of figures -->"
)

// TestTheOperatingCharacteristicsAreThoseOfTheDocument simulates them anew: 200 series a
// row and size, 1,000 of the unchanged agent.
func TestTheOperatingCharacteristicsAreThoseOfTheDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("| agent | unchanged | 0.25 | 0.5 | 1 |\n|---|---|---|---|---|\n")
	for _, a := range agents() {
		fmt.Fprintf(&b, "| %s | %.1f%% |", a.name, 100*share(a.trials(1000, 100, 0)))
		for _, size := range []float64{0.25, 0.5, 1} {
			alarms := a.trials(200, 100, size)
			fmt.Fprintf(&b, " %.1f%%%s |", 100*share(alarms), median(alarms))
		}
		b.WriteString("\n")
		rows := strings.Split(b.String(), "\n")
		t.Log(rows[len(rows)-2])
	}
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), opens)
	now, after, ended := strings.Cut(rest, closes)
	if !found || !ended {
		t.Fatalf("%s has no marks for the table", document)
	}
	if now == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not what is simulated:\n%s", document, b.String())
	}
	if err := os.WriteFile(document, []byte(before+opens+b.String()+closes+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// median of the runs until the alarm, of series that had one, where half have.
func median(alarms []int) string {
	var at []int
	for _, a := range alarms {
		if a > 0 {
			at = append(at, a)
		}
	}
	if 2*len(at) < len(alarms) {
		return ""
	}
	slices.Sort(at)
	return fmt.Sprintf(", after %d", at[len(at)/2])
}
