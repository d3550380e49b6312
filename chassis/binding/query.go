package binding

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sabha.dev/chassis/fault"
)

// checkQuery refuses query parameters that do not fit the fields they name, all
// of them at once and by the names that the client used (specification 11.5).
// The generated handlers would refuse them too, but with a sentence for Go
// programmers. Parameters that name no field are ignored.
func checkQuery(raw string, message protoreflect.MessageDescriptor) error {
	if raw == "" {
		return nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return fault.Invalid("query", "the query cannot be read; percent-encode its values")
	}
	var fields []fault.Field
	seen := map[protoreflect.Name]string{}
	for name, given := range values {
		field := message.Fields().ByJSONName(name)
		if field == nil {
			field = message.Fields().ByTextName(name)
		}
		if field == nil || field.IsList() || field.IsMap() {
			continue
		}
		if other, twice := seen[field.Name()]; twice {
			fields = append(fields, fault.Field{Path: name, Problem: "names the same parameter as " + other + "; give one of them"})
			continue
		}
		seen[field.Name()] = name
		if len(given) > 1 {
			fields = append(fields, fault.Field{Path: name, Problem: "is given more than once"})
			continue
		}
		if problem := misfit(field, given[0]); problem != "" {
			fields = append(fields, fault.Field{Path: name, Problem: problem})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	e := fault.Invalid(fields[0].Path, "%s", fields[0].Problem)
	e.Fields = fields
	return e
}

// misfit says why a value is none of the field; it is empty for one that fits.
func misfit(field protoreflect.FieldDescriptor, value string) string {
	switch field.Kind() {
	case protoreflect.Int32Kind:
		if _, err := strconv.ParseInt(value, 10, 32); err != nil {
			return "must be a whole number of at most 32 bits, not " + strconv.Quote(value)
		}
	case protoreflect.BoolKind:
		if _, err := strconv.ParseBool(value); err != nil {
			return "must be true or false, not " + strconv.Quote(value)
		}
	case protoreflect.EnumKind:
		return misfitEnum(field.Enum().Values(), value)
	case protoreflect.MessageKind:
		if field.Message().FullName() != "google.protobuf.Timestamp" {
			return "cannot be a query parameter"
		}
		if _, err := time.Parse(time.RFC3339Nano, value); err != nil {
			return "must be a time such as 2025-11-09T10:30:00Z, not " + strconv.Quote(value)
		}
	}
	return ""
}

func misfitEnum(known protoreflect.EnumValueDescriptors, value string) string {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil && known.ByNumber(protoreflect.EnumNumber(n)) != nil {
		return ""
	}
	return strayName(known, value)
}

// strayName says that a value is none of an enum's names; it is empty for one
// that is.
func strayName(known protoreflect.EnumValueDescriptors, value string) string {
	if known.ByName(protoreflect.Name(value)) != nil {
		return ""
	}
	var names []string
	for i := range known.Len() {
		if v := known.Get(i); v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	return "must be one of " + strings.Join(names, ", ") + ", not " + strconv.Quote(value)
}
