package a2aagent

import (
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// tail is what is held back of an artifact that comes in chunks: the end of its text, as
// long as that may be the beginning of a token, which is resolved when it is whole. It is
// shorter than a token, however long the artifact is.
type tail struct {
	// held follows the newest text, a part like that.
	held string
	part *a2apb.Part
	// head is the artifact of the first chunk while nothing of it has been told.
	head *a2apb.Artifact
}

// take takes the parts of a chunk and gives those that can be told. open gives how many
// bytes at the end of a text may be the beginning of a token. last flushes what is held.
func (t *tail) take(parts []*a2apb.Part, last bool, open func(string) int) []*a2apb.Part {
	var out []*a2apb.Part
	for _, p := range parts {
		text, ok := p.GetContent().(*a2apb.Part_Text)
		if !ok {
			out = append(t.flush(out), p)
			t.part = nil
			continue
		}
		s := text.Text
		if t.part != nil && t.part.GetMediaType() == p.GetMediaType() && p.GetMetadata() == nil {
			s = t.held + s
		} else {
			out, t.part = t.flush(out), p
		}
		n := open(s)
		t.held = s[len(s)-n:]
		if now := s[:len(s)-n]; now != "" || n == 0 {
			out = append(out, t.says(now))
		}
	}
	if last {
		out = t.flush(out)
	}
	return out
}

// flush tells what is held: behind the text that it follows where that is told now.
func (t *tail) flush(out []*a2apb.Part) []*a2apb.Part {
	if t.held == "" {
		return out
	}
	held := t.held
	t.held = ""
	if len(out) > 0 {
		if before, ok := out[len(out)-1].GetContent().(*a2apb.Part_Text); ok && out[len(out)-1].GetMediaType() == t.part.GetMediaType() {
			before.Text += held
			return out
		}
	}
	return append(out, t.says(held))
}

// says is a part like the newest with a text of its own.
func (t *tail) says(text string) *a2apb.Part {
	p := &a2apb.Part{Content: &a2apb.Part_Text{Text: text}, Filename: t.part.GetFilename(), MediaType: t.part.GetMediaType()}
	if t.part.GetMetadata() != nil {
		p.Metadata = proto.CloneOf(t.part.GetMetadata())
	}
	return p
}
