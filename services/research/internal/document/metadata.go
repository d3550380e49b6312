package document

import (
	"fmt"
	"strings"
	"time"

	"sabha.dev/chassis/label"
)

// read takes the scalar and list fields of front matter and returns the
// title among them. Nested maps are no filter values and are left out.
func (m Metadata) read(fields map[string]any) (title string) {
	for key, value := range fields {
		values, ok := value.([]any)
		if !ok {
			values = []any{value}
		}
		for _, v := range values {
			if s, ok := scalar(v); ok {
				m.add(key, s)
			}
		}
	}
	if t := m["title"]; len(t) > 0 {
		title = t[0]
	}
	return title
}

func (m Metadata) add(key, value string) {
	key, value = strings.ToLower(clean(key)), clean(value)
	if key != "" && value != "" {
		m[key] = append(m[key], value)
	}
}

// clean drops what an escape can put into a value but no store takes.
func clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", ""))
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case time.Time:
		return v.Format(time.DateOnly), true
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// Confidentiality is the strictest of those that the document states, empty where it
// states none. One that is not known is the strictest of all.
func (m Metadata) Confidentiality() label.Confidentiality {
	return Strictest(m["confidentiality"])
}

// Strictest of the confidentialities that documents state.
func Strictest(stated []string) label.Confidentiality {
	var l label.Labels
	for _, s := range stated {
		l = label.Join(l, label.Labels{Confidentiality: label.Confidentiality(strings.ToLower(s))})
	}
	return l.Confidentiality
}
