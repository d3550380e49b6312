package a2aagent

import (
	"maps"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/label"
)

// textInput is the input that becomes the text of the message to the partner.
const textInput = "text"

// outbound makes of a message to us what the partner is to get: of a data part that is an
// object its input "text" becomes a text part and the rest stays data; other parts are as
// they are. Labels stay for the border to look at.
func outbound(m *a2apb.Message) []*a2apb.Part {
	var parts []*a2apb.Part
	for _, p := range m.GetParts() {
		fields := p.GetData().GetStructValue().GetFields()
		text, ok := fields[textInput].GetKind().(*structpb.Value_StringValue)
		if !ok {
			parts = append(parts, p)
			continue
		}
		t := agent.Text(text.StringValue)
		t.Metadata = p.GetMetadata()
		parts = append(parts, t)
		if len(fields) > 1 {
			rest := maps.Clone(fields)
			delete(rest, textInput)
			parts = append(parts, &a2apb.Part{
				Content:   &a2apb.Part_Data{Data: structpb.NewStructValue(&structpb.Struct{Fields: rest})},
				MediaType: p.GetMediaType(), Metadata: p.GetMetadata(),
			})
		}
	}
	return parts
}

// ours is the prefix of what the platform's services tell each other in metadata.
const ours = "urn:sabha:"

// withoutOurs is metadata without what only the platform's services say.
func withoutOurs(s *structpb.Struct) *structpb.Struct {
	var kept map[string]*structpb.Value
	for k, v := range s.GetFields() {
		if !strings.HasPrefix(k, ours) {
			if kept == nil {
				kept = map[string]*structpb.Value{}
			}
			kept[k] = v
		}
	}
	if kept == nil {
		return nil
	}
	return &structpb.Struct{Fields: kept}
}

// bare are parts without our metadata, as they leave and as they arrive.
func bare(parts []*a2apb.Part) []*a2apb.Part {
	out := make([]*a2apb.Part, len(parts))
	for i, p := range parts {
		out[i] = &a2apb.Part{Content: p.GetContent(), Metadata: withoutOurs(p.GetMetadata()), Filename: p.GetFilename(), MediaType: p.GetMediaType()}
	}
	return out
}

// foreign are the labels of what a partner answers to a message: it is not to be believed
// by itself, and whoever may not see what was asked may not see the answer.
func foreign(asked *a2apb.Message) label.Labels {
	l := label.Of(asked.GetParts()...)
	l.Integrity = label.Untrusted
	return l
}

func labelled(parts []*a2apb.Part, l label.Labels) []*a2apb.Part {
	for _, p := range parts {
		l.Put(p)
	}
	return parts
}
