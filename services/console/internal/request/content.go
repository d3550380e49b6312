package request

import (
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
)

// Content is what was said and made in a task.
type Content struct {
	Messages  []Message
	Artifacts []Artifact
}

// Message of the client or the agent.
type Message struct {
	ID    string
	Agent bool
	Parts []Part
}

// Artifact that an agent has made.
type Artifact struct {
	ID, Name, Description string
	// Step of the plan that made it; empty for none.
	Step  string
	Parts []Part
}

// Part of a message or an artifact: text, data, a file, or where a file is.
type Part struct {
	Text string
	// Data as JSON.
	Data string
	// File content with its Name and Type as they were given.
	File       []byte
	Name, Type string
	// Image is the type of a file that is a picture, found from its content; empty for others.
	Image string
	URL   string
	// Labels in words.
	Labels []string
}

// OfTask reads the content of a serialised A2A task.
func OfTask(raw []byte) (Content, error) {
	t := &a2apb.Task{}
	if err := proto.Unmarshal(raw, t); err != nil {
		return Content{}, err
	}
	var c Content
	for _, m := range t.GetHistory() {
		c.Messages = append(c.Messages, ofMessage(m))
	}
	if m := t.GetStatus().GetMessage(); m != nil && !slices.ContainsFunc(c.Messages, func(o Message) bool { return o.ID == m.GetMessageId() }) {
		c.Messages = append(c.Messages, ofMessage(m))
	}
	for _, a := range t.GetArtifacts() {
		c.Artifacts = append(c.Artifacts, Artifact{
			ID: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(), Step: a.GetMetadata().GetFields()[ext.Step].GetStringValue(), Parts: ofParts(a.GetParts()),
		})
	}
	return c, nil
}

func ofMessage(m *a2apb.Message) Message {
	return Message{ID: m.GetMessageId(), Agent: m.GetRole() == a2apb.Role_ROLE_AGENT, Parts: ofParts(m.GetParts())}
}

func ofParts(list []*a2apb.Part) []Part {
	parts := make([]Part, 0, len(list))
	for _, p := range list {
		part := Part{Name: p.GetFilename(), Type: p.GetMediaType(), Labels: labels(p)}
		switch p.GetContent().(type) {
		case *a2apb.Part_Text:
			part.Text = p.GetText()
		case *a2apb.Part_Data:
			part.Data = JSON(p.GetData())
		case *a2apb.Part_Raw:
			part.File = p.GetRaw()
			part.Image = raster(part.File)
		case *a2apb.Part_Url:
			part.URL = p.GetUrl()
		}
		parts = append(parts, part)
	}
	return parts
}

func labels(p *a2apb.Part) []string {
	l := label.Of(p)
	return words(&plannerv1.Labels{Integrity: string(l.Integrity), Confidentiality: string(l.Confidentiality), Classes: l.Classes, Tokenised: l.Tokenised})
}

// rasters are the pictures that browsers draw without running anything in them.
var rasters = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// maxRaster bounds a picture that is shown on a page, bytes.
const maxRaster = 4 << 20

// raster is the type of a picture by its content, whatever it says of itself.
func raster(file []byte) string {
	if kind := http.DetectContentType(file); slices.Contains(rasters, kind) && len(file) <= maxRaster {
		return kind
	}
	return ""
}

// Words of the parts that are text.
func Words(parts []Part) string {
	var words []string
	for _, p := range parts {
		if p.Text != "" {
			words = append(words, p.Text)
		}
	}
	return strings.Join(words, "\n")
}
