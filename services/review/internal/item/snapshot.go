package item

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Snapshot is everything that a decision rests on, as it was when the item was made.
type Snapshot struct {
	Content    json.RawMessage `json:"content"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	Title      string          `json:"title"`
	Kind       string          `json:"kind"`
	Effect     string          `json:"effect"`
	Reasons    []string        `json:"reasons,omitempty"`
	Confidence *float64        `json:"confidence,omitempty"`
	Sources    []Source        `json:"sources,omitempty"`
	Labels     json.RawMessage `json:"labels,omitempty"`
	Request    string          `json:"request"`
	Plan       json.RawMessage `json:"plan,omitempty"`
	Context    json.RawMessage `json:"context,omitempty"`
	Product    string          `json:"product"`
	Risk       string          `json:"risk"`
	Playbook   string          `json:"playbook"`
	Step       string          `json:"step"`
}

// Source is what a claim of the content rests on.
type Source struct {
	Title    string `json:"title,omitempty"`
	Document string `json:"document,omitempty"`
	Location string `json:"location,omitempty"`
	Text     string `json:"text,omitempty"`
}

// Deterministic gives JSON in the one form that digests and comparisons use: no
// spaces, the keys of objects sorted, numbers as ECMAScript writes them.
func Deterministic(raw []byte) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return encode(v)
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Encode gives the snapshot as it is stored, and its digest: SHA-256, hex.
func (s *Snapshot) Encode() (body []byte, digest string, err error) {
	raw, err := encode(s)
	if err == nil {
		body, err = Deterministic(raw)
	}
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	return body, hex.EncodeToString(sum[:]), nil
}

// chained is the digest of what had a digest before something was added to it.
func chained(digest string, added []byte) string {
	sum := sha256.Sum256(append([]byte(digest+"\n"), added...))
	return hex.EncodeToString(sum[:])
}

// BatchKey is the same for items that can be decided alike: those of one kind, step
// and form of content.
func (s *Snapshot) BatchKey() string {
	var content any
	_ = json.Unmarshal(s.Content, &content) // it was written by Encode
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s", s.Kind, s.Playbook, s.Step, form(content)))
	return hex.EncodeToString(sum[:8])
}

// form is the types of a JSON value: of an object those of its fields, of a list
// those that its elements have.
func form(v any) string {
	switch v := v.(type) {
	case map[string]any:
		fields := make([]string, 0, len(v))
		for name, field := range v {
			fields = append(fields, fmt.Sprintf("%q:%s", name, form(field)))
		}
		slices.Sort(fields)
		return "{" + strings.Join(fields, ",") + "}"
	case []any:
		var forms []string
		for _, e := range v {
			forms = append(forms, form(e))
		}
		slices.Sort(forms)
		return "[" + strings.Join(slices.Compact(forms), "|") + "]"
	}
	return kindOf(v)
}

// kindOf is the type of a JSON value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}
