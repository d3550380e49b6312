package playbook

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/strictyaml"
)

var stepKeys = []string{"id", "description", "agent", "skill", "inputs", "needs", "when", "budget", "retries", "revise", "compensation", "risk", "side_effects", "optional", "release", "purpose", "consent"}

// stepIDs reads the ids first: expressions of any step may name any other.
func (k *compiler) stepIDs(c cursor) {
	items, _ := c.items()
	if len(items) == 0 && c.Kind == yaml.SequenceNode {
		c.problem("a playbook needs at least one step")
	}
	if len(items) > MaxSteps {
		c.problem("a playbook has at most %d steps; this one has %d", MaxSteps, len(items))
		items = items[:MaxSteps]
	}
	k.sources = map[string]source{}
	for _, it := range items {
		f, ok := it.fields(stepKeys...)
		if !ok {
			continue
		}
		idAt, ok := k.required(it, f, "id")
		if !ok {
			continue
		}
		id := idAt.text()
		first, dup := k.sources[id]
		switch {
		case id == "":
			if idAt.Tag == "!!str" {
				idAt.problem("is empty")
			}
		case !idForm.MatchString(id):
			idAt.problem("%q is not an id; use small letters, digits and _, beginning with a letter, at most 63, so that steps.ID works in expressions", strictyaml.Clip(id))
		case slices.Contains(celReserved, id):
			idAt.problem("%q is a reserved word of the expression language; choose another id", id)
		case dup:
			idAt.problem("the id %q is used twice; first on line %d", id, first.fields["id"].Line)
		default:
			k.sources[id] = source{step: it, fields: f}
			k.order = append(k.order, id)
		}
	}
}

// steps compiles the steps.
func (k *compiler) steps() {
	for i, id := range k.order {
		k.book.byID[id] = &Step{ID: id, index: i, Line: k.sources[id].step.Line}
		k.needs(k.book.byID[id])
	}
	for _, id := range k.order {
		k.calls(k.book.byID[id])
	}
	for _, id := range k.order {
		k.bounds(k.book.byID[id])
	}
}

// needs reads the declared needs and the loop of a step.
func (k *compiler) needs(s *Step) {
	f := k.sources[s.ID].fields
	if c, ok := f["needs"]; ok {
		items, _ := c.items()
		for _, it := range items {
			switch id := it.text(); {
			case id == "":
			case id == s.ID:
				it.problem("a step cannot need itself")
			case !slices.Contains(k.order, id):
				it.problem("%s", k.unknownStep(id, s.ID))
			case slices.Contains(s.Declared, id):
				it.problem("%q is listed twice", id)
			default:
				s.Declared = append(s.Declared, id)
			}
		}
	}
	if c, ok := f["revise"]; ok {
		k.loop(s, c)
	}
	k.purpose(s, f)
}

func (k *compiler) loop(s *Step, c cursor) {
	f, ok := c.fields("step", "until", "max", "exhausted")
	if !ok {
		return
	}
	l := &Loop{Judge: s.ID}
	if from, ok := k.required(c, f, "step"); ok {
		if l.From = from.text(); l.From != "" && !slices.Contains(k.order, l.From) {
			from.problem("%s", k.unknownStep(l.From, s.ID))
			l.From = ""
		}
	}
	k.required(c, f, "until")
	if m, ok := f["max"]; ok {
		l.Max = m.integer(1, MaxRevisions)
	} else {
		c.problem("the key \"max\" is missing: a loop must be bounded, by 1 to %d revisions", MaxRevisions)
	}
	if e, ok := f["exhausted"]; ok {
		switch v := e.text(); v {
		case "fail":
		case "continue":
			l.ContinueWhenExhausted = true
		default:
			e.problem("%q is not known; use fail or continue", strictyaml.Clip(v))
		}
	}
	if l.From != "" {
		s.Revise = l
		k.book.loops[s.ID] = l
	}
}

