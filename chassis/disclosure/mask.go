package disclosure

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sabha.dev/chassis/sensitive"
)

// masked gives the form in which a value of a class may be shown: enough to tell it from
// others, not to use it. Of what is not of the class it shows nothing.
func masked(class sensitive.Class, value string) string {
	switch class {
	case sensitive.Card:
		return keep(value, 0, 4)
	case sensitive.IBAN:
		return keep(value, 2, 4)
	case sensitive.Phone:
		return keep(value, 0, 2)
	case sensitive.Email:
		name, host, ok := strings.Cut(value, "@")
		if !ok || name == "" || strings.ContainsAny(name, " ") {
			break
		}
		first, _ := utf8.DecodeRuneInString(name)
		_, top, _ := cutLast(host, ".")
		return string(first) + "***[at]***." + top
	}
	return "[masked:" + string(class) + "]"
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// keep replaces letters and digits by stars but for the first and last few.
func keep(value string, first, last int) string {
	total := 0
	for _, r := range value {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			total++
		}
	}
	if total < 2*(first+last) {
		first, last = 0, 0
	}
	n := 0
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return r
		}
		n++
		if n <= first || n > total-last {
			return r
		}
		return '*'
	}, value)
}
