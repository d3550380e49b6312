package agreement_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/testrig/clocktest"
)

// fallsBack is an agreement with a partner whose skill s falls back on another.
func fallsBack(id, on string) string {
	return strings.Replace(head, "underwriter", id, 1) + "skills:\n  s:\n    fallback: " + on + "\n"
}

func TestAgreementsOfAFolderAreCheckedTogether(t *testing.T) {
	for _, c := range []struct {
		what  string
		files map[string]string
		want  []string // problems, without the folder
	}{
		{"good", map[string]string{"a.yaml": good, "b.yml": stand, "notes.txt": "not an agreement"}, nil},
		{"a partner twice", map[string]string{"a.yaml": stand, "b.yaml": stand}, []string{"b.yaml:1: partner: there is an agreement with broker already, in DIR/a.yaml; one file holds all that is agreed with a partner"}},
		{"an unknown fallback", map[string]string{"a.yaml": fallsBack("alpha", "alpina/s"), "b.yaml": stand}, []string{`a.yaml:8: skills.s.fallback: there is no agreement with alpina (did you mean "alpha"?); known partners: alpha, broker`}},
		{"a fallback's skill that is not allowed", map[string]string{"a.yaml": fallsBack("alpha", "broker/underwite"), "b.yaml": stand}, []string{`a.yaml:8: skills.s.fallback: the agreement with broker does not allow the skill "underwite" (did you mean "underwrite"?); it allows underwrite`}},
		{"a circle", map[string]string{"a.yaml": fallsBack("a", "b/s"), "b.yaml": fallsBack("b", "c/s"), "c.yaml": fallsBack("c", "b/s")}, []string{"b.yaml:8: skills.s.fallback: the fallbacks go round in a circle: a/s > b/s > c/s > b/s"}},
		{"all that is wrong in all files", map[string]string{"a.yaml": "partner: 5\n", "b.yaml": ""}, []string{"a.yaml:1: partner: must be text; it is a number", "b.yaml: the file is empty"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := folder(t, c.files)
			_, err := agreement.Open(dir, clocktest.New(at(t, "2026-11-30T12:00:00Z")), slog.New(slog.DiscardHandler))
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			for _, want := range c.want {
				if !strings.Contains(got, "DIR/"+want) {
					t.Errorf("\n%s, want\n%s", got, want)
				}
			}
			if (len(c.want) == 0) != (err == nil) {
				t.Error(err)
			}
		})
	}
}

func TestChangedAgreementsComeIntoForceUnlessOneIsWrong(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": good, "b.yaml": stand})
	clock := clocktest.New(at(t, "2026-11-30T12:00:00Z"))
	var log bytes.Buffer
	b, err := agreement.Open(dir, clock, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if err := b.Register(registry); err != nil {
		t.Fatal(err)
	}
	figure := func(name string, want int) {
		t.Helper()
		metric := "sabha_partner_agreements_" + name
		help := map[string]string{"refused": "1 while an agreement has a problem and those before are in force.", "overdue": "Agreements whose day of review is past."}[name]
		if err := testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf("# HELP %s %s\n# TYPE %s gauge\n%s %d\n", metric, help, metric, metric, want)), metric); err != nil {
			t.Error(err)
		}
	}
	figure("refused", 0)

	write(t, filepath.Join(dir, "a.yaml"), strings.Replace(good, "budget: 60s", "budget: 6s", 1))
	if got := b.Of("underwriter", "underwrite").Budget; got != time.Minute {
		t.Errorf("at once: %s", got)
	}
	clock.Advance(5 * time.Second)
	if got := b.Of("underwriter", "underwrite").Budget; got != time.Minute {
		t.Errorf("a wrong file is in force: %s", got)
	}
	figure("refused", 1)
	if err := b.Refused(); err == nil || !strings.Contains(err.Error(), "a.yaml:15: skills.underwrite.budget: the budget of a call, 6s") || strings.Count(log.String(), "cannot be used") != 1 {
		t.Errorf("%v\n%s", err, &log)
	}

	write(t, filepath.Join(dir, "a.yaml"), strings.Replace(good, "budget: 60s", "budget: 90s", 1))
	write(t, filepath.Join(dir, "c.yaml"), strings.Replace(stand, "broker", "bank", 1))
	clock.Advance(5 * time.Second)
	if got := b.Of("underwriter", "underwrite").Budget; got != 90*time.Second || b.Agreement("bank") == nil || len(b.All()) != 3 {
		t.Errorf("a change is not in force: %s, %v", got, b.All())
	}
	figure("refused", 0)
	figure("overdue", 0)

	clock.Advance(365 * 24 * time.Hour)
	figure("overdue", 3)
}

func TestAnOldAgreementIsInForceWithAWarning(t *testing.T) {
	var log bytes.Buffer
	dir := folder(t, map[string]string{"b.yaml": stand})
	b, err := agreement.Open(dir, clocktest.New(at(t, "2027-07-01T00:00:00Z")), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || b.Of("broker", "underwrite") == nil || !strings.Contains(log.String(), "the agreement with broker was due for review by partnerships@bank.example on 2027-06-30") {
		t.Errorf("%v\n%s", err, &log)
	}
}

func TestWithoutAFolderNothingIsAllowed(t *testing.T) {
	b, err := agreement.Open("", clocktest.New(time.Time{}), slog.New(slog.DiscardHandler))
	if err != nil || b.Of("underwriter", "underwrite") != nil || b.Agreement("underwriter") != nil || len(b.All()) != 0 {
		t.Error(b, err)
	}
}

func TestOneFileIsCheckedWithTheOthersOfItsFolder(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": good, "b.yaml": stand, "wrong.yaml": "partner: 5\n"})
	list, err := agreement.Check(filepath.Join(dir, "a.yaml"))
	if err != nil || len(list) != 1 || list[0].Partner != "underwriter" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := agreement.Check(dir); err == nil || !strings.Contains(err.Error(), "wrong.yaml:1: partner: must be text") {
		t.Error(err)
	}
}
