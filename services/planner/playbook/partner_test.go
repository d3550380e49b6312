package playbook

import (
	"fmt"
	"strings"
	"testing"
)

const withPartner = `name: loan
version: 1
description: Asks an underwriter.
steps:
  - {id: ask, agent: partners, skill: %q, inputs: {text: Decide.}}
answer: {text: = steps.ask.text}
`

func TestSkillsOfPartnersAreNamedByTheirForm(t *testing.T) {
	for skill, good := range map[string]bool{
		"find-partners": true, "underwriter/underwrite": true, "acme-2/tickets/create": true, "underwriter": false, "/underwrite": false,
		"underwriter/": false, "Upper/case": false, "a b/c": false, "a/b c": false,
	} {
		_, err := Parse("loan.yaml", fmt.Appendf(nil, withPartner, skill), Personas())
		switch {
		case good && err != nil && strings.Contains(err.Error(), "skill"):
			t.Errorf("%s: %v", skill, err)
		case !good && (err == nil || !strings.Contains(err.Error(), "write PARTNER/SKILL")):
			t.Errorf("%s: %v, want what to write", skill, err)
		}
	}
	// The form is that of partners alone.
	_, err := Parse("loan.yaml", []byte(strings.Replace(fmt.Sprintf(withPartner, "a/b"), "agent: partners", "agent: research", 1)), Personas())
	if err == nil || !strings.Contains(err.Error(), `has no skill "a/b"`) {
		t.Errorf("another agent: %v", err)
	}
}
