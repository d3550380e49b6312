package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/fault"
)

// Text makes a text part.
func Text(s string) *a2apb.Part {
	return &a2apb.Part{Content: &a2apb.Part_Text{Text: s}, MediaType: "text/plain"}
}

// Data makes a data part of anything that encoding/json can write.
func Data(v any) (*a2apb.Part, error) {
	if m, ok := v.(map[string]any); ok {
		if value, err := structpb.NewValue(m); err == nil {
			return &a2apb.Part{Content: &a2apb.Part_Data{Data: value}, MediaType: "application/json"}, nil
		}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("data part: %w", err)
	}
	value := &structpb.Value{}
	if err := value.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("data part: %w", err)
	}
	return &a2apb.Part{Content: &a2apb.Part_Data{Data: value}, MediaType: "application/json"}, nil
}

// Message makes an agent's message; its id and task are filled in by the engine.
// Without parts it is nil.
func Message(parts ...*a2apb.Part) *a2apb.Message {
	if len(parts) == 0 {
		return nil
	}
	return &a2apb.Message{Role: a2apb.Role_ROLE_AGENT, Parts: parts}
}

// TextOf joins the text parts of a message with newlines.
func TextOf(parts []*a2apb.Part) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.GetContent().(*a2apb.Part_Text); ok && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// DataOf returns the first data part, or nil.
func DataOf(parts []*a2apb.Part) *structpb.Value {
	for _, p := range parts {
		if d := p.GetData(); d != nil {
			return d
		}
	}
	return nil
}

// Brief is what parts say, for lists: their text, else what is in their data, else the names
// of their files. It has at most so many bytes; of data alone it is one line.
func Brief(parts []*a2apb.Part, most int) string {
	if text := TextOf(parts); text != "" {
		return clip(text, most)
	}
	var said []string
	for _, p := range parts {
		if d := p.GetData(); d != nil {
			said = append(said, brief(d, most, 0))
		} else if name := p.GetFilename(); name != "" {
			said = append(said, "file "+line(name))
		}
	}
	return clip(strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; "), most)
}

// Of data a summary tells some entries of lists, and what is in what, to a depth.
const (
	briefEntries = 3
	briefDepth   = 2
)

// brief tells what is in a value, and not much more of it than so many bytes.
func brief(v *structpb.Value, most, depth int) string {
	var parts []string
	left := func() bool {
		n := 0
		for _, p := range parts {
			n += len(p)
		}
		return n <= most
	}
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return line(clip(k.StringValue, most))
	case *structpb.Value_NumberValue:
		return strconv.FormatFloat(k.NumberValue, 'f', -1, 64)
	case *structpb.Value_BoolValue:
		return map[bool]string{true: "yes", false: "no"}[k.BoolValue]
	case *structpb.Value_StructValue:
		if depth == briefDepth {
			return "…"
		}
		fields := k.StructValue.GetFields()
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if !left() {
				break
			}
			if said := brief(fields[name], most, depth+1); said != "" {
				parts = append(parts, line(clip(name, most))+": "+said)
			}
		}
	case *structpb.Value_ListValue:
		if depth == briefDepth {
			return "…"
		}
		list := k.ListValue.GetValues()
		for _, e := range list[:min(len(list), briefEntries)] {
			if said := brief(e, most, depth+1); said != "" && left() {
				parts = append(parts, said)
			}
		}
		if more := len(list) - briefEntries; more > 0 {
			parts = append(parts, strconv.Itoa(more)+" more")
		}
	}
	said := strings.Join(parts, ", ")
	if depth > 0 && len(parts) > 0 {
		return "(" + said + ")"
	}
	return said
}

// line is a text without line breaks.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip shortens a text to so many bytes, at the end of a character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Decode reads the first data part of a message into v, strictly: unknown keys
// and wrong types are a fault on "message.parts" that says so. It reports
// whether there was a data part.
func Decode(parts []*a2apb.Part, v any) (bool, error) {
	for i, p := range parts {
		d := p.GetData()
		if d == nil {
			continue
		}
		raw, err := d.MarshalJSON()
		if err != nil {
			return true, fault.Invalid(fmt.Sprintf("message.parts[%d].data", i), "the data cannot be read as JSON")
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(v); err != nil {
			return true, wrong(fmt.Sprintf("message.parts[%d].data", i), err)
		}
		return true, nil
	}
	return false, nil
}

// wrong tells a client what does not fit, in the client's words.
func wrong(path string, err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		if t.Field != "" {
			path += "." + t.Field
		}
		return fault.Invalid(path, "is a JSON %s; it must be %s", t.Value, kinds[t.Type.Kind()])
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fault.Invalid(path, "has the unknown field %s", name)
	}
	return fault.Invalid(path, "does not have the form that the skill takes")
}

// kinds of Go as JSON calls them; anything else is an object.
var kinds = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
	reflect.Pointer: "an object", reflect.Float64: "a number", reflect.Float32: "a number", reflect.Int: "a whole number",
	reflect.Int64: "a whole number", reflect.Int32: "a whole number", reflect.Uint: "a whole number, not negative",
}

// MediaType is the media type of a part; a part that names none has the one of its content.
func MediaType(p *a2apb.Part) string {
	if p.GetMediaType() != "" {
		if t, _, err := mime.ParseMediaType(p.GetMediaType()); err == nil {
			return t
		}
		return p.GetMediaType()
	}
	switch p.GetContent().(type) {
	case *a2apb.Part_Text:
		return "text/plain"
	case *a2apb.Part_Data:
		return "application/json"
	}
	return "application/octet-stream"
}
