package connector

import (
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"sabha.dev/chassis/tool"
)

// Numbers of a data part are 64-bit floats. An integer of the format int64 that they cannot
// hold is carried as text, as the JSON of protocol buffers does, and is a number again
// where the provider reads it.

// digits are those of an integer in text.
const digits = `^-?[0-9]{1,19}$`

var digitsOnly = regexp.MustCompile(digits)

// wide tells whether a schema is that of an int64, and of nothing that is text. Each
// reference is followed once, which been counts.
func wide(schema any, defs object, been map[string]bool) bool {
	fields, _ := schema.(object)
	if fields["format"] == "int64" && (fields["type"] == "integer" || hasType(fields, "integer") && !hasType(fields, "string")) {
		return true
	}
	if ref, ok := fields["$ref"].(string); ok && !been[ref] {
		been[ref] = true
		if wide(defs[strings.TrimPrefix(ref, "#/$defs/")], defs, been) {
			return true
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := fields[key].([]any)
		some, all := false, true
		for _, one := range list {
			is := wide(one, defs, been)
			null, _ := one.(object)
			some, all = some || is, all && (is || null["type"] == "null")
		}
		if some && (all || key == "allOf") {
			return true
		}
	}
	return false
}

func hasType(fields object, name string) bool {
	list, _ := fields["type"].([]any)
	return slices.Contains(list, any(name))
}

// widen gives a schema that takes an int64 in text too, and tells whether there is any.
func widen(value any, found *bool) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = widen(e, found)
		}
		return list
	case object:
		out := object{}
		for key, e := range v {
			switch {
			case literal[key]:
				out[key] = e
			case named[key]:
				fields, _ := e.(object)
				into := object{}
				for name, one := range fields {
					into[name] = widen(one, found)
				}
				out[key] = into
			default:
				out[key] = widen(e, found)
			}
		}
		if !wide(object{"type": v["type"], "format": v["format"]}, nil, nil) {
			return out
		}
		*found = true
		inner := maps.Clone(out)
		return object{"anyOf": []any{inner, object{"type": "string", "pattern": digits}}}
	}
	return value
}

// swap goes along a value and its schema, and has each int64 replaced.
func swap(value, schema any, defs object, replace func(any) any) any {
	return (&swapper{defs, replace}).value(value, schema, map[string]bool{})
}

type swapper struct {
	defs    object
	replace func(any) any
}

// value follows each reference once for one value, which been counts.
func (s *swapper) value(value, schema any, been map[string]bool) any {
	fields, _ := schema.(object)
	if fields == nil {
		return value
	}
	if wide(schema, s.defs, map[string]bool{}) {
		return s.replace(value)
	}
	if ref, ok := fields["$ref"].(string); ok && !been[ref] {
		been[ref] = true
		value = s.value(value, s.defs[strings.TrimPrefix(ref, "#/$defs/")], been)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := fields[key].([]any)
		for _, one := range list {
			value = s.value(value, one, been)
		}
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = s.value(v[i], fields["items"], map[string]bool{})
		}
	case object:
		properties, _ := fields["properties"].(object)
		for name := range v {
			of, ok := properties[name]
			if !ok {
				of = fields["additionalProperties"]
			}
			v[name] = s.value(v[name], of, map[string]bool{})
		}
	}
	return value
}

// number is what a provider reads of an int64.
func number(v any) any {
	if text, ok := v.(string); ok && digitsOnly.MatchString(text) {
		if n, ok := new(big.Int).SetString(text, 10); ok {
			return json.Number(n.String())
		}
	}
	return v
}

// worded is what a data part holds of an int64.
func worded(v any) any {
	n, ok := v.(json.Number)
	if !ok || !digitsOnly.MatchString(n.String()) {
		return v
	}
	if whole, ok := new(big.Int).SetString(n.String(), 10); ok {
		if _, accuracy := new(big.Float).SetInt(whole).Float64(); accuracy != big.Exact {
			return n.String()
		}
	}
	return v
}

// exact is what an operation with an int64 has beside what is listed of it.
type exact struct {
	// strict has the schemas as the document has them.
	strict        *tool.Contract
	input, output object
}

// arguments gives what a provider is sent.
func (e *exact) arguments(v any) (any, error) {
	defs, _ := e.input["$defs"].(object)
	v = swap(v, e.input, defs, number)
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	_, err = e.strict.Arguments(raw)
	return v, err
}

// result gives what a caller is told.
func (e *exact) result(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if err := e.strict.Result(raw); err != nil {
		return nil, err
	}
	defs, _ := e.output["$defs"].(object)
	return swap(v, e.output, defs, worded), nil
}
