package playbook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sabha.dev/chassis/strictyaml"
)

// input reads the input schema.
func (k *compiler) input(c cursor) {
	f, ok := c.fields("schema", "text")
	if !ok {
		return
	}
	in := &k.book.Input
	if s, ok := k.required(c, f, "schema"); ok {
		k.schema(s, in)
	}
	if t, ok := f["text"]; ok {
		in.TextField = t.text()
		if in.TextField != "" && k.inputFields != nil && !slices.Contains(k.inputFields, in.TextField) {
			t.problem("the input schema has no property %q; it has %s", strictyaml.Clip(in.TextField), strings.Join(k.inputFields, ", "))
		}
	}
}

func (k *compiler) schema(c cursor, in *Input) {
	before := k.report.Len()
	data, ok := c.literal().(map[string]any)
	if k.report.Len() > before {
		return
	}
	if !ok {
		c.problem("must be a JSON Schema, a map; it is %s", c.kind())
		return
	}
	if data["type"] != "object" {
		c.problem("the schema's type must be object: a request's input is a map")
		return
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	const id = "urn:sabha:playbook:input"
	err := compiler.AddResource(id, data)
	if err == nil {
		in.compiled, err = compiler.Compile(id)
	}
	if err != nil {
		c.problem("not a valid JSON Schema 2020-12: %s", schemaProblem(err))
		return
	}
	in.Schema = data
	_, k.inputFields = celTypes(data)
}

func (k *compiler) inputTypes() map[string]*cel.Type {
	t, _ := celTypes(k.book.Input.Schema)
	return t
}

// noLoader refuses references out of the file: a playbook stands for itself.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; a playbook's schema must not refer to other documents", strictyaml.Clip(url))
}

// schemaProblem gives the most precise part of a schema error, on one line.
func schemaProblem(err error) string {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			leaf := leaves(v)[0]
			return fmt.Sprintf("at %s: %s", pointer(leaf.InstanceLocation), wording(leaf.ErrorKind))
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return load.Err.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// Gap is one thing wrong with a request's input.
type Gap struct {
	Path        string // JSON Pointer into the input
	Missing     bool   // required and absent: the client can be asked
	Message     string // what is wrong, in a sentence for the client
	Description string // what the schema says about the property, if it does
}

// Prepare makes the input of a run out of a request: its data, its text under the field the
// playbook names when the data does not set it, and the defaults of the schema's properties.
func (in Input) Prepare(text string, data map[string]any) map[string]any {
	out := maps.Clone(data)
	if out == nil {
		out = map[string]any{}
	}
	if _, set := out[in.TextField]; in.TextField != "" && !set && strings.TrimSpace(text) != "" {
		out[in.TextField] = text
	}
	properties, _ := in.Schema["properties"].(map[string]any)
	for name, p := range properties {
		def, _ := p.(map[string]any)
		if v, has := def["default"]; has {
			if _, set := out[name]; !set {
				out[name] = v
			}
		}
	}
	return out
}

// Check compares an input with the schema. Nil means that the run can begin. Gaps that are Missing
// come first, then by path.
func (in Input) Check(input map[string]any) []Gap {
	if in.compiled == nil {
		return nil
	}
	var v *jsonschema.ValidationError
	if err := in.compiled.Validate(input); err == nil || !errors.As(err, &v) {
		return nil
	}
	var gaps []Gap
	for _, leaf := range leaves(v) {
		if required, ok := leaf.ErrorKind.(*kind.Required); ok {
			for _, name := range required.Missing {
				path := append(slices.Clone(leaf.InstanceLocation), name)
				gaps = append(gaps, Gap{Path: pointer(path), Missing: true, Message: fmt.Sprintf("%q is missing", strings.Join(path, ".")), Description: in.describe(path)})
			}
			continue
		}
		at := strings.Join(leaf.InstanceLocation, ".")
		gaps = append(gaps, Gap{Path: pointer(leaf.InstanceLocation), Message: strings.TrimSpace(fmt.Sprintf("%s %s", at, wording(leaf.ErrorKind))), Description: in.describe(leaf.InstanceLocation)})
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int {
		if a.Missing != b.Missing {
			if a.Missing {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return gaps
}

// describe finds the description of a property through plain nested properties.
func (in Input) describe(path []string) string {
	at := in.Schema
	for _, name := range path {
		properties, _ := at["properties"].(map[string]any)
		if at, _ = properties[name].(map[string]any); at == nil {
			return ""
		}
	}
	s, _ := at["description"].(string)
	return s
}

// leaves returns the errors that have no causes: the precise ones.
func leaves(v *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return []*jsonschema.ValidationError{v}
	}
	var out []*jsonschema.ValidationError
	for _, c := range v.Causes {
		out = append(out, leaves(c)...)
	}
	return out
}

func wording(k jsonschema.ErrorKind) string {
	return k.LocalizedString(message.NewPrinter(language.English))
}

// pointer writes a JSON Pointer, RFC 6901.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}
