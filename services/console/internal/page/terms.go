package page

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/person"
)

// scheme is what the browser may draw its own parts in.
func scheme(theme string) string {
	if theme == "" {
		return "light dark"
	}
	return theme
}

// roles as they are told the person: an administrator has all others too.
func roles(p *person.Person) string {
	if p.Has(identity.Admin) {
		return "admin"
	}
	return strings.Join(p.Roles(), ", ")
}

// admin tells whether the person keeps the accounts of others.
func (f Frame) admin() bool { return f.Person != nil && f.Person.Has(identity.Admin) }

// initials stand for a person where there is no room for the name.
func initials(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '.' || r == '-' || r == '@' }) {
		r, _ := utf8.DecodeRuneInString(word)
		b.WriteString(strings.ToUpper(string(r)))
		if b.Len() >= 2 {
			break
		}
	}
	return b.String()
}

func pressed(on bool) string { return strconv.FormatBool(on) }

// titled begins a word of ours with a capital.
func titled(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func toneClass(tone string) string {
	if tone == "" {
		return ""
	}
	return "tone-" + tone
}
