package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/internal/command"
)

const underwriterAgreement = `partner: underwriter
version: 3
organisation: Underwriter plc
skills: {underwrite: {what: only partners reads}}
disclosure:
  rules:
    - {name: reach them through us, classes: [email, phone], action: tokenise}
    - {name: figures, classes: finances, when: 'recipient.skill == "underwrite"', action: allow}
    - {name: last digits, classes: card, action: mask}
`

func TestEgressIsExplained(t *testing.T) {
	dir := t.TempDir()
	written(t, dir, "a-other.yaml", "partner: valuer\norganisation: Valuers\n")
	written(t, dir, "underwriter.yaml", underwriterAgreement)
	written(t, dir, "broken.yaml", "partner: broken\ndisclosure:\n  default: hide\n")
	explain := func(want command.Code, file string, args ...string) string {
		t.Helper()
		u := newUser("")
		args = append([]string{"egress", "explain", file, "--agreements", dir}, args...)
		if code := u.run(t.Context(), args...); code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, u.out.String(), u.err.String())
		}
		return u.out.String() + u.err.String()
	}
	inputs := written(t, dir, "inputs.json", `{"salary": 52000, "email": "anna@example.com", "card": "4111 1111 1111 1111"}`)
	got := explain(command.ExitOK, inputs, "--partner", "underwriter", "--skill", "underwrite")
	for _, want := range []string{
		"For underwriter/underwrite (Underwriter plc): may leave. 3 findings:",
		"mask      card **** **** **** 1111\n            part 1 card bytes 0-19, by last digits",
		"tokenise  email a***[at]***.com\n            part 1 email bytes 0-16, by reach them through us",
		"allow     finances [masked:finances]\n            part 1 salary bytes 0-5, by figures",
		`  "email": "[[tok:email:`, `  "salary": 52000`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "anna@") || strings.Contains(got, "4111") {
		t.Errorf("a value is shown:\n%s", got)
	}

	got = explain(command.ExitRejected, inputs, "--partner", "underwriter")
	if !strings.Contains(got, "may not leave") || !strings.Contains(got, "Nothing would leave: the disclosure policy for underwriter does not let this leave: finances in part 1 salary") {
		t.Error(got)
	}
	letter := written(t, dir, "letter.txt", "We meet on Monday.")
	if got := explain(command.ExitOK, letter, "--partner", "valuer"); !strings.Contains(got, "Nothing sensitive was found.") || !strings.Contains(got, "  We meet on Monday.") {
		t.Error(got)
	}
	table := written(t, dir, "people.csv", "name,email\nx,anna@example.com\n")
	var parsed struct {
		Findings []struct{ Class, Action, Rule, Masked string }
		Parts    []struct{ Raw []byte }
	}
	if err := json.Unmarshal([]byte(explain(command.ExitOK, table, "--partner", "underwriter", "--json")), &parsed); err != nil {
		t.Fatal(err)
	}
	if f := parsed.Findings; len(f) != 1 || f[0].Class != "email" || f[0].Action != "tokenise" || f[0].Masked != "a***[at]***.com" {
		t.Errorf("%+v", f)
	}
	if raw := string(parsed.Parts[0].Raw); !strings.HasPrefix(raw, "name,email\nx,[[tok:email:") {
		t.Error(raw)
	}

	if got := explain(command.ExitNotFound, letter, "--partner", "nobody"); !strings.Contains(got, "there are agreements with valuer, broken, underwriter") {
		t.Error(got)
	}
	if got := explain(command.ExitFailure, letter, "--partner", "broken"); !strings.Contains(got, `broken.yaml:3: disclosure.default: "hide" is unknown`) {
		t.Error(got)
	}
	explain(command.ExitUsage, letter)
	explain(command.ExitNotFound, "missing.txt", "--partner", "valuer")
}
