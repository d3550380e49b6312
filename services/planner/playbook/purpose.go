package playbook

import (
	"regexp"
	"slices"

	"sabha.dev/chassis/strictyaml"
)

var purposeForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// purpose reads what the data of a step is used for, and the step that records the consent
// to that. It is needed: where it has not completed there is no consent.
func (k *compiler) purpose(s *Step, f map[string]cursor) {
	if c, ok := f["purpose"]; ok {
		if s.Purpose = c.text(); s.Purpose != "" && !purposeForm.MatchString(s.Purpose) {
			c.problem("%q is no name of a purpose; use small letters, digits and -, beginning with a letter, at most 63, such as mortgage-underwriting", strictyaml.Clip(s.Purpose))
		}
	}
	c, ok := f["consent"]
	if !ok {
		return
	}
	switch id := c.text(); {
	case id == "":
	case s.Purpose == "":
		c.problem("a consent is to a purpose; state it under the key \"purpose\"")
	case id == s.ID:
		c.problem("a step cannot record the consent to itself; name a step before it that does")
	case !slices.Contains(k.order, id):
		c.problem("%s", k.unknownStep(id, s.ID))
	default:
		s.Consent = id
		if !slices.Contains(s.Declared, id) {
			s.Declared = append(s.Declared, id)
		}
	}
}
