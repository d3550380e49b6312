package playbook

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/strictyaml"
)

// Bounds of the closed schemas of a step.
const (
	maxReleases = 50
	maxEnum     = 100
	maxWord     = 200 // bytes of one value of an enum
)

// Release names a field of a step's data that may be believed when it keeps to a closed
// schema: one that leaves no room for words of somebody else's choice.
type Release struct {
	Field string   // as the file writes it
	Path  []string // the names that lead to it

	enum             []any
	kind, format     string
	minimum, maximum *float64
}

// releases reads the closed schemas of a step's fields.
func (k *compiler) releases(c cursor) []Release {
	if c.Kind != yaml.MappingNode {
		c.problem("must be a map from fields of the step's data to closed schemas; it is %s", c.kind())
		return nil
	}
	if n := len(c.Content) / 2; n == 0 || n > maxReleases {
		c.problem("names %d fields; it takes 1 to %d", n, maxReleases)
		return nil
	}
	var out []Release
	for i := 0; i+1 < len(c.Content); i += 2 {
		name := c.Content[i].Value
		at := c.key(name, c.Content[i+1])
		r := Release{Field: name, Path: strings.Split(name, ".")}
		if slices.Contains(r.Path, "") {
			at.problem("%q is no field; write its name, or the names that lead to it with dots between them", strictyaml.Clip(name))
			continue
		}
		if r.closed(at) {
			out = append(out, r)
		}
	}
	return out
}

// closed reads a closed schema, or says what would make it one.
func (r *Release) closed(c cursor) bool {
	f, ok := c.fields("description", "enum", "format", "maximum", "minimum", "type")
	if !ok {
		return false
	}
	open := func(why string) bool {
		c.problem("is no closed schema: %s; use enum, or type number, integer or boolean, or type string with format date or date-time", why)
		return false
	}
	if t, ok := f["type"]; ok {
		r.kind = t.text()
	}
	if t, ok := f["format"]; ok {
		r.format = t.text()
	}
	if e, ok := f["enum"]; ok {
		return r.words(e) && r.numbers(f, false)
	}
	switch r.kind {
	case "number", "integer":
		return r.numbers(f, true)
	case "boolean":
		return r.numbers(f, false)
	case "string":
		if r.format == "date" || r.format == "date-time" {
			return r.numbers(f, false)
		}
		return open("text can say anything")
	case "":
		return open("it says neither enum nor type")
	}
	return open("a value of type " + strictyaml.Clip(r.kind) + " can hold anything")
}

// numbers reads the bounds of a number.
func (r *Release) numbers(f map[string]cursor, allowed bool) bool {
	good := true
	for name, to := range map[string]**float64{"minimum": &r.minimum, "maximum": &r.maximum} {
		c, ok := f[name]
		if !ok {
			continue
		}
		v, isNumber := c.literal().(float64)
		if !isNumber || !allowed {
			c.problem("must be a number, beside type number or integer")
			good = false
			continue
		}
		*to = &v
	}
	return good
}

func (r *Release) words(c cursor) bool {
	items, ok := c.items()
	if !ok {
		return false
	}
	if len(items) == 0 || len(items) > maxEnum {
		c.problem("has %d values; a closed schema has 1 to %d", len(items), maxEnum)
		return false
	}
	for _, it := range items {
		switch v := it.literal().(type) {
		case string:
			if len(v) > maxWord {
				it.problem("has %d bytes; a value of a closed schema has at most %d", len(v), maxWord)
				return false
			}
			r.enum = append(r.enum, v)
		case float64, bool:
			r.enum = append(r.enum, v)
		default:
			it.problem("must be a text, a number, true or false")
			return false
		}
	}
	return true
}

// Keeps tells whether the field is there in a step's data and keeps to its schema.
func (r Release) Keeps(data map[string]any) bool {
	var v any = data
	for _, name := range r.Path {
		object, _ := v.(map[string]any)
		var ok bool
		if v, ok = object[name]; !ok {
			return false
		}
	}
	switch v.(type) {
	case string, float64, bool:
	default:
		return false // nothing else is compared, and nothing else is closed
	}
	if r.enum != nil {
		return slices.Contains(r.enum, v)
	}
	switch v := v.(type) {
	case bool:
		return r.kind == "boolean"
	case float64:
		return (r.kind == "number" || r.kind == "integer" && v == math.Trunc(v)) && !math.IsNaN(v) && !math.IsInf(v, 0) &&
			(r.minimum == nil || v >= *r.minimum) && (r.maximum == nil || v <= *r.maximum)
	case string:
		layout := map[string]string{"date": time.DateOnly, "date-time": time.RFC3339}[r.format]
		_, err := time.Parse(layout, v)
		return r.kind == "string" && layout != "" && err == nil
	}
	return false
}
