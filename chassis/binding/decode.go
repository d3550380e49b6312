package binding

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"sabha.dev/chassis/fault"
)

var null = []byte("null")

// decode reads a ProtoJSON object into m. Nothing and null are the empty message;
// unknown fields are ignored (specification 5.7). name is what the client knows
// the text as.
func decode(name string, text []byte, m proto.Message) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || bytes.Equal(text, null) {
		return nil
	}
	if protojson.Unmarshal(text, m) == nil {
		return nil
	}
	// Ignoring unknown fields also ignores unknown enum names, and a filter that
	// is silently dropped would list what was not asked for.
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m); err != nil {
		path, problem := explain(err)
		if path == "" {
			path = name
		}
		return fault.Invalid(path, "%s", problem)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fault.Invalid(name, "this is not JSON")
	}
	if path, problem := strayEnum(value, m.ProtoReflect().Descriptor()); problem != "" {
		return fault.Invalid(path, "%s", problem)
	}
	return nil
}

var namedField = regexp.MustCompile(`field ([A-Za-z][A-Za-z0-9_.]*)`)

// explain takes the name of the library off a decoding error, and finds the field
// it speaks of, if any.
func explain(err error) (field, problem string) {
	problem = strings.TrimPrefix(err.Error(), "proto:")
	// The library separates with a plain or a non-breaking space, by build.
	problem = strings.TrimLeft(problem, " \u00a0")
	if m := namedField.FindStringSubmatch(problem); m != nil {
		field = m[1]
	}
	return field, problem
}

// strayEnum finds an enum field whose value is no name of the enum.
func strayEnum(value any, message protoreflect.MessageDescriptor) (path, problem string) {
	object, ok := value.(map[string]any)
	if !ok || message.ParentFile().Package() == "google.protobuf" {
		return "", ""
	}
	for name, value := range object {
		field := message.Fields().ByJSONName(name)
		if field == nil {
			field = message.Fields().ByTextName(name)
		}
		if field == nil {
			continue
		}
		if path, problem := strayIn(value, field); problem != "" {
			return name + path, problem
		}
	}
	return "", ""
}

// strayIn looks into a field; the path it gives continues the field's name.
func strayIn(value any, field protoreflect.FieldDescriptor) (path, problem string) {
	switch {
	case field.IsList():
		items, _ := value.([]any)
		for i, item := range items {
			if path, problem := strayValue(item, field); problem != "" {
				return "[" + strconv.Itoa(i) + "]" + path, problem
			}
		}
		return "", ""
	case field.IsMap():
		entries, _ := value.(map[string]any)
		for key, entry := range entries {
			if path, problem := strayValue(entry, field.MapValue()); problem != "" {
				return "." + key + path, problem
			}
		}
		return "", ""
	}
	return strayValue(value, field)
}

func strayValue(value any, field protoreflect.FieldDescriptor) (path, problem string) {
	switch field.Kind() {
	case protoreflect.EnumKind:
		if name, ok := value.(string); ok {
			return "", strayName(field.Enum().Values(), name)
		}
	case protoreflect.MessageKind:
		if path, problem := strayEnum(value, field.Message()); problem != "" {
			return "." + path, problem
		}
	}
	return "", ""
}
