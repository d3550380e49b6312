package partners_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/partners"
)

func TestStepsAreHeldAgainstTheAgreements(t *testing.T) {
	dir := t.TempDir()
	text := `partner: underwriter
version: 1
owner: tests
review_date: 2099-01-31
organisation: Underwriter plc
skills:
  underwrite: {budget: 60s, response: {p50: 2s, p95: 10s, p99: 30s}, retries: {max: 2, backoff: 500ms, ratio: 0.1}}
  appraise: {budget: 60s, confirm: true, retries: {max: 0}}
`
	if err := os.WriteFile(filepath.Join(dir, "underwriter.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		skill            string
		budget           time.Duration
		problem, warning string
	}{
		"all retries":          {"underwriter/underwrite", 3 * time.Minute, "", ""},
		"as agreed":            {"underwriter/underwrite", time.Minute, "", ""},
		"shorter than p50":     {"underwriter/underwrite", time.Second, "step s: its budget of 1s is shorter than the 2s within which half of the answers of underwriter/underwrite come; most calls will not end in time", ""},
		"shorter than p95":     {"underwriter/underwrite", 5 * time.Second, "", "step s: its budget of 5s is shorter than the p95 of 10s that underwriter/underwrite has agreed on; calls that are in time by the agreement will be given up"},
		"shorter than p99":     {"underwriter/underwrite", 20 * time.Second, "", "step s: its budget of 20s is shorter than the p99 of 30s that underwriter/underwrite has agreed on; calls that are in time by the agreement will be given up"},
		"shorter than a call":  {"underwriter/underwrite", 40 * time.Second, "", "step s: its budget of 40s is shorter than the 1m0s that the agreement gives a call of underwriter/underwrite; the step ends it first"},
		"longer than all":      {"underwriter/underwrite", 4 * time.Minute, "", "step s: its budget of 4m0s is longer than the 3m1.5s that calls of underwriter/underwrite can take with all retries; the agreement ends them first"},
		"people are asked":     {"underwriter/appraise", time.Hour, "", ""},
		"a compensation":       {"underwriter/underwrite", 0, "", ""},
		"another skill":        {"underwriter/paint", time.Minute, "step s: no agreement allows underwriter/paint", ""},
		"another partner":      {"painter/paint", time.Minute, "step s: no agreement allows painter/paint", ""},
		"a skill of partners'": {"find-partners", time.Minute, "", ""},
	} {
		problems, warnings, err := partners.Steps(dir, []partners.Step{{ID: "s", Skill: c.skill, Budget: c.budget}})
		if err != nil || strings.Join(problems, "|") != c.problem || strings.Join(warnings, "|") != c.warning {
			t.Errorf("%s: problems %q, warnings %q, %v", what, problems, warnings, err)
		}
	}
	if _, _, err := partners.Steps(filepath.Join(dir, "none"), nil); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
