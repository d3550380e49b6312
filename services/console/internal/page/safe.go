package page

import (
	"fmt"
	"strings"
	"unicode"
)

// safe makes visible what would have a reader see something else than what is
// there: signs that reorder a text (Unicode Standard Annex 9, 2) and controls. Ends of line and
// tabs stay.
func safe(s string) string {
	if strings.IndexFunc(s, deceptive) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if deceptive(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func deceptive(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return unicode.IsControl(r)
}
