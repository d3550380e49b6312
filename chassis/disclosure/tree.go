package disclosure

import (
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/sensitive"
)

// find gives the value at the keys, or nil.
func find(v *structpb.Value, keys []string) *structpb.Value {
	for _, key := range keys {
		switch x := v.GetKind().(type) {
		case *structpb.Value_StructValue:
			v = x.StructValue.GetFields()[key]
		case *structpb.Value_ListValue:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x.ListValue.GetValues()) {
				return nil
			}
			v = x.ListValue.GetValues()[i]
		default:
			return nil
		}
	}
	return v
}

// remove takes the value at the keys out of what holds it. The answer is false when
// nothing holds it.
func remove(root *structpb.Value, keys []string) bool {
	if len(keys) == 0 {
		return false
	}
	key := keys[len(keys)-1]
	switch x := find(root, keys[:len(keys)-1]).GetKind().(type) {
	case *structpb.Value_StructValue:
		delete(x.StructValue.GetFields(), key)
	case *structpb.Value_ListValue:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(x.ListValue.GetValues()) {
			x.ListValue.Values = slices.Delete(x.ListValue.Values, i, i+1)
		}
	}
	return true
}

// whole masks or tokenises all of a part's content.
func (c *crossing) whole(p *a2apb.Part, class sensitive.Class, action Action) {
	form := func(text string, number bool) string {
		if action == Tokenise {
			return c.issuer.token(Original{class, text, number})
		}
		return masked(class, text)
	}
	switch content := p.GetContent().(type) {
	case *a2apb.Part_Text:
		content.Text = form(content.Text, false)
	case *a2apb.Part_Raw:
		content.Raw = []byte(form(string(content.Raw), false))
	case *a2apb.Part_Url:
		content.Url = form(content.Url, false)
	case *a2apb.Part_Data:
		leaves(content.Data, form)
	}
}

// leaves replaces the texts and numbers of a JSON value.
func leaves(v *structpb.Value, form func(text string, number bool) string) {
	switch x := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		x.StringValue = form(x.StringValue, false)
	case *structpb.Value_NumberValue:
		v.Kind = &structpb.Value_StringValue{StringValue: form(sensitive.Number(x.NumberValue), true)}
	case *structpb.Value_ListValue:
		for _, item := range x.ListValue.GetValues() {
			leaves(item, form)
		}
	case *structpb.Value_StructValue:
		for _, item := range x.StructValue.GetFields() {
			leaves(item, form)
		}
	}
}

// metadata decides about what a part carries beside its content.
func (c *crossing) metadata(p *a2apb.Part) {
	v := structpb.NewStructValue(p.GetMetadata())
	if !c.data("metadata", v) {
		p.Metadata = nil
	}
}
