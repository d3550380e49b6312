package cardsig

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// signaturesMember is not signed itself.
const signaturesMember = "signatures"

// present leaves members out of a card that say nothing: those with the default value
// of a field that is neither required nor told apart from unset.
func present(card map[string]any) {
	presentIn(card, (&a2apb.AgentCard{}).ProtoReflect().Descriptor())
}

func presentIn(tree map[string]any, message protoreflect.MessageDescriptor) {
	if message.FullName().Parent() == "google.protobuf" {
		return // its JSON is not that of its fields
	}
	for name, value := range tree {
		field := message.Fields().ByJSONName(name)
		switch {
		case field == nil:
		case value == nil, silent(field, value):
			delete(tree, name)
		default:
			presentUnder(value, field)
		}
	}
}

// presentUnder goes on in what a field holds: a message, or a list or map of them.
func presentUnder(value any, field protoreflect.FieldDescriptor) {
	if field.IsMap() {
		field = field.MapValue()
		if values, ok := value.(map[string]any); ok {
			for _, v := range values {
				presentUnder(v, field)
			}
		}
		return
	}
	if field.Message() == nil {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			if tree, ok := e.(map[string]any); ok {
				presentIn(tree, field.Message())
			}
		}
	case map[string]any:
		presentIn(v, field.Message())
	}
}

// silent tells whether a member says no more than its absence.
func silent(field protoreflect.FieldDescriptor, value any) bool {
	behaviours, _ := proto.GetExtension(field.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	if slices.Contains(behaviours, annotations.FieldBehavior_REQUIRED) {
		return false
	}
	switch v := value.(type) {
	case []any:
		return field.IsList() && len(v) == 0
	case map[string]any:
		return field.IsMap() && len(v) == 0
	case string:
		return !field.HasPresence() && v == ""
	case float64:
		return !field.HasPresence() && v == 0
	case bool:
		return !field.HasPresence() && !v
	}
	return false
}

// reduced is what the official SDKs sign and verify: the card as their types hold it,
// without anything empty. It covers less than [Canonical]: what the types do not know is
// not in it, so nothing is trusted for it here.
func reduced(card []byte) ([]byte, error) {
	typed := &a2apb.AgentCard{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(card, typed); err != nil {
		return nil, err
	}
	typed.Signatures = nil
	raw, err := protojson.Marshal(typed)
	if err != nil {
		return nil, err
	}
	tree, err := parse(raw)
	if err != nil {
		return nil, err
	}
	without, _ := withoutEmpty(tree)
	return appendValue(nil, without), nil
}

// withoutEmpty drops empty text, lists and objects, from within outwards.
func withoutEmpty(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, e := range v {
			if e, some := withoutEmpty(e); some {
				kept[name] = e
			}
		}
		return kept, len(kept) > 0
	case []any:
		kept := []any{}
		for _, e := range v {
			if e, some := withoutEmpty(e); some {
				kept = append(kept, e)
			}
		}
		return kept, len(kept) > 0
	case string:
		return v, v != ""
	}
	return v, v != nil
}
