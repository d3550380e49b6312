package connector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sabha.dev/chassis/tool"
)

// parameter of an operation.
type parameter struct {
	name, in string
	// apart has each item of a list sent as a parameter of its own.
	apart bool
}

// operation is one request that the document describes.
type operation struct {
	name, method, path string
	title, description string
	parameters         []parameter
	body               bool
	input, output      json.RawMessage
	effects            tool.Effects
	schemes            []scheme
	// exact is nil where there is no int64.
	exact *exact
	// problem is why it cannot be called, in our words; empty for none.
	problem string
}

// verbs are the methods of operations, with what they do (RFC 9110 section 9.2).
var verbs = map[string]tool.Effects{
	"get":    {ReadOnly: true, Idempotent: true, OpenWorld: true},
	"head":   {ReadOnly: true, Idempotent: true, OpenWorld: true},
	"put":    {Idempotent: true, Destructive: true, OpenWorld: true},
	"delete": {Idempotent: true, Destructive: true, OpenWorld: true},
	"post":   {OpenWorld: true},
	"patch":  {Destructive: true, OpenWorld: true},
}

// operations are all that the document has, by name. What is wrong with one of them is
// its own problem.
func (d *document) operations(configured map[string]Credential) []*operation {
	var all []*operation
	paths, _ := d.root["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, err := d.resolved(paths[path])
		for _, verb := range slices.Sorted(maps.Keys(verbs)) {
			fields, ok := item[verb].(object)
			if !ok {
				continue
			}
			o := &operation{method: strings.ToUpper(verb), path: path, effects: verbs[verb]}
			if err == nil {
				err = o.read(d, item, fields, configured)
			}
			if err != nil {
				o.problem, err = err.Error(), nil
			}
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *operation) int { return cmp.Compare(a.name, b.name) })
	unique := all[:0]
	for _, o := range all {
		if n := len(unique); n > 0 && unique[n-1].name == o.name {
			unique[n-1].problem = fmt.Sprintf("two operations of the document have this name: %s %s and %s %s; give one another operationId", unique[n-1].method, unique[n-1].path, o.method, o.path)
			continue
		}
		unique = append(unique, o)
	}
	return unique
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

func (o *operation) read(d *document, item, fields object, configured map[string]Credential) error {
	if o.name, _ = fields["operationId"].(string); o.name == "" {
		o.name = strings.Trim(unfit.ReplaceAllString(strings.ToLower(o.method)+o.path, "-"), "-")
	}
	if o.name = unfit.ReplaceAllString(o.name, "-"); len(o.name) > 100 {
		o.name = o.name[:100]
	}
	o.title, _ = fields["summary"].(string)
	o.description, _ = fields["description"].(string)
	o.title = clip(o.title, 200)
	o.description = clip(cmp.Or(o.description, o.title, o.method+" "+o.path), 4000)
	input, err := o.takes(d, item, fields)
	if err != nil {
		return err
	}
	output, err := o.gives(d, fields)
	if err != nil {
		return err
	}
	if err := o.agree(input, output); err != nil {
		return err
	}
	o.schemes, err = d.security(fields, configured)
	return err
}

// takes reads parameters and the body into one schema of arguments.
func (o *operation) takes(d *document, item, fields object) (object, error) {
	s := d.collect()
	properties, required := object{}, []any{}
	at := map[string]int{}
	for _, from := range []object{item, fields} {
		list, _ := from["parameters"].([]any)
		for _, one := range list {
			p, err := d.resolved(one)
			if err != nil {
				return nil, err
			}
			name, _ := p["name"].(string)
			in, _ := p["in"].(string)
			needed, _ := p["required"].(bool)
			if in == "cookie" || in == "header" && owned[strings.ToLower(name)] {
				if needed && in == "cookie" {
					return nil, fmt.Errorf("it needs the cookie %q, and cookies are not sent", name)
				}
				continue
			}
			if name == "" || in != "path" && in != "query" && in != "header" {
				return nil, fmt.Errorf("a parameter has the name %q and is in %q; it must be in path, query or header", name, in)
			}
			schema := p["schema"]
			if schema == nil {
				return nil, fmt.Errorf("its parameter %q has no schema; content of parameters is not supported", name)
			}
			if style, ok := p["style"].(string); ok && style != "form" && style != "simple" {
				return nil, fmt.Errorf("its parameter %q has the style %q; form and simple are supported", name, style)
			}
			explode, given := p["explode"].(bool)
			this := parameter{name: name, in: in, apart: in == "query" && (explode || !given)}
			taken := s.take(schema, 0)
			if words, ok := p["description"].(string); ok {
				taken = object{"description": clip(words, 1000), "allOf": []any{taken}}
			}
			i, again := at[name]
			switch {
			case again && o.parameters[i].in != in:
				return nil, fmt.Errorf("it has two parameters %q, in %s and in %s", name, o.parameters[i].in, in)
			case again:
				o.parameters[i] = this
			default:
				at[name] = len(o.parameters)
				o.parameters = append(o.parameters, this)
			}
			properties[name] = taken
			if (needed || in == "path") && !slices.Contains(required, any(name)) {
				required = append(required, name)
			}
		}
	}
	for _, hole := range holes.FindAllString(o.path, -1) {
		if i, ok := at[hole[1:len(hole)-1]]; !ok || o.parameters[i].in != "path" {
			return nil, fmt.Errorf("its path has %s, and no parameter fills it", hole)
		}
	}
	if fields["requestBody"] != nil {
		body, err := d.resolved(fields["requestBody"])
		if err != nil {
			return nil, err
		}
		needed, _ := body["required"].(bool)
		schema, ok := ofJSON(body)
		switch {
		case !ok && needed:
			return nil, fmt.Errorf("its body is none of application/json")
		case ok && properties["body"] != nil:
			return nil, fmt.Errorf("it has a parameter called body beside its body")
		case ok:
			o.body = true
			if properties["body"] = any(object{}); schema != nil {
				properties["body"] = s.take(schema, 0)
			}
			if needed {
				required = append(required, "body")
			}
		}
	}
	root := object{"type": "object", "properties": properties, "additionalProperties": false, "required": required}
	return s.sealed(root)
}

var holes = regexp.MustCompile(`\{[^{}]*\}`)

// owned are headers that parameters do not set: OpenAPI has them described elsewhere.
var owned = map[string]bool{"accept": true, "content-type": true, "authorization": true, "host": true, "content-length": true, "cookie": true}

// gives makes one schema of what may be answered: {status, body}, with the body as the
// status has it.
func (o *operation) gives(d *document, fields object) (object, error) {
	s := d.collect()
	responses, _ := fields["responses"].(object)
	var variants []any
	var codes []any
	for _, code := range slices.Sorted(maps.Keys(responses)) { // 200 comes before 2XX
		status := object{"type": "integer", "minimum": 200, "maximum": 299, "not": object{"enum": slices.Clone(codes)}}
		if n, err := strconv.Atoi(code); err == nil && n/100 == 2 {
			status = object{"const": n}
			codes = append(codes, n)
		} else if strings.ToUpper(code) != "2XX" {
			continue
		}
		r, err := d.resolved(responses[code])
		if err != nil {
			return nil, err
		}
		variant := object{"type": "object", "properties": object{"status": status}, "required": []any{"status"}}
		if schema, ok := ofJSON(r); ok && o.method != http.MethodHead {
			variant["required"] = []any{"status", "body"}
			if schema != nil {
				variant["properties"].(object)["body"] = s.take(schema, 0)
			}
		}
		variants = append(variants, variant)
	}
	root := object{"type": "object", "properties": object{"status": object{"type": "integer"}}, "required": []any{"status"}}
	if len(variants) > 0 {
		root["anyOf"] = variants
	}
	return s.sealed(root)
}

// sealed gives a schema with its definitions.
func (s *schemas) sealed(root object) (object, error) {
	if s.err != nil {
		return nil, s.err
	}
	if len(s.defs) > 0 {
		root["$defs"] = s.defs
	}
	return root, nil
}

// agree writes the schemas as they are listed, and sees that they are schemas.
func (o *operation) agree(input, output object) error {
	found := false
	listed, err := contract(o.name, widen(input, &found), widen(output, &found))
	if err != nil {
		return err
	}
	o.input, o.output = listed.Input, listed.Output
	if found {
		strict, err := contract(o.name, input, output)
		if err != nil {
			return err
		}
		o.exact = &exact{strict: strict, input: input, output: output}
	}
	return nil
}

func contract(name string, input, output any) (*tool.Contract, error) {
	d := tool.Definition{Name: name}
	var err error
	if d.Input, err = json.Marshal(input); err == nil {
		d.Output, err = json.Marshal(output)
	}
	if err != nil {
		return nil, err
	}
	c, err := tool.New(d)
	if err != nil {
		return nil, fmt.Errorf("its schemas are no schemas: %w", err)
	}
	return c, nil
}

// ofJSON gives the schema of what a body or an answer holds as JSON.
func ofJSON(of object) (schema any, ok bool) {
	content, _ := of["content"].(object)
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		if isJSON(kind) {
			fields, _ := content[kind].(object)
			return fields["schema"], true
		}
	}
	return nil, false
}

func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
