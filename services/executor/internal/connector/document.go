package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/tool"
)

// Bounds of a document.
const (
	maxDocument = 8 << 20
	maxNodes    = 400_000
	maxDepth    = 100
)

// object is a JSON object with every digit of its numbers.
type object = map[string]any

// document is an OpenAPI document as a value.
type document struct {
	root object
	// old says that its schemas are those of OpenAPI 3.0, which are not quite JSON Schema.
	old bool
}

// read takes a document in JSON or YAML. The error says what is wrong with it.
func read(text []byte) (*document, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the document has more than %d bytes", maxDocument)
	}
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the document cannot be read: %w", err)
	}
	root, _ := value.(object)
	version, _ := root["openapi"].(string)
	if !strings.HasPrefix(version, "3.") {
		return nil, errors.New(`the document is not OpenAPI 3: its field openapi must be a text such as "3.1.0"`)
	}
	if _, ok := root["paths"].(object); !ok {
		return nil, errors.New("the document has no paths")
	}
	return &document{root: root, old: strings.HasPrefix(version, "3.0")}, nil
}

func decode(text []byte) (any, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		if value, err := tool.Decode(trimmed); err == nil || json.Valid(trimmed) {
			return value, err
		}
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	left := maxNodes
	return plain(&n, 0, &left)
}

// plain makes a node what JSON would have it be. left bounds what aliases multiply.
func plain(n *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("it has more than %d values, or is nested deeper than %d", maxNodes, maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0], depth+1, left)
	case yaml.AliasNode:
		return plain(n.Alias, depth+1, left)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, e := range n.Content {
			var err error
			if list[i], err = plain(e, depth+1, left); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		fields := object{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return nil, fmt.Errorf("line %d: a key is no plain text", key.Line)
			}
			if _, twice := fields[key.Value]; twice {
				return nil, fmt.Errorf("line %d: the key %q is given twice", key.Line, key.Value)
			}
			value, err := plain(n.Content[i+1], depth+1, left)
			if err != nil {
				return nil, err
			}
			fields[key.Value] = value
		}
		return fields, nil
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, errors.New("it is empty")
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		if value, err := tool.Decode([]byte(n.Value)); err == nil {
			return value, nil
		}
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, err
		}
		raw, err := json.Marshal(f)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s is no number of JSON", n.Line, n.Value)
		}
		return json.Number(raw), nil
	}
	return n.Value, nil
}

// at follows a pointer within the document, such as #/components/schemas/Pet.
func (d *document) at(ref string) (any, error) {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, fmt.Errorf("it refers to %s, outside the document", clip(ref, 200))
	}
	var value any = d.root
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		found := false
		switch in := value.(type) {
		case object:
			value, found = in[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(in) {
				value, found = in[i], true
			}
		}
		if !found {
			return nil, fmt.Errorf("it refers to %s, which is not there", clip(ref, 200))
		}
	}
	return value, nil
}

// resolved follows the references of something that is no schema. nil is nothing.
func (d *document) resolved(value any) (object, error) {
	for range maxDepth {
		fields, _ := value.(object)
		ref, is := fields["$ref"].(string)
		if !is {
			return fields, nil
		}
		var err error
		if value, err = d.at(ref); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("its references go round in a circle")
}

// schemas collects what a schema refers to, so that it stands by itself.
type schemas struct {
	*document
	defs  object
	names map[string]string // by reference
	err   error
}

func (d *document) collect() *schemas {
	return &schemas{document: d, defs: object{}, names: map[string]string{}}
}

// literal are keywords whose values are data, and no schemas.
var literal = map[string]bool{"enum": true, "const": true, "default": true, "example": true, "examples": true}

// named are keywords whose values are schemas by name.
var named = map[string]bool{"properties": true, "patternProperties": true, "$defs": true}

// take gives a schema with its references turned to definitions, and as JSON Schema where
// it was one of OpenAPI 3.0.
func (s *schemas) take(value any, depth int) any {
	if depth > maxDepth && s.err == nil {
		s.err = fmt.Errorf("its schema is nested deeper than %d", maxDepth)
	}
	if s.err != nil {
		return value
	}
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = s.take(e, depth+1)
		}
		return list
	case object:
		out := object{}
		for _, key := range slices.Sorted(maps.Keys(v)) { // definitions are numbered as they come
			e := v[key]
			switch {
			case literal[key]:
				out[key] = e
			case named[key]:
				out[key] = s.named(e, depth+1)
			default:
				out[key] = s.take(e, depth+1)
			}
		}
		if ref, is := v["$ref"].(string); is {
			out["$ref"] = s.refer(ref, depth+1)
		}
		if s.old {
			modern(out)
		}
		return out
	}
	return value
}

// named takes schemas by names, which are no keywords whatever they are called.
func (s *schemas) named(value any, depth int) any {
	fields, ok := value.(object)
	if !ok {
		return value
	}
	out := object{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out[name] = s.take(fields[name], depth)
	}
	return out
}

func (s *schemas) refer(ref string, depth int) string {
	name, known := s.names[ref]
	if !known {
		value, err := s.at(ref)
		if err != nil {
			s.err = err
			return ref
		}
		name = strconv.Itoa(len(s.names) + 1)
		s.names[ref] = name
		s.defs[name] = s.take(value, depth)
	}
	return "#/$defs/" + name
}

// modern turns what OpenAPI 3.0 says in its own way into JSON Schema.
func modern(schema object) {
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if is, ok := schema[exclusive].(bool); ok {
			delete(schema, exclusive)
			if is && schema[limit] != nil {
				schema[exclusive] = schema[limit]
				delete(schema, limit)
			}
		}
	}
	if nullable, _ := schema["nullable"].(bool); nullable {
		delete(schema, "nullable")
		inner := maps.Clone(schema)
		clear(schema)
		schema["anyOf"] = []any{inner, object{"type": "null"}}
	}
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
