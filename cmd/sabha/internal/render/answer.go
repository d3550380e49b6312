package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// widest is where running text wraps at the latest: longer lines are hard to read.
const widest = 100

// Artifacts draws what a task has produced: text as text, an answer's citations
// as a list of sources, other data as JSON.
func (s Style) Artifacts(list []*a2apb.Artifact) []string {
	var out []string
	for _, a := range list {
		if len(out) > 0 {
			out = append(out, "")
		}
		if name := line(a.GetName()); name != "" && len(list) > 1 {
			out = append(out, s.paint(bold, name))
		}
		out = append(out, s.Parts(a.GetParts())...)
	}
	return out
}

// Parts draws the parts of an artifact or a message.
func (s Style) Parts(parts []*a2apb.Part) []string {
	prose := s
	prose.Width = min(s.Width, widest)
	var out []string
	space := func() {
		if len(out) > 0 {
			out = append(out, "")
		}
	}
	for _, part := range parts {
		switch c := part.GetContent().(type) {
		case *a2apb.Part_Text:
			space()
			out = append(out, prose.wrap("", strings.TrimSpace(Clean(c.Text)))...)
		case *a2apb.Part_Data:
			lines := prose.data(c.Data)
			if len(lines) > 0 {
				space()
				out = append(out, lines...)
			}
		case *a2apb.Part_Url:
			space()
			out = append(out, named(part, line(c.Url)))
		case *a2apb.Part_Raw:
			space()
			out = append(out, named(part, fmt.Sprintf("%d bytes", len(c.Raw))))
		}
	}
	return out
}

func named(part *a2apb.Part, what string) string {
	name := line(part.GetFilename())
	if name == "" {
		name = "file"
	}
	if m := line(part.GetMediaType()); m != "" {
		name += " (" + m + ")"
	}
	return name + ": " + what
}

// An answer's data, as the playbooks give it, has these fields; they are drawn
// in words and everything else as JSON.
const (
	citationsField  = "citations"
	confidenceField = "confidence"
	reasonsField    = "reasons"
	methodField     = "method"
	modelField      = "model"
	reviewedField   = "reviewed"
	editedField     = "edited"
)

func (s Style) data(v *structpb.Value) []string {
	fields := v.GetStructValue().GetFields()
	if fields == nil {
		return pretty(v.AsInterface())
	}
	var out []string
	if list := fields[citationsField].GetListValue().GetValues(); len(list) > 0 {
		out = append(out, s.paint(bold, "Sources"))
		for i, c := range list {
			out = append(out, s.citation(i+1, c.GetStructValue().GetFields())...)
		}
	}
	if how := how(fields); how != "" {
		out = append(out, how)
	}
	for _, r := range fields[reasonsField].GetListValue().GetValues() {
		out = append(out, s.wrap("  - ", line(r.GetStringValue()))...)
	}
	rest := v.GetStructValue().AsMap()
	for _, known := range []string{citationsField, confidenceField, reasonsField, methodField, modelField, reviewedField, editedField} {
		delete(rest, known)
	}
	maps.DeleteFunc(rest, func(_ string, v any) bool { return v == nil || v == "" })
	if len(rest) > 0 {
		out = append(out, pretty(rest)...)
	}
	return out
}

// citation is one source: document, headings, place.
func (s Style) citation(n int, f map[string]*structpb.Value) []string {
	if marker := int(f["marker"].GetNumberValue()); marker > 0 {
		n = marker
	}
	label := line(f["document"].GetStringValue())
	for _, h := range f["heading_path"].GetListValue().GetValues() {
		label += " › " + line(h.GetStringValue())
	}
	if f["end"].GetNumberValue() > 0 {
		label += fmt.Sprintf(" (bytes %d–%d)", int(f["start"].GetNumberValue()), int(f["end"].GetNumberValue()))
	}
	return s.wrap(fmt.Sprintf("  [%d] ", n), label)
}

// how is the confidence and the way the answer was written, in one line.
func how(f map[string]*structpb.Value) string {
	var out []string
	if c, ok := f[confidenceField].GetKind().(*structpb.Value_NumberValue); ok {
		out = append(out, fmt.Sprintf("Confidence %.2f", c.NumberValue))
	}
	switch method, model := line(f[methodField].GetStringValue()), line(f[modelField].GetStringValue()); {
	case model != "":
		out = append(out, "written by "+model)
	case method == "extractive":
		out = append(out, "quoted from the sources, no model involved")
	case method != "":
		out = append(out, method)
	}
	switch {
	case f[editedField].GetBoolValue():
		out = append(out, "edited and approved by a person")
	case f[reviewedField].GetBoolValue():
		out = append(out, "approved by a person")
	}
	return strings.Join(out, "; ")
}

func pretty(v any) []string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return strings.Split(Clean(strings.TrimRight(b.String(), "\n")), "\n")
}

// JSON is a message of A2A in its JSON form on one line.
func JSON(m proto.Message) (string, error) {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	// protojson varies its spacing on purpose.
	if err := json.Compact(&b, raw); err != nil {
		return "", err
	}
	return b.String(), nil
}

// sorted gives the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
