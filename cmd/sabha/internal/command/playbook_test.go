package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/internal/command"
)

func TestPlaybooksAreCheckedAgainstAgreements(t *testing.T) {
	dir := t.TempDir()
	agreement := "partner: painter\nversion: 1\nowner: tests\nreview_date: 2099-01-31\norganisation: A\nskills:\n  paint: {budget: 60s, response: {p95: 10s}}\n"
	step := "  - {id: ID, agent: partners, skill: painter/SKILL, budget: BUDGET, inputs: {text: x}}\n"
	book := func(pairs ...string) string {
		return "playbook: one\nversion: 1\nbudget: 10m\nsteps:\n" + strings.NewReplacer(pairs...).Replace(step) + "output: {text: = steps.a.output.text}\n"
	}
	for name, text := range map[string]string{
		"agreements/painter.yaml": agreement,
		"good.yaml":               book("ID", "a", "SKILL", "paint", "BUDGET", "2m"),
		"short.yaml":              book("ID", "a", "SKILL", "paint", "BUDGET", "5s"),
		"other.yaml":              book("ID", "a", "SKILL", "draw", "BUDGET", "2m"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "agreements")
	for name, c := range map[string]struct {
		code     command.Code
		out, err string
	}{
		"good.yaml":  {0, ": playbook one version 1 is sound, 1 step\n", ""},
		"short.yaml": {0, ": playbook one version 1 is sound, 1 step\n", ": warning: step a: its budget of 5s is shorter than the p95 of 10s that painter/paint has agreed on; calls that are in time by the agreement will be given up\n"},
		"other.yaml": {command.ExitFailure, "", ": step a: no agreement allows painter/draw\n"},
	} {
		file, u := filepath.Join(dir, name), newUser("")
		code := u.run(t.Context(), "playbook", "check", "--agreements", folder, file)
		named := func(s string) string {
			if s != "" {
				return file + s
			}
			return s
		}
		if code != c.code || u.out.String() != named(c.out) || u.err.String() != named(c.err) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, u.out.String(), u.err.String())
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "playbook", "check", "--agreements", filepath.Join(dir, "none"), filepath.Join(dir, "good.yaml")); code != command.ExitNotFound || !strings.Contains(u.err.String(), "there is no folder") {
		t.Errorf("no folder: exit code %d\n%s", code, u.err.String())
	}
}
