package draft

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sabha.dev/services/planner/playbook"
)

// frame is the general playbook without the steps that find something: what writes the
// answer, checks it and asks people.
type frame struct {
	root *yaml.Node // a mapping
	ids  []string   // of the steps that it keeps
}

// Steps of the general playbook that a draft takes the place of, and the one that writes
// the answer out of what they gave.
var (
	finding = []string{"investigate", "recall"}
	writing = "draft"
)

func frameOf(general *playbook.Playbook) (frame, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(general.Source, &doc); err != nil {
		return frame{}, err
	}
	f := frame{root: doc.Content[0]}
	steps := entry(f.root, "steps")
	if general.Step(writing) == nil || steps == nil || entry(stepOf(steps, writing), "inputs") == nil {
		return frame{}, fmt.Errorf("the playbook %s has no step %q with inputs, around which plans could be drafted; give it one, or model.skills: {} for no drafts", general.Name, writing)
	}
	steps.Content = slices.DeleteFunc(steps.Content, func(s *yaml.Node) bool { return slices.Contains(finding, idOf(s)) })
	for _, s := range steps.Content {
		f.ids = append(f.ids, idOf(s))
	}
	set(f.root, "playbook", Name)
	set(f.root, "version", "1")
	set(f.root, "description", "A plan that a model drafted for one request.")
	remove(f.root, "match")
	return f, nil
}

// written is a step as a playbook has it.
type written struct {
	ID          string         `yaml:"id"`
	Description string         `yaml:"description,omitempty"`
	Agent       string         `yaml:"agent"`
	Skill       string         `yaml:"skill"`
	SideEffects bool           `yaml:"side_effects,omitempty"`
	Optional    bool           `yaml:"optional,omitempty"`
	When        string         `yaml:"when"`
	Inputs      map[string]any `yaml:"inputs"`
}

// with gives the text of a playbook that finds by the steps of a model.
func (f frame) with(drafted []step) ([]byte, error) {
	var found, remembered []string
	var list []written
	for _, s := range drafted {
		agent, skill, _ := strings.Cut(s.Skill, "/")
		k := known[s.Skill].kind
		switch k {
		case passages:
			found = append(found, "steps."+s.ID+".output.data.?results.orValue([])")
		case memories:
			remembered = append(remembered, "steps."+s.ID+".output.data.?memories.orValue([])")
		default:
			found = append(found, fmt.Sprintf(`[{"document": "step %[1]s", "text": %[2]q + ": " + steps.%[1]s.output.text + " " + json(steps.%[1]s.output.data)}]`, s.ID, clip(s.Purpose)))
		}
		list = append(list, written{
			ID: s.ID, Description: s.Purpose, Agent: agent, Skill: skill, Inputs: s.Inputs, SideEffects: k == result, Optional: k == memories,
			// The plan was made out of the request: whatever the request is labelled, so is
			// what a model tells a step to do.
			When: condition(s.When),
		})
	}
	root := copied(f.root)
	steps := entry(root, "steps")
	var nodes yaml.Node
	if err := nodes.Encode(list); err != nil {
		return nil, err
	}
	steps.Content = append(nodes.Content, steps.Content...)
	inputs := entry(stepOf(steps, writing), "inputs")
	set(inputs, "passages", "= "+join(found))
	set(inputs, "memories", "= "+join(remembered))
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(root), enc.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func condition(when string) string {
	const always = `input.query != ""`
	if when = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(when), "= ")); when == "" {
		return always
	}
	return always + " && (" + when + ")"
}

func join(lists []string) string {
	if len(lists) == 0 {
		return "[]"
	}
	return strings.Join(lists, " + ")
}

// clip keeps what a step is for short enough to stand in an expression.
func clip(s string) string {
	if r := []rune(strings.Join(strings.Fields(s), " ")); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}

func entry(m *yaml.Node, name string) *yaml.Node {
	for i := 0; m != nil && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i+1]
		}
	}
	return nil
}

func set(m *yaml.Node, name, value string) {
	v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if at := entry(m, name); at != nil {
		*at = *v
		return
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, v)
}

func remove(m *yaml.Node, name string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

func idOf(s *yaml.Node) string {
	if id := entry(s, "id"); id != nil {
		return id.Value
	}
	return ""
}

func stepOf(steps *yaml.Node, id string) *yaml.Node {
	for _, s := range steps.Content {
		if idOf(s) == id {
			return s
		}
	}
	return nil
}

// copied is a node of its own, without what people are told in comments.
func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, one := range n.Content {
		c.Content[i] = copied(one)
	}
	return &c
}
