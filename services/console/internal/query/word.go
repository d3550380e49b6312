package query

import (
	"strings"
	"unicode"
)

// word of a query: text, or a key and its value.
type word struct {
	raw, key, value string
	quoted          bool
}

// split takes a query apart at its spaces. What stands in quotes is one value; in
// it, a backslash takes the next character as it is.
func split(s string) ([]word, error) {
	var words []word
	rest := strings.TrimSpace(s)
	for rest != "" {
		var w word
		if key, after, ok := strings.Cut(rest, ":"); ok && isKey(key) {
			w.key, rest = strings.ToLower(key), after
		}
		value, n, quoted, ok := take(rest)
		if !ok {
			return nil, wrong(rest, `A quote is not closed; end it with ".`)
		}
		w.value, w.quoted = value, quoted
		w.raw = rest[:n]
		if w.key != "" {
			w.raw = w.key + ":" + w.raw
		}
		words = append(words, w)
		rest = strings.TrimSpace(rest[n:])
	}
	return words, nil
}

// isKey tells a key from text with a colon in it, such as a time or an address.
func isKey(s string) bool {
	if s == "" {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return !strings.EqualFold(s, "http") && !strings.EqualFold(s, "https") && !strings.EqualFold(s, "urn")
}

// take gives the value at the beginning of a text, and how long it is there.
func take(s string) (value string, n int, quoted, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
			return s[:end], end, false, true
		}
		return s, len(s), false, true
	}
	var b strings.Builder
	escaped := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case escaped:
			b.WriteByte(c)
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			return b.String(), i + 1, true, true
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false, false
}

// quote writes a value so that it is read as it is.
func quote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\\' }) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// text writes what is looked for: as it is when it is read as text, else in quotes.
func text(s string) string {
	words, err := split(s)
	plain := err == nil
	var all []string
	for _, w := range words {
		plain = plain && w.key == "" && !w.quoted && !strings.EqualFold(w.value, "retrying")
		all = append(all, w.value)
	}
	if plain && strings.Join(all, " ") == s {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
