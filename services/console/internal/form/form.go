// Package form turns what is decided on into fields that a person can edit, and
// what the person left in them back into JSON.
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// Kind says how a field is edited.
type Kind string

// The kinds. A Long text has lines, a Choice is one of a few values.
const (
	Line   Kind = "line"
	Long   Kind = "long"
	Number Kind = "number"
	YesNo  Kind = "yes-no"
	Choice Kind = "choice"
)

// Field is one property of an object.
type Field struct {
	Name  string
	Label string
	// Hint is the description in the schema.
	Hint  string
	Kind  Kind
	Value string
	// Choices of a Choice.
	Choices []string
	// Needed fields cannot be left empty; others are then left out.
	Needed bool
	// present says that the content has the property, null that it is null.
	present, null bool
	// whole says that a number has no fraction.
	whole bool
}

// Prefix of the names under which fields are sent.
const Prefix = "field."

// longer texts are edited as Long, in characters.
const longer = 60

// Of gives the fields of a flat object: one whose properties are texts, numbers and
// truth values, in the content and in its JSON Schema, which may be nil. Of any other
// content there are none.
func Of(content *structpb.Value, schema *structpb.Struct) ([]Field, bool) {
	object := content.GetStructValue()
	if object == nil {
		return nil, false
	}
	properties := schema.GetFields()["properties"].GetStructValue().GetFields()
	names := map[string]bool{}
	for name := range object.GetFields() {
		names[name] = true
	}
	for name := range properties {
		names[name] = true
	}
	required := map[string]bool{}
	for _, r := range schema.GetFields()["required"].GetListValue().GetValues() {
		required[r.GetStringValue()] = true
	}
	var fields []Field
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f, ok := field(name, object.GetFields()[name], properties[name].GetStructValue())
		if !ok {
			return nil, false
		}
		f.Needed = required[name] && !f.null
		fields = append(fields, f)
	}
	return fields, len(fields) > 0
}

func field(name string, v *structpb.Value, schema *structpb.Struct) (Field, bool) {
	f := Field{Name: name, Label: schema.GetFields()["title"].GetStringValue(), Hint: schema.GetFields()["description"].GetStringValue()}
	if f.Label == "" {
		f.Label = name
	}
	f.present = v != nil
	switch v := v.GetKind().(type) {
	case nil:
	case *structpb.Value_NullValue:
		f.null = true
	case *structpb.Value_StringValue:
		f.Kind, f.Value = Line, v.StringValue
	case *structpb.Value_NumberValue:
		f.Kind, f.Value = Number, strconv.FormatFloat(v.NumberValue, 'f', -1, 64)
	case *structpb.Value_BoolValue:
		f.Kind, f.Value = YesNo, strconv.FormatBool(v.BoolValue)
	default:
		return Field{}, false
	}
	typed := schema.GetFields()["type"]
	switch kind := typed.GetStringValue(); {
	case kind == "string" && (f.Kind == "" || f.Kind == Line):
		f.Kind = Line
	case (kind == "number" || kind == "integer") && (f.Kind == "" || f.Kind == Number):
		f.Kind, f.whole = Number, kind == "integer"
	case kind == "boolean" && (f.Kind == "" || f.Kind == YesNo):
		f.Kind = YesNo
	case typed == nil && f.Kind != "":
	default: // another type, several types, or nothing that tells the type
		return Field{}, false
	}
	if choices := schema.GetFields()["enum"].GetListValue().GetValues(); len(choices) > 0 && f.Kind == Line {
		f.Kind = Choice
		for _, c := range choices {
			if _, ok := c.GetKind().(*structpb.Value_StringValue); !ok {
				return Field{}, false
			}
			f.Choices = append(f.Choices, c.GetStringValue())
		}
		if f.Value != "" && !slices.Contains(f.Choices, f.Value) {
			f.Choices = append(f.Choices, f.Value) // what is there can be left there
		}
	}
	if f.Kind == Line && (strings.Contains(f.Value, "\n") || len([]rune(f.Value)) > longer) {
		f.Kind = Long
	}
	return f, true
}

// Read gives the object that the person left in the fields. The error says which
// fields cannot be meant.
func Read(fields []Field, sent url.Values) (*structpb.Value, error) {
	out := map[string]*structpb.Value{}
	var wrong []error
	for _, f := range fields {
		// Browsers send the ends of lines as CR LF.
		text := strings.ReplaceAll(sent.Get(Prefix+f.Name), "\r\n", "\n")
		v, err := f.read(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %w", f.Label, err))
		}
		if v != nil {
			out[f.Name] = v
		}
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: out}), errors.Join(wrong...)
}

// read gives the value of a field; nil leaves the property out.
func (f Field) read(text string) (*structpb.Value, error) {
	written := f.Kind == Line || f.Kind == Long
	switch {
	case text == "" && f.null:
		return structpb.NewNullValue(), nil
	case text == "" && !(written && f.present):
		if f.Needed {
			return nil, errors.New("is missing")
		}
		return nil, nil
	case f.Kind == Number:
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, errors.New("must be a number")
		}
		if f.whole && n != math.Trunc(n) {
			return nil, errors.New("must be a whole number")
		}
		return structpb.NewNumberValue(n), nil
	case f.Kind == YesNo:
		return structpb.NewBoolValue(text == "true"), nil
	}
	return structpb.NewStringValue(text), nil
}

// Text is content as a person reads and edits it: a text as it is, anything else as
// JSON with its properties in the order of their names.
func Text(v *structpb.Value) string {
	if s, ok := v.GetKind().(*structpb.Value_StringValue); ok {
		return s.StringValue
	}
	if v == nil {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v.AsInterface()); err != nil {
		return "" // of numbers that JSON has no word for; a Value that came as JSON has none
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Parse reads what a person made of Text of a content. The error says where it is no JSON.
func Parse(text string, was *structpb.Value) (*structpb.Value, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if _, ok := was.GetKind().(*structpb.Value_StringValue); ok {
		return structpb.NewStringValue(text), nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		at := d.InputOffset()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = syntax.Offset
		}
		line := 1 + strings.Count(text[:min(int(at), len(text))], "\n")
		return nil, fmt.Errorf("line %d is not JSON: %s", line, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return structpb.NewValue(v)
}