// calls compiles what a step calls: agent, skill, inputs, conditions, compensation.
func (k *compiler) calls(s *Step) {
	src := k.sources[s.ID]
	f := src.fields
	if c, ok := f["description"]; ok {
		s.Description = c.text()
	}
	if c, ok := f["side_effects"]; ok {
		s.SideEffects = c.boolean()
	}
	if c, ok := f["optional"]; ok {
		s.Optional = c.boolean()
	}
	s.Agent, s.Skill = k.call(src.step, f)
	s.Inputs = k.object(f, "inputs", k.envs.loop)
	if s.Local() && s.Skill == SkillSynthesise {
		k.localInputs(src, s)
	}
	if s.Decides() {
		k.reviewInputs(src, s)
	}
	if c, ok := f["release"]; ok {
		s.Releases = k.releases(c)
	}
	if c, ok := f["when"]; ok {
		s.When = k.condition(c, k.envs.loop)
	}
	if s.Revise != nil {
		if c, ok := f["revise"]; ok {
			if r, ok := c.entry("until"); ok {
				s.Revise.Until = k.condition(r, k.envs.loop)
			}
		}
	}
	if c, ok := f["compensation"]; ok {
		if comp, ok := c.fields("agent", "skill", "inputs"); ok {
			s.Compensation = &Compensation{}
			s.Compensation.Agent, s.Compensation.Skill = k.call(c, comp)
			s.Compensation.Inputs = k.object(comp, "inputs", k.envs.plain)
		}
	}
}

// call reads and checks agent and skill.
func (k *compiler) call(at cursor, f map[string]cursor) (agent, skill string) {
	a, hasAgent := k.required(at, f, "agent")
	sk, hasSkill := k.required(at, f, "skill")
	if hasAgent {
		agent = a.text()
	}
	if hasSkill {
		skill = sk.text()
	}
	if agent == "" || skill == "" {
		return agent, skill
	}
	skills, known := []string{SkillSynthesise}, true
	if agent != LocalAgent {
		if k.catalog == nil {
			return agent, skill
		}
		skills, known = k.catalog.Skills(agent)
	}
	switch {
	case !known:
		a.problem("unknown agent %q%s", strictyaml.Clip(agent), k.knownAgents(agent))
	case slices.Contains(skills, skill), ofPartner(agent, skill):
	default:
		if agent == partners {
			sk.problem("agent %q has no skill %q; write PARTNER/SKILL, such as underwriter/underwrite, or %s", agent, strictyaml.Clip(skill), listOr(skills, "none"))
			break
		}
		skills = slices.Sorted(slices.Values(skills))
		sk.problem("agent %q has no skill %q%s; its skills: %s", agent, strictyaml.Clip(skill), strictyaml.DidYouMean(skill, skills), listOr(skills, "none"))
	}
	return agent, skill
}

func (k *compiler) knownAgents(name string) string {
	lister, ok := k.catalog.(interface{ Agents() []string })
	if !ok {
		return ""
	}
	agents := append(lister.Agents(), LocalAgent)
	slices.Sort(agents)
	return fmt.Sprintf("%s; known agents: %s", strictyaml.DidYouMean(name, agents), strings.Join(agents, ", "))
}

func (k *compiler) object(f map[string]cursor, name string, env *cel.Env) Template {
	c, ok := f[name]
	if !ok {
		return Template{fields: map[string]Template{}}
	}
	if c.Kind != yaml.MappingNode {
		c.problem("must be a map from input names to values; it is %s", c.kind())
		return Template{fields: map[string]Template{}}
	}
	return k.template(c, env, nil)
}

// localInputs checks the inputs of a step the planner runs itself.
func (k *compiler) localInputs(src source, s *Step) {
	at := src.step
	if c, ok := src.fields["inputs"]; ok {
		at = c
		if f, ok := c.fields(SynthesiseInputs()...); ok {
			k.required(c, f, "question")
			k.required(c, f, "passages")
		}
	} else {
		at.problem("the key \"inputs\" is missing: synthesise needs question and passages")
	}
	if s.SideEffects || src.fields["compensation"].Node != nil {
		at.problem("a step the planner runs itself has no side effects and no compensation")
	}
}

// bounds reads budget, retries and risk.
func (k *compiler) bounds(s *Step) {
	f := k.sources[s.ID].fields
	s.Budget = k.duration(f, "budget", k.defaults.budget)
	if c, ok := f["budget"]; ok && s.Budget > k.book.Budget && !k.report.At(c.path) {
		c.problem("a step's budget of %s is longer than the plan's budget of %s", strictyaml.Short(s.Budget), strictyaml.Short(k.book.Budget))
	}
	s.Retries = DefaultRetries(s.SideEffects)
	if k.defaults.retries != nil && !s.SideEffects {
		s.Retries = *k.defaults.retries
	}
	if c, ok := f["retries"]; ok {
		s.Retries = k.retries(c, s.Retries)
	}
	s.Risk = k.risk(f, k.book.Risk)
}
