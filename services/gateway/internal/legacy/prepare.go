package legacy

import (
	"encoding/base64"
	"fmt"

	oldpb "github.com/a2aproject/a2a-go/a2apb"

	"sabha.dev/chassis/fault"
)

// prepare checks a message of 0.3 in Protobuf, and makes the bytes of its files what
// the SDK's conversion reads.
//
// The field holds bytes, but the Python and the Go SDK put base64 into it; the
// JavaScript SDK puts the bytes. Bytes that are no base64 are taken for themselves.
func prepare(q *oldpb.SendMessageRequest) error {
	m := q.GetRequest()
	if m == nil {
		return fault.Invalid("message", "is missing")
	}
	if m.GetRole() != oldpb.Role_ROLE_USER {
		return fault.Invalid("message.role", "must be ROLE_USER in a message to an agent")
	}
	for i, p := range m.GetParts() {
		file := p.GetFile()
		raw, isRaw := file.GetFile().(*oldpb.FilePart_FileWithBytes)
		switch {
		case p.GetPart() == nil, file != nil && file.GetFile() == nil:
			return fault.Invalid(fmt.Sprintf("message.content[%d]", i), "has no content; set one of text, file and data")
		case isRaw:
			if _, err := base64.StdEncoding.DecodeString(string(raw.FileWithBytes)); err != nil {
				raw.FileWithBytes = base64.StdEncoding.AppendEncode(nil, raw.FileWithBytes)
			}
		}
	}
	return nil
}
