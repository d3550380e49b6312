package playbook

import (
	"slices"
	"testing"
)

func TestAStepNeedsTheConsentThatItNames(t *testing.T) {
	b, err := Parse("grade.yaml", []byte(`playbook: grade
version: 1
steps:
  - {id: agreed, agent: memory, skill: remember, inputs: {text: agreed}}
  - {id: grade, agent: partners, skill: underwriter/underwrite, purpose: mortgage-underwriting, consent: agreed}
  - {id: plain, agent: partners, skill: underwriter/underwrite}
output: {text: done}
`), Personas())
	if err != nil {
		t.Fatal(err)
	}
	if s := b.Step("grade"); s.Purpose != "mortgage-underwriting" || s.Consent != "agreed" || !slices.Equal(s.Needs, []string{"agreed"}) {
		t.Errorf("the step is for %q with the consent of %q and needs %v", s.Purpose, s.Consent, s.Needs)
	}
	if s := b.Step("plain"); s.Purpose != "" || s.Consent != "" || len(s.Needs) > 0 {
		t.Errorf("a step without a purpose is for %q, %q", s.Purpose, s.Consent)
	}
}
