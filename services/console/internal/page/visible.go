package page

import (
	"fmt"
	"strings"
	"unicode"
)

// visible shows what a reader would be deceived by: characters that turn the
// direction of the text around or that have no shape (Unicode TR 36, 2.10.1)
// stand as their number, such as ⟦U+202E⟧. Ends of lines and tabs stay.
func visible(s string) string {
	if !strings.ContainsFunc(s, deceives) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if deceives(r) {
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func deceives(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x061C, r == 0x200E, r == 0x200F: // bidirectional controls
		return true
	case r == 0x200B || r == 0x2060 || r == 0xFEFF || r == 0x00AD || r == 0x180E: // without a shape
		return true
	case r == 0x200C || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F: // they join letters and emoji
		return false
	case r >= 0xE0000 && r <= 0xE007F: // tags
		return true
	}
	return unicode.IsControl(r)
}
