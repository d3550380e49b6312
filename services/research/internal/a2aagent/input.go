package a2aagent

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/retrieval"
)

// input is what a message asks for and where in the message it stands.
type input struct {
	retrieval.Query
	paths map[string]string // field to its path in the message
}

// read takes the query from the first data part, or from the text. A text
// beside data is the query when the data has none.
func read(m *a2apb.Message, limit, most int) (input, error) {
	in := input{
		Query: retrieval.Query{Text: agent.TextOf(m.GetParts()), Limit: limit, Filters: map[string][]string{}, Labels: label.Of(m.GetParts()...)},
		paths: map[string]string{"query": "message.parts"},
	}
	for i, p := range m.GetParts() {
		if p.GetData() == nil {
			continue
		}
		base := fmt.Sprintf("message.parts[%d].data", i)
		fields, ok := p.GetData().GetKind().(*structpb.Value_StructValue)
		if !ok {
			return in, fault.Invalid(base, "must be an object with a query")
		}
		for _, key := range slices.Sorted(maps.Keys(fields.StructValue.GetFields())) {
			if err := in.field(key, base+"."+key, fields.StructValue.GetFields()[key], most); err != nil {
				return in, err
			}
		}
		if in.Text == "" {
			in.paths["query"] = base + ".query"
		}
		break
	}
	return in, nil
}

func (in *input) field(key, path string, v *structpb.Value, most int) error {
	in.paths[key] = path
	switch key {
	case "action":
		if a := v.GetStringValue(); a != Search && a != "research" && a != Investigate {
			return fault.Invalid(path, "must be search, research or investigate")
		}
	case "query":
		s, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return fault.Invalid(path, "must be text")
		}
		in.Text = s.StringValue
	case "limit":
		n, ok := v.GetKind().(*structpb.Value_NumberValue)
		if !ok || n.NumberValue != math.Trunc(n.NumberValue) || n.NumberValue < 1 || n.NumberValue > float64(most) {
			return fault.Invalid(path, "must be a whole number from 1 to %d", most)
		}
		in.Limit = int(n.NumberValue)
	case "min_confidence":
		n, ok := v.GetKind().(*structpb.Value_NumberValue)
		if !ok || !(n.NumberValue >= 0 && n.NumberValue <= 1) {
			return fault.Invalid(path, "must be a number from 0 to 1")
		}
		in.MinConfidence = n.NumberValue
	case "since", "until":
		day, err := retrieval.ParseDay(v.GetStringValue())
		if err != nil {
			return fault.Invalid(path, "must be a day such as 2026-01-31, or a time by RFC 3339")
		}
		if key == "since" {
			in.Since = day
		} else {
			in.Until = day
		}
	case "kind", "product", "environment":
		return in.filter(key, path, v)
	case "filters":
		object, ok := v.GetKind().(*structpb.Value_StructValue)
		if !ok {
			return fault.Invalid(path, "must be an object of metadata keys and the values wanted")
		}
		for _, name := range slices.Sorted(maps.Keys(object.StructValue.GetFields())) {
			if err := in.filter(name, path+"."+name, object.StructValue.GetFields()[name]); err != nil {
				return err
			}
		}
	default:
		return fault.Invalid(path, "is not known; the data takes action, query, limit, min_confidence, since, until, kind, product, environment and filters")
	}
	return nil
}

// filter adds a wanted value or a list of them.
func (in *input) filter(key, path string, v *structpb.Value) error {
	values := []*structpb.Value{v}
	if list, ok := v.GetKind().(*structpb.Value_ListValue); ok {
		values = list.ListValue.GetValues()
	}
	var wanted []string
	for _, v := range values {
		switch k := v.GetKind().(type) {
		case *structpb.Value_StringValue:
			wanted = append(wanted, strings.TrimSpace(k.StringValue))
		case *structpb.Value_NumberValue:
			wanted = append(wanted, strconv.FormatFloat(k.NumberValue, 'f', -1, 64))
		case *structpb.Value_BoolValue:
			wanted = append(wanted, strconv.FormatBool(k.BoolValue))
		default:
			return fault.Invalid(path, "must be a text, a number, true or false, or a list of them")
		}
	}
	if len(wanted) == 0 {
		return fault.Invalid(path, "is an empty list; leave the filter out to take everything")
	}
	in.Filters[strings.ToLower(key)] = wanted
	return nil
}

// locate puts the path in the message on a fault that names a query's field.
func (in *input) locate(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) != 1 {
		return err
	}
	path, ok := in.paths[f.Fields[0].Path]
	if !ok {
		return err
	}
	return fault.Invalid(path, "%s", f.Fields[0].Problem)
}
