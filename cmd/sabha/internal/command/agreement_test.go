package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"sabha.dev/cmd/sabha/internal/command"
)

func TestAgreementsAreCheckedWithoutAPlatform(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	for path, text := range map[string]string{
		good: "partner: alpha\nversion: 1\nowner: o\nreview_date: 2999-01-01\norganisation: A\nskills: {s: {fallback: beta/s}}\n",
		bad:  "partner: beta\nversion: 1\nowner: o\nreview_date: 2999-01-01\norganisation: B\nskills: {s: {budget: 5}}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "agreement", "check", good, bad); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if got, want := u.out.String(), "alpha: version 1 of o is good; skills: 1\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := u.err.String(), bad+":6: skills.s.budget: \"5\" is not a duration; write numbers with the units h, m or s, such as 90m or 4h\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if code := newUser("").run(t.Context(), "agreement", "check", filepath.Join(dir, "c.yaml")); code != command.ExitNotFound {
		t.Errorf("exit code %d for a file that is not there", code)
	}
}
