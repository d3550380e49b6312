package partners_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/partners"
)

const file = `partner: underwriter
version: 3
owner: partnerships@bank.example
review_date: 2027-06-30
organisation: Underwriter plc
skills:
  underwrite: {budget: 1m}
`

func TestCheckAgreementSaysWhatIsWrongBeforeItIsInForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "underwriter.yaml")
	command := func(text string) (int, string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code := partners.Command([]string{"partners", "check-agreement", path}, &out, func([]string) int { return 9 })
		return code, out.String()
	}
	if code, out := command(file); code != 0 || out != "underwriter: version 3 of partnerships@bank.example is good; skills: 1\n" {
		t.Errorf("%d: %s", code, out)
	}
	if code, out := command(strings.Replace(file, "1m", "1 minute", 1)); code != 1 || !strings.HasPrefix(out, path+":7: skills.underwrite.budget: \"1 minute\" is not a duration") {
		t.Errorf("%d: %s", code, out)
	}
	var out bytes.Buffer
	_, _ = command(file)
	if err := partners.CheckAgreement(path, time.Date(2027, 7, 1, 0, 0, 0, 0, time.UTC), &out); err != nil || !strings.Contains(out.String(), "warning: the agreement with underwriter was due for review") {
		t.Errorf("%s, %v", &out, err)
	}
	if code := partners.Command([]string{"partners", "serve"}, &out, func([]string) int { return 9 }); code != 9 {
		t.Errorf("another command: %d", code)
	}
	if code := partners.Command([]string{"partners", "check-agreement"}, &out, nil); code != 2 {
		t.Errorf("without a file: %d", code)
	}
}
