package registry

import (
	"strings"
	"unicode"

	"sabha.dev/chassis/fault"

	"sabha.dev/services/partners/internal/partner"
)

// Filter of a search. What is zero does not narrow it.
type Filter struct {
	// Capability is the id of a skill, or a word of one.
	Capability string
	// Organisation by words of its name.
	Organisation string
	// Query are words that begin words of name, description, tags or skills; all have to be there.
	Query string
	// Tags that all have to be there.
	Tags       []string
	OnlineOnly bool
	MinTrust   float64
	States     []partner.State
	// Discoverable leaves out those that searches may not find.
	Discoverable bool
	// Callable leaves out those that plans may not call.
	Callable bool
	// Offline leaves out those that answered, or were never asked; Changed those of whose
	// card no change waits.
	Offline, Changed bool
	// After is the last of the page before.
	After *Key
	Limit int
}

// Key is the place of a partner in a list: what is trusted most comes first.
type Key struct {
	Trust float64
	ID    string
}

// Term of a search: exact, or the beginning of one.
type Term struct {
	Text   string
	Prefix bool
}

// Terms are those that a partner must have to be found.
func (f Filter) Terms() []Term {
	var all []Term
	if c := fold(f.Capability); c != "" {
		all = append(all, Term{Text: "c:" + c})
	}
	for _, w := range Words(f.Organisation) {
		all = append(all, Term{Text: "o:" + w})
	}
	for _, t := range f.Tags {
		if t = fold(t); t != "" {
			all = append(all, Term{Text: "t:" + t})
		}
	}
	for _, w := range Words(f.Query) {
		all = append(all, Term{Text: "w:" + w, Prefix: true})
	}
	return all
}

// TermsOf are those that a partner is found by, each once.
func TermsOf(p *partner.Partner) []string {
	seen := map[string]bool{}
	var all []string
	add := func(kind, text string) {
		if text != "" && len(text) <= maxTerm && !seen[kind+text] {
			seen[kind+text] = true
			all = append(all, kind+text)
		}
	}
	words := func(texts ...string) {
		for _, t := range texts {
			for _, w := range Words(t) {
				add("w:", w)
			}
		}
	}
	for _, w := range Words(p.Organisation) {
		add("o:", w)
	}
	words(p.ID, p.Name, p.Description, p.Organisation)
	words(p.Tags...)
	for _, t := range p.Tags {
		add("t:", fold(t))
	}
	for _, s := range p.Skills {
		add("c:", fold(s.ID))
		for _, w := range Words(s.ID) {
			add("c:", w)
		}
		words(s.ID, s.Name, s.Description)
		words(s.Tags...)
		for _, t := range s.Tags {
			add("t:", fold(t))
		}
	}
	return all
}

// maxTerm bounds a term, bytes: what is longer nobody searches for.
const maxTerm = 128

// Words of a text: runs of letters and digits in small letters.
func Words(text string) []string {
	return strings.FieldsFunc(fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// Bounds of a filter.
const (
	maxText  = 200 // bytes
	maxWords = 8
	maxTags  = 8
)

// Check says what is wrong with a filter that a caller has given.
func (f Filter) Check() error {
	for _, t := range []struct{ field, text string }{{"capability", f.Capability}, {"organisation", f.Organisation}, {"query", f.Query}} {
		if len(t.text) > maxText || strings.ContainsRune(t.text, 0) || len(Words(t.text)) > maxWords {
			return fault.Invalid(t.field, "must have at most %d bytes and %d words, and no character U+0000", maxText, maxWords)
		}
	}
	for _, t := range f.Tags {
		if len(f.Tags) > maxTags || len(t) > maxText || strings.ContainsRune(t, 0) {
			return fault.Invalid("tags", "must be at most %d of at most %d bytes, without the character U+0000", maxTags, maxText)
		}
	}
	if !(f.MinTrust >= 0 && f.MinTrust <= 1) {
		return fault.Invalid("min_trust", "must be from 0 to 1")
	}
	return nil
}
