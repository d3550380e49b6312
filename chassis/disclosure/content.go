package disclosure

import (
	"encoding/json"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/sensitive"
)

// readable tells whether a file is text: by its media type, and where it has none by its
// content.
func readable(p *a2apb.Part) bool {
	raw := p.GetRaw()
	if !utf8.Valid(raw) || strings.IndexByte(string(raw), 0) >= 0 {
		return false
	}
	kind, _, err := mime.ParseMediaType(p.GetMediaType())
	if err != nil || kind == "" || kind == "application/octet-stream" {
		return true
	}
	main, sub, _ := strings.Cut(kind, "/")
	if main == "text" || strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml") || strings.HasSuffix(sub, "+yaml") {
		return true
	}
	switch sub {
	case "json", "x-ndjson", "ndjson", "jsonl", "xml", "yaml", "x-yaml", "toml", "csv", "sql", "javascript", "x-www-form-urlencoded", "x-sh", "x-pem-file", "rtf", "graphql":
		return main == "application"
	}
	return false
}

// document decides about a text that may be JSON. What is JSON is decided about by path.
// It leaves byte for byte as it is when nothing in it changes.
func (c *crossing) document(text string) string {
	if t := strings.TrimSpace(text); t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t)) {
		v := &structpb.Value{}
		if v.UnmarshalJSON([]byte(t)) == nil {
			before := len(c.findings)
			keep := c.data("", v)
			if !c.changed(before) {
				return text
			}
			if !keep {
				return ""
			}
			if out, err := v.MarshalJSON(); err == nil {
				return string(out)
			}
		}
	}
	return c.text("", text)
}

// changed tells whether a finding since then changes what leaves.
func (c *crossing) changed(since int) bool {
	for _, f := range c.findings[since:] {
		if f.Action != Allow {
			return true
		}
	}
	return false
}

// text decides about a text at a path.
func (c *crossing) text(path, text string) string {
	return c.replace(path, text, sensitive.Text(text))
}

// replace gives the text with what was found in it as it may leave.
func (c *crossing) replace(path, text string, found []sensitive.Finding) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := int64(0)
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(c.form(path, f, text[f.Start:f.End]))
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// form decides about a finding and gives the form in which its value leaves.
func (c *crossing) form(path string, f sensitive.Finding, value string) string {
	switch c.decide(path, f, value) {
	case Allow:
		return value
	case Mask:
		return masked(f.Class, value)
	case Tokenise:
		return c.issuer.token(Original{Class: f.Class, Value: value})
	}
	return ""
}

// data decides about a JSON value at a path, and changes it. The answer is false when the
// whole is dropped.
func (c *crossing) data(prefix string, v *structpb.Value) bool {
	keep, first := true, len(c.findings)
	places := sensitive.JSON(v)
	for k := len(places) - 1; k >= 0; k-- {
		// From the last on, so that what is dropped from a list moves nothing that comes.
		before := len(c.findings)
		if !c.place(prefix, v, places[k]) {
			keep = false
		}
		slices.Reverse(c.findings[before:])
	}
	slices.Reverse(c.findings[first:])
	return keep
}

func (c *crossing) place(prefix string, root *structpb.Value, p sensitive.Place) bool {
	path := p.Path
	if prefix != "" {
		path = strings.TrimSuffix(prefix+"."+path, ".")
	}
	if p.IsKey {
		c.key(path, root, p)
		return true
	}
	v := find(root, p.Keys)
	if v == nil { // its key or what it was in has been dropped
		return true
	}
	number := false
	text := v.GetStringValue()
	if n, ok := v.GetKind().(*structpb.Value_NumberValue); ok {
		number, text = true, sensitive.Number(n.NumberValue)
	}
	if len(p.Found) == 1 && p.Found[0].Start == 0 && p.Found[0].End == int64(len(text)) {
		switch f := p.Found[0]; c.decide(path, f, text) {
		case Mask:
			v.Kind = &structpb.Value_StringValue{StringValue: masked(f.Class, text)}
		case Tokenise:
			v.Kind = &structpb.Value_StringValue{StringValue: c.issuer.token(Original{f.Class, text, number})}
		case Drop:
			return remove(root, p.Keys)
		}
		return true
	}
	before := len(c.findings)
	if out := c.replace(path, text, p.Found); c.changed(before) {
		v.Kind = &structpb.Value_StringValue{StringValue: out}
	}
	return true
}

// key decides about what is in the name of a field. What does not leave as it is takes
// its value along only under a name of its own.
func (c *crossing) key(path string, root *structpb.Value, p sensitive.Place) {
	name := p.Keys[len(p.Keys)-1]
	before := len(c.findings)
	out := c.replace(path, name, p.Found)
	parent := find(root, p.Keys[:len(p.Keys)-1]).GetStructValue()
	if parent == nil || !c.changed(before) {
		return
	}
	v := parent.Fields[name]
	delete(parent.Fields, name)
	if _, taken := parent.Fields[out]; strings.TrimSpace(out) == "" || taken || v == nil {
		return
	}
	parent.Fields[out] = v
}
