package a2aagent

import (
	"fmt"
	"sort"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"

	"sabha.dev/services/security/internal/screening"
)

// textOf gives all that the parts of a message say, as one text: text parts, data
// parts (as JSON, then their strings as they read), files that are text, addresses and
// names of files. Files of other kinds are not read.
func textOf(parts []*a2apb.Part) (string, error) {
	if len(parts) == 0 {
		return "", fault.Invalid("message.parts", "there is nothing to judge; send the parts of the message under test")
	}
	var b strings.Builder
	for i, p := range parts {
		if err := writePart(&b, p); err != nil {
			return "", fault.Invalid(fmt.Sprintf("message.parts[%d]", i), "the data cannot be read as JSON").Because(err)
		}
		if b.Len() > screening.MaxBytes {
			return "", fault.New(fault.TooLarge, "the message is longer than the %d bytes that can be screened; send it in smaller messages", screening.MaxBytes)
		}
	}
	return b.String(), nil
}

func writePart(b *strings.Builder, p *a2apb.Part) error {
	line := func(s string) {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	line(p.GetFilename())
	switch c := p.GetContent().(type) {
	case *a2apb.Part_Text:
		line(c.Text)
	case *a2apb.Part_Url:
		line(c.Url)
	case *a2apb.Part_Raw:
		if readable(agent.MediaType(p)) {
			line(string(c.Raw))
		}
	case *a2apb.Part_Data:
		raw, err := c.Data.MarshalJSON()
		if err != nil {
			return err
		}
		line(string(raw))
		stringsOf(c.Data, line)
	}
	return nil
}

func readable(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "json") || strings.HasSuffix(mediaType, "xml") ||
		strings.HasSuffix(mediaType, "yaml") || strings.HasSuffix(mediaType, "javascript")
}

// stringsOf gives the strings that JSON writes with escapes: they read
// differently than they are written.
func stringsOf(v *structpb.Value, line func(string)) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if strings.ContainsAny(k.StringValue, "\n\t\"\\<>&\u2028") {
			line(k.StringValue)
		}
	case *structpb.Value_ListValue:
		for _, e := range k.ListValue.GetValues() {
			stringsOf(e, line)
		}
	case *structpb.Value_StructValue:
		keys := make([]string, 0, len(k.StructValue.GetFields()))
		for key := range k.StructValue.GetFields() {
			keys = append(keys, key)
		}
		// In order, so that the same data has the same digest.
		sort.Strings(keys)
		for _, key := range keys {
			stringsOf(k.StructValue.GetFields()[key], line)
		}
	}
}
