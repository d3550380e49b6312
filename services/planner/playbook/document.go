package playbook

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/strictyaml"
)

// cursor is a place in the document: a node and the path that leads to it.
type cursor struct {
	*yaml.Node
	path string
	rep  *strictyaml.Report
}

func (c cursor) problem(format string, args ...any) {
	c.rep.Add(c.Line, c.path, format, args...)
}

func (c cursor) key(name string, value *yaml.Node) cursor {
	path := name
	if c.path != "" {
		path = c.path + "." + name
	}
	return cursor{Node: value, path: path, rep: c.rep}
}

func (c cursor) item(i int, value *yaml.Node) cursor {
	return cursor{Node: value, path: fmt.Sprintf("%s[%d]", c.path, i), rep: c.rep}
}

func (c cursor) isNull() bool { return c.Kind == yaml.ScalarNode && c.Tag == "!!null" }

// kind names what the node is, in words for an error.
func (c cursor) kind() string {
	switch c.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch c.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "text"
}

// fields returns the entries of a map by key and reports keys that are not in known.
func (c cursor) fields(known ...string) (map[string]cursor, bool) {
	if c.Kind != yaml.MappingNode {
		c.problem("must be a map with the keys %s; it is %s", strings.Join(known, ", "), c.kind())
		return nil, false
	}
	out := make(map[string]cursor, len(c.Content)/2)
	for i := 0; i+1 < len(c.Content); i += 2 {
		k, v := c.Content[i], c.Content[i+1]
		if !slices.Contains(known, k.Value) {
			c.rep.Add(k.Line, c.path, "unknown key %q%s; known keys: %s", strictyaml.Clip(k.Value), strictyaml.DidYouMean(k.Value, known), strings.Join(known, ", "))
			continue
		}
		at := c.key(k.Value, v)
		if at.isNull() {
			c.rep.Add(k.Line, at.path, "has no value; give it one or remove the key")
			continue
		}
		out[k.Value] = at
	}
	return out, true
}

// items returns the entries of a list.
func (c cursor) items() ([]cursor, bool) {
	if c.Kind != yaml.SequenceNode {
		c.problem("must be a list; it is %s", c.kind())
		return nil, false
	}
	out := make([]cursor, len(c.Content))
	for i, n := range c.Content {
		out[i] = c.item(i, n)
	}
	return out, true
}

// text returns a string.
func (c cursor) text() string {
	if c.Kind != yaml.ScalarNode || c.Tag != "!!str" {
		c.problem("must be text; it is %s", c.kind())
		return ""
	}
	return c.Value
}

// texts returns a list of strings.
func (c cursor) texts() []string {
	items, _ := c.items()
	out := make([]string, 0, len(items))
	for _, it := range items {
		if s := it.text(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// boolean returns true or false.
func (c cursor) boolean() bool {
	var v bool
	if c.Kind != yaml.ScalarNode || c.Tag != "!!bool" || c.Decode(&v) != nil {
		c.problem("must be true or false")
	}
	return v
}

// integer returns a whole number within bounds.
func (c cursor) integer(least, most int) int {
	var v int
	if c.Kind != yaml.ScalarNode || c.Tag != "!!int" || c.Decode(&v) != nil || v < least || v > most {
		c.problem("must be a whole number from %d to %d", least, most)
		return least
	}
	return v
}

// fraction returns a number in [0,1].
func (c cursor) fraction() float64 {
	var v float64
	if c.Kind != yaml.ScalarNode || c.Tag != "!!int" && c.Tag != "!!float" || c.Decode(&v) != nil || math.IsNaN(v) || v < 0 || v > 1 {
		c.problem("must be a number from 0 to 1")
		return 0
	}
	return v
}

// literal returns the value as JSON would hold it: nil, bool, float64, string, []any, map[string]any.
func (c cursor) literal() any {
	switch c.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(c.Content)/2)
		for i := 0; i+1 < len(c.Content); i += 2 {
			out[c.Content[i].Value] = c.key(c.Content[i].Value, c.Content[i+1]).literal()
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(c.Content))
		for i, n := range c.Content {
			out[i] = c.item(i, n).literal()
		}
		return out
	}
	switch c.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return c.boolean()
	case "!!int", "!!float":
		var v float64
		if err := c.Decode(&v); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			c.problem("%q is not a number JSON can hold", strictyaml.Clip(c.Value))
			return nil
		}
		return v
	case "!!str", "!!timestamp": // JSON has no timestamps: a date stays the text it is
		return c.Value
	}
	c.problem("the YAML tag %s is not supported", strictyaml.Clip(c.Tag))
	return nil
}

// entry returns one entry of a map, without reporting anything.
func (c cursor) entry(name string) (cursor, bool) {
	if c.Kind != yaml.MappingNode {
		return cursor{}, false
	}
	for i := 0; i+1 < len(c.Content); i += 2 {
		if c.Content[i].Value == name {
			at := c.key(name, c.Content[i+1])
			return at, !at.isNull()
		}
	}
	return cursor{}, false
}
