package playbook

import (
	"strings"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"
)

// Template is a value of a playbook: literals and expressions, at any depth of maps and lists.
type Template struct {
	literal any
	expr    *Expression
	list    []Template
	fields  map[string]Template
	isList  bool
}

// eval gives the value as JSON holds it (nil, bool, float64, string, []any, map[string]any). The
// error names file, line and path.
func (t Template) eval(vars map[string]any) (any, error) {
	switch {
	case t.expr != nil:
		return t.expr.eval(vars)
	case t.isList:
		out := make([]any, len(t.list))
		for i, x := range t.list {
			v, err := x.eval(vars)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case t.fields != nil:
		out := make(map[string]any, len(t.fields))
		for _, name := range sortedKeys(t.fields) {
			v, err := t.fields[name].eval(vars)
			if err != nil {
				return nil, err
			}
			out[name] = v
		}
		return out, nil
	}
	return t.literal, nil
}

// object evaluates a template that is a map.
func (t Template) object(vars map[string]any) (map[string]any, error) {
	v, err := t.eval(vars)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// expressions calls visit for each expression in the template.
func (t Template) expressions(visit func(*Expression)) {
	if t.expr != nil {
		visit(t.expr)
	}
	for _, x := range t.list {
		x.expressions(visit)
	}
	for _, name := range sortedKeys(t.fields) {
		t.fields[name].expressions(visit)
	}
}

// template compiles a node. want is the type its expression must have when it is one; nil for any.
func (k *compiler) template(c cursor, env *cel.Env, want *cel.Type) Template {
	switch c.Kind {
	case yaml.MappingNode:
		t := Template{fields: make(map[string]Template, len(c.Content)/2)}
		for i := 0; i+1 < len(c.Content); i += 2 {
			name := c.Content[i].Value
			t.fields[name] = k.template(c.key(name, c.Content[i+1]), env, nil)
		}
		return t
	case yaml.SequenceNode:
		t := Template{isList: true, list: make([]Template, len(c.Content))}
		for i, n := range c.Content {
			t.list[i] = k.template(c.item(i, n), env, nil)
		}
		return t
	}
	v := c.literal()
	if s, ok := v.(string); ok && strings.HasPrefix(s, "=") {
		if isExpression(s) {
			return Template{expr: k.expression(c, s[1:], env, want)}
		}
		v = s[1:]
	}
	return Template{literal: v}
}
