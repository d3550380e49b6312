package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// plan is what the model writes.
type plan struct {
	Question string `json:"question"`
	Steps    []step `json:"steps"`
}

type step struct {
	ID      string         `json:"id"`
	Skill   string         `json:"skill"`
	Purpose string         `json:"purpose"`
	Inputs  map[string]any `json:"inputs"`
	When    string         `json:"when"`
}

// schema is the form that the model is asked to keep to.
func schema(skills []Skill) map[string]any {
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	var names []any
	for _, s := range skills {
		names = append(names, s.Name)
	}
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"steps"},
		"properties": map[string]any{
			"question": text("What the requester must say first, in their language; empty when you can plan."),
			"steps": map[string]any{"type": "array", "maxItems": MaxSteps, "items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []any{"id", "skill", "purpose", "inputs"},
				"properties": map[string]any{
					"id":      text("Small letters, digits and _; at most 24."),
					"skill":   map[string]any{"type": "string", "enum": names},
					"purpose": text("What this step is for, in one sentence."),
					"inputs":  map[string]any{"type": "object"},
					"when":    text("A condition as an expression, without \"= \"; leave it out to run always."),
				},
			}},
		},
	}
}

var idForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)

// read reads what a model has written, which may stand in a fence or between sentences, and
// tells what is wrong with it.
func (d *Drafter) read(text string) (plan, []string) {
	first, last := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if first < 0 || last < first {
		return plan{}, []string{"it is no JSON object"}
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text[first : last+1])))
	dec.DisallowUnknownFields()
	var p plan
	if err := dec.Decode(&p); err != nil {
		return plan{}, []string{"it cannot be read: " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	if p.Question = strings.TrimSpace(p.Question); p.Question != "" {
		return p, nil
	}
	return p, d.wrong(p)
}

// wrong tells what a plan must not be. What holds for every playbook is found later.
func (d *Drafter) wrong(p plan) []string {
	var wrong []string
	problem := func(i int, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("steps[%d]", i)+fmt.Sprintf(format, args...))
	}
	if len(p.Steps) == 0 || len(p.Steps) > MaxSteps {
		wrong = append(wrong, fmt.Sprintf("steps: there are %d; a plan has 1 to %d", len(p.Steps), MaxSteps))
	}
	for i, s := range p.Steps {
		if !idForm.MatchString(s.ID) {
			problem(i, ".id: %q is not an id; use small letters, digits and _, beginning with a letter, at most 24", s.ID)
		}
		if slices.Contains(d.frame.ids, s.ID) {
			problem(i, ".id: %q is taken by the steps that follow yours; choose another", s.ID)
		}
		skill := d.skill(s.Skill)
		if skill == nil {
			problem(i, ".skill: %q is not one of yours: %s", s.Skill, strings.Join(d.names(), ", "))
			continue
		}
		if n, ok := s.Inputs["limit"].(float64); ok && skill.kind == passages && n > maxPassages {
			problem(i, ".inputs.limit: is at most %d", maxPassages)
		}
	}
	return wrong
}

func (d *Drafter) skill(name string) *Skill {
	for i := range d.skills {
		if d.skills[i].Name == name {
			return &d.skills[i]
		}
	}
	return nil
}

func (d *Drafter) names() []string {
	names := make([]string, len(d.skills))
	for i, s := range d.skills {
		names[i] = s.Name
	}
	return names
}
