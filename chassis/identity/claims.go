package identity

import "strings"

// Claims of a token by name. A path is a name, with dots where one claim is within
// another, such as realm_access.roles; a claim with dots in its own name, such as a URL,
// goes before.
type Claims map[string]any

// Text is the claim of a path; empty when there is none or it is no text.
func (c Claims) Text(path string) string {
	s, _ := c.at(path).(string)
	return s
}

// List is the claim of a path that is a list of texts, or a text with spaces.
func (c Claims) List(path string) []string {
	switch v := c.at(path).(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var all []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

func (c Claims) at(path string) any {
	if v, ok := c[path]; ok {
		return v
	}
	var v any = map[string]any(c)
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}
