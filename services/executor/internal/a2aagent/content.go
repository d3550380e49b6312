package a2aagent

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/label"
	"sabha.dev/services/executor/internal/toolhost"
)

// resultParts turns a tool's answer into parts, each labelled as untrusted: a tool
// says what it likes. The text form of a structured result is left out.
func resultParts(result toolhost.Result) ([]*a2apb.Part, error) {
	var parts []*a2apb.Part
	if result.Structured != nil {
		data, err := agent.Data(result.Structured)
		if err != nil {
			return nil, err
		}
		parts = append(parts, untrusted(data))
	}
	for _, c := range result.Content {
		p := &a2apb.Part{MediaType: c.MediaType}
		switch {
		case c.Data != nil:
			p.Content = &a2apb.Part_Raw{Raw: c.Data}
		case c.Text != "" && result.Structured != nil && sameJSON(c.Text, result.Structured):
			continue
		case c.Text != "":
			p.Content = &a2apb.Part_Text{Text: c.Text}
		case c.URI != "":
			p.Content = &a2apb.Part_Url{Url: c.URI}
		default:
			continue
		}
		parts = append(parts, untrusted(p))
	}
	if len(parts) == 0 {
		parts = append(parts, untrusted(agent.Text("")))
	}
	return parts, nil
}

// sameJSON tells whether a text is a serialisation of a structured result.
func sameJSON(text string, structured json.RawMessage) bool {
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(structured, &b) != nil {
		return false
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func untrusted(p *a2apb.Part) *a2apb.Part {
	return label.Labels{Integrity: label.Untrusted}.Put(p)
}
