package mcptools

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/tool"
)

// plainParts makes parts of text and data.
func plainParts(m *a2apb.Message, arguments json.RawMessage) error {
	var in struct {
		Text      string          `json:"text"`
		Data      json.RawMessage `json:"data"`
		ContextID string          `json:"context_id"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return err
	}
	m.ContextId = in.ContextID
	if in.Text != "" {
		m.Parts = append(m.Parts, agent.Text(in.Text))
	}
	if in.Data != nil {
		part, err := dataPart(in.Data)
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, part)
	}
	return nil
}

// dataPart makes a part of JSON. A2A holds numbers as doubles: one that would become
// another is refused.
func dataPart(raw json.RawMessage) (*a2apb.Part, error) {
	value, err := tool.Decode(raw)
	if err != nil {
		return nil, fault.Invalid("arguments", "%s", err)
	}
	if path, ok := inexact(value, ""); ok {
		return nil, fault.Invalid(path, "is a number that agents cannot be told exactly; send it as a string")
	}
	v := &structpb.Value{}
	if err := v.UnmarshalJSON(raw); err != nil {
		return nil, fault.Invalid("arguments", "cannot be passed on").Because(err)
	}
	return &a2apb.Part{Content: &a2apb.Part_Data{Data: v}, MediaType: "application/json"}, nil
}

// inexact finds an integer that a double does not hold, or a number that is too large.
func inexact(value any, path string) (string, bool) {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		whole := !strings.ContainsAny(v.String(), ".eE") && v.String() != "-0"
		return path, err != nil || (whole && strconv.FormatFloat(f, 'f', -1, 64) != v.String())
	case map[string]any:
		for key, item := range v {
			if at, ok := inexact(item, path+"/"+key); ok {
				return at, true
			}
		}
	case []any:
		for i, item := range v {
			if at, ok := inexact(item, fmt.Sprintf("%s/%d", path, i)); ok {
				return at, true
			}
		}
	}
	return "", false
}
