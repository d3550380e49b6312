// Package strictyaml reads YAML files that people write as policy: what is not
// known is refused, and every problem is reported at once with its line and its
// place in the document.
package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file.
const (
	// MaxSize in bytes.
	MaxSize = 1 << 20
	// MaxDepth of nesting.
	MaxDepth = 32
)

// Parse reads a file and gives its root to compile, which reports what is wrong
// with Node.Problem. name is the file as problems should show it. The error is
// Problems with everything found; compile is not called for a file that is not
// YAML, is empty, holds several documents, or uses anchors and aliases.
func Parse(name string, data []byte, compile func(root Node)) error {
	rep := NewReport(name)
	if root, ok := Read(data, rep); ok {
		compile(Node{node: root, report: rep})
	}
	return rep.Err()
}

// Section reads a section of a file that something else reads as a whole, such as a
// part of a service's configuration, as Parse reads a file. name is that of the section.
func Section(name string, section *yaml.Node, compile func(root Node)) error {
	rep := NewReport(name)
	if root := (Node{node: section, report: rep}); root.plain(1) {
		compile(root)
	}
	return rep.Err()
}

// yamlLine finds the line number in an error of the YAML parser.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// Read gives the root of a file's one document, for what reads more of YAML than a
// Node does; what Parse refuses it reports.
func Read(data []byte, rep *Report) (*yaml.Node, bool) {
	switch {
	case len(data) > MaxSize:
		rep.Add(0, "", "the file has %d bytes; it may have %d at most", len(data), MaxSize)
		return nil, false
	case !utf8.Valid(data):
		rep.Add(0, "", "the file is not UTF-8 text")
		return nil, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		line, message := 0, strings.TrimPrefix(err.Error(), "yaml: ")
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ = strconv.Atoi(m[1])
			message = strings.TrimPrefix(err.Error(), m[0])
		}
		if strings.HasPrefix(message, "mapping values are not allowed") {
			message += "; text with \": \" in it, such as an expression with ? and :, must be quoted"
		}
		rep.Add(line, "", "not valid YAML: %s", message)
		return nil, false
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		rep.Add(0, "", "the file is empty")
		return nil, false
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		rep.Add(second.Line, "", "one file holds one document; remove what follows the line ---")
		return nil, false
	}
	root := Node{node: doc.Content[0], report: rep}
	return root.node, root.plain(1)
}

// plain checks the whole tree below n for what is refused everywhere. A few lines
// of aliases expand to gigabytes.
func (n Node) plain(depth int) bool {
	switch {
	case depth > MaxDepth:
		n.Problem("nested deeper than %d levels", MaxDepth)
		return false
	case n.node.Kind == yaml.AliasNode:
		n.Problem("aliases (*%s) are refused; write the value out", Clip(n.node.Value))
		return false
	case n.node.Anchor != "":
		n.Problem("anchors (&%s) are refused; write the value out where it is used", Clip(n.node.Anchor))
		return false
	}
	ok := true
	switch n.node.Kind {
	case yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(n.node.Content); i += 2 {
			k, v := n.node.Content[i], n.node.Content[i+1]
			at := n.entry(k, v)
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				at.Problem("a key must be plain text")
				ok = false
				continue
			}
			if line, twice := seen[k.Value]; twice {
				at.Problem("the key is there twice; first on line %d", line)
				ok = false
			}
			seen[k.Value] = k.Line
			ok = at.plain(depth+1) && ok
		}
	case yaml.SequenceNode:
		for i, v := range n.node.Content {
			ok = n.item(i, v).plain(depth+1) && ok
		}
	}
	return ok
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
