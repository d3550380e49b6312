package strictyaml

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Node is a place in a document. Its methods report what does not fit and then give
// the zero value.
type Node struct {
	node   *yaml.Node
	key    *yaml.Node // of an entry of a map
	path   string
	report *Report
}

// Entry is a key of a map with its value.
type Entry struct {
	Key   string
	Value Node
}

// Line of the key, or of the value where there is none.
func (n Node) Line() int {
	if n.key != nil {
		return n.key.Line
	}
	return n.node.Line
}

// Problem reports something wrong here.
func (n Node) Problem(format string, args ...any) {
	n.report.Add(n.Line(), n.path, format, args...)
}

func (n Node) entry(key, value *yaml.Node) Node {
	path := Clip(key.Value)
	if n.path != "" {
		path = n.path + "." + path
	}
	return Node{node: value, key: key, path: path, report: n.report}
}

func (n Node) item(i int, value *yaml.Node) Node {
	return Node{node: value, path: fmt.Sprintf("%s[%d]", n.path, i), report: n.report}
}

// kind names what the node is, in words for an error.
func (n Node) kind() string {
	switch n.node.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.node.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!timestamp":
		return "a date"
	}
	return "text"
}

// Entries gives a map's entries in the order of the file. Keys without a value are
// reported.
func (n Node) Entries() []Entry {
	if n.node.Kind != yaml.MappingNode {
		n.Problem("must be a map; it is %s", n.kind())
		return nil
	}
	var list []Entry
	for i := 0; i+1 < len(n.node.Content); i += 2 {
		at := n.entry(n.node.Content[i], n.node.Content[i+1])
		if isNull(at.node) {
			at.Problem("has no value; give it one or remove the key")
			continue
		}
		list = append(list, Entry{at.key.Value, at})
	}
	return list
}

// Fields are the entries of a map whose keys are known.
type Fields struct {
	at     Node
	byName map[string]Node
}

// Fields reads a map with known keys; others are reported with the nearest known one.
func (n Node) Fields(known ...string) (Fields, bool) {
	if n.node.Kind != yaml.MappingNode {
		n.Problem("must be a map with the keys %s; it is %s", strings.Join(known, ", "), n.kind())
		return Fields{}, false
	}
	f := Fields{at: n, byName: map[string]Node{}}
	for _, e := range n.Entries() {
		if !slices.Contains(known, e.Key) {
			n.report.Add(e.Value.Line(), n.path, "unknown key %q%s; known keys: %s", Clip(e.Key), DidYouMean(e.Key, known), strings.Join(known, ", "))
			continue
		}
		f.byName[e.Key] = e.Value
	}
	return f, true
}

// Get gives the value of a key that may be missing.
func (f Fields) Get(name string) (Node, bool) {
	n, ok := f.byName[name]
	return n, ok
}

// Need gives the value of a key, and reports it when it is missing.
func (f Fields) Need(name string) (Node, bool) {
	n, ok := f.byName[name]
	if !ok && !f.at.report.At(strings.TrimPrefix(f.at.path+"."+name, ".")) {
		f.at.Problem("the key %q is missing", name)
	}
	return n, ok
}

// Items gives the entries of a list.
func (n Node) Items() []Node {
	if n.node.Kind != yaml.SequenceNode {
		n.Problem("must be a list; it is %s", n.kind())
		return nil
	}
	list := make([]Node, len(n.node.Content))
	for i, v := range n.node.Content {
		list[i] = n.item(i, v)
	}
	return list
}

// IsList tells whether the node is a list.
func (n Node) IsList() bool { return n.node.Kind == yaml.SequenceNode }

// Text gives text that is not empty. A date counts as the text that it is.
func (n Node) Text() string {
	if n.node.Kind != yaml.ScalarNode || n.node.Tag != "!!str" && n.node.Tag != "!!timestamp" {
		n.Problem("must be text; it is %s", n.kind())
		return ""
	}
	if strings.TrimSpace(n.node.Value) == "" {
		n.Problem("is empty; write something or remove the key")
		return ""
	}
	return n.node.Value
}

// Scalar gives text, or a number, date or boolean as it is written.
func (n Node) Scalar() string {
	if n.node.Kind != yaml.ScalarNode {
		n.Problem("must be one value; it is %s", n.kind())
		return ""
	}
	return n.node.Value
}

// Bool gives true or false.
func (n Node) Bool() bool {
	var v bool
	if n.node.Kind != yaml.ScalarNode || n.node.Tag != "!!bool" || n.node.Decode(&v) != nil {
		n.Problem("must be true or false; it is %s", n.kind())
	}
	return v
}

// Int gives a whole number from least to most; least after a problem.
func (n Node) Int(least, most int) int {
	var v int
	if n.node.Kind != yaml.ScalarNode || n.node.Tag != "!!int" || n.node.Decode(&v) != nil || v < least || v > most {
		n.Problem("must be a whole number from %d to %d", least, most)
		return least
	}
	return v
}

// Number gives a number from least to most; least after a problem.
func (n Node) Number(least, most float64) float64 {
	var v float64
	if n.node.Kind != yaml.ScalarNode || n.node.Tag != "!!int" && n.node.Tag != "!!float" || n.node.Decode(&v) != nil || !(v >= least && v <= most) {
		n.Problem("must be a number from %v to %v", least, most)
		return least
	}
	return v
}

// Duration gives a duration from least to most, written with units as 90m or 4h;
// least after a problem.
func (n Node) Duration(least, most time.Duration) time.Duration {
	if n.node.Kind != yaml.ScalarNode {
		n.Problem("must be a duration such as 90m or 4h; it is %s", n.kind())
		return least
	}
	d, err := time.ParseDuration(n.node.Value)
	switch {
	case err != nil:
		n.Problem("%q is not a duration; write numbers with the units h, m or s, such as 90m or 4h", Clip(n.node.Value))
		return least
	case d < least || d > most:
		n.Problem("must be from %s to %s; it is %s", Short(least), Short(most), Short(d))
		return least
	}
	return d
}

// Short writes a duration without units that are zero: 4h, not 4h0m0s.
func Short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// OneOf gives text that is one of the known words; empty after a problem.
func (n Node) OneOf(known ...string) string {
	text := n.Text()
	if text == "" || slices.Contains(known, text) {
		return text
	}
	n.Problem("%q is unknown%s; write one of %s", Clip(text), DidYouMean(text, known), strings.Join(known, ", "))
	return ""
}
