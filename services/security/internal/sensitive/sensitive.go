// Package sensitive recognises data that must be handled with care: secrets,
// account and card numbers, contact data. It names kinds and counts, never values.
package sensitive

import (
	"regexp"
	"sort"
	"strings"
)

// Kinds of sensitive data.
const (
	APIKey     = "api-key"
	PrivateKey = "private-key"
	Token      = "access-token"
	Password   = "password"
	Card       = "payment-card"
	IBAN       = "iban"
	Email      = "email-address"
	Phone      = "phone-number"
)

// Class is one kind that was found and how often.
type Class struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

type detector struct {
	kind    string
	pattern *regexp.Regexp
	// valid decides on a match, nil for always.
	valid func(string) bool
}

// Finder finds sensitive data. It is immutable and safe for concurrent use.
type Finder struct{ detectors []detector }

// New makes a finder of all kinds.
func New() *Finder {
	return &Finder{detectors: []detector{
		{kind: PrivateKey, pattern: regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
		{kind: APIKey, pattern: regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,})`)},
		{kind: Token, pattern: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|\b[Bb]earer\s+[A-Za-z0-9._~+/-]{20,}`)},
		{kind: Password, pattern: regexp.MustCompile(`(?i)\b(password|passwd|pwd|passwort|contraseña|mot de passe)\s*(is|ist|es|est|[:=])\s*\S{4,}`)},
		{kind: IBAN, pattern: regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{2,4}){3,8}\b`), valid: iban},
		{kind: Card, pattern: regexp.MustCompile(`\b[0-9]([ -]?[0-9]){12,18}\b`), valid: luhn},
		{kind: Email, pattern: regexp.MustCompile(`\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){0,5}\.[A-Za-z]{2,24}\b`)},
		{kind: Phone, pattern: regexp.MustCompile(`(^|[\s(])\+[0-9]{1,3}([ /()-]?[0-9]){7,12}\b`)},
	}}
}

// Find gives the kinds in a text in alphabetical order. Its time is linear in the text.
func (f *Finder) Find(text string) []Class {
	out := []Class{}
	for _, d := range f.detectors {
		n := 0
		for _, m := range d.pattern.FindAllString(text, -1) {
			if d.valid == nil || d.valid(m) {
				n++
			}
		}
		if n > 0 {
			out = append(out, Class{Kind: d.kind, Count: n})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Kind < out[j].Kind })
	return out
}

// luhn checks the check digit of a card number (ISO/IEC 7812-1).
func luhn(s string) bool {
	sum, n := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if n%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		n++
	}
	return sum > 0 && sum%10 == 0
}

// iban checks the check digits of an account number (ISO 13616, modulo 97). The
// match may run on into following words, so shorter readings are tried too.
func iban(s string) bool {
	compact := strings.ReplaceAll(s, " ", "")
	for n := min(len(compact), 34); n >= 15; n-- {
		if ibanExact(compact[:n]) {
			return true
		}
	}
	return false
}

func ibanExact(s string) bool {
	r := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = (r*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			r = (r*100 + int(c-'A') + 10) % 97
		}
	}
	return r == 1
}
