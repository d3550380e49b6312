package strictyaml

import (
	"math"

	"go.yaml.in/yaml/v3"
)

// Value gives what is written as encoding/json would read it: maps, lists, text,
// float64, booleans and nil. A date is the text that it is. What JSON cannot say, such as
// .nan, is reported.
func (n Node) Value() any {
	switch n.node.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.node.Content)/2)
		for i := 0; i+1 < len(n.node.Content); i += 2 {
			m[n.node.Content[i].Value] = n.entry(n.node.Content[i], n.node.Content[i+1]).Value()
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.node.Content))
		for i, v := range n.node.Content {
			list[i] = n.item(i, v).Value()
		}
		return list
	}
	switch n.node.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return n.Bool()
	case "!!int", "!!float":
		var v float64
		if n.node.Decode(&v) != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			n.Problem("%q is not a number that JSON has", Clip(n.node.Value))
			return nil
		}
		return v
	}
	return n.node.Value
}
