package disclosure_test

import (
	"strings"
	"testing"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/strictyaml"
)

func TestEachProblemOfAPolicyHasItsLine(t *testing.T) {
	const text = `confidentiality: secret
default: hide
unreadable: mask
consent: [emial]
purpose: x
rules:
  - classes: [email, email]
    action: mask
  - action: tokenize
    when: recipient.skil == "x"
  - when: '"yes"'
    action: allow
  - name: all of it
    action: drop
  - classes: card
    action: allow
  - {when: 'class ==', action: drop}
  - {classes: []}
`
	err := strictyaml.Parse("p.yaml", []byte(text), func(root strictyaml.Node) { disclosure.Parse(root) })
	if err == nil {
		t.Fatal("there is no problem")
	}
	for _, want := range []string{
		`p.yaml:1: confidentiality: "secret" is unknown`,
		`p.yaml:2: default: "hide" is unknown; write one of allow, drop, mask, tokenise, refuse`,
		`p.yaml:3: unreadable: "mask" is unknown; write one of refuse, drop, allow`,
		`p.yaml:4: consent[0]: "emial" is unknown (did you mean "email"?)`,
		`p.yaml:5: unknown key "purpose"`,
		`p.yaml:7: rules[0].classes[1]: "email" is named twice`,
		`p.yaml:9: rules[1].action: "tokenize" is unknown (did you mean "tokenise"?)`,
		`p.yaml:10: rules[1].when: column 10 of the condition: undeclared reference to 'recipient.skil' (did you mean 'recipient.skill'?)`,
		`p.yaml:11: rules[2].when: must give true or false; the condition gives string`,
		`p.yaml:15: rules[4]: is never reached: "all of it" in line 13 decides before it`,
		`p.yaml:17: rules[5].when: column 9 of the condition: Syntax error: mismatched input '<EOF>'`,
		`p.yaml:18: rules[6].classes: is an empty list`,
		`p.yaml:18: rules[6]: the key "action" is missing`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in\n%s", want, err)
		}
	}
}
