package request

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// JSON is a message as one reads it: in lines, and the same each time. Of null,
// and of what is absent, there is none.
func JSON(m proto.Message) string {
	switch v := m.(type) {
	case *structpb.Value:
		if _, null := v.GetKind().(*structpb.Value_NullValue); v == nil || v.GetKind() == nil || null {
			return ""
		}
	case *structpb.Struct:
		if v == nil {
			return ""
		}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, Line(m), "", "  "); err != nil {
		return ""
	}
	return b.String()
}

// Line is a message as JSON in one line; null when it has no such form.
func Line(m proto.Message) []byte {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return []byte("null")
	}
	// The encoder puts spaces where it likes.
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return []byte("null")
	}
	return b.Bytes()
}
