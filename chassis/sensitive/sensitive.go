// Package sensitive finds personal and secret data in text, JSON and tables: addresses of
// mail, phone numbers, payment cards, accounts, national ids, keys and passwords, addresses
// of private networks, and what the name of a field says about its value. It tells where
// something is and what it is, never the value.
//
// One pass reads each byte once. Only candidates (a run of digits, an @, a known prefix,
// a separator behind a known name) are looked at closely, with check digits where the
// form has them and the words around where it has none. A [Scanner] reads a stream in
// chunks with constant memory and finds what a scan of the whole text finds.
package sensitive

import (
	"slices"

	"sabha.dev/chassis/label"
)

// Class of sensitive data.
type Class string

// The classes. The first seven have forms of their own; the rest are told by the names of
// fields and by words around them.
const (
	Email          Class = "email"
	Phone          Class = "phone"
	Card           Class = "card"
	IBAN           Class = "iban"
	NationalID     Class = "national-id"
	Secret         Class = "secret"
	PrivateAddress Class = "private-address"

	DateOfBirth   Class = "date-of-birth"
	PersonName    Class = "person-name"
	PostalAddress Class = "postal-address"
	Finances      Class = "finances"
	BankAccount   Class = "bank-account"
	Health        Class = "health"
	Personal      Class = "personal"
)

// Classes lists all of them.
func Classes() []Class {
	return []Class{
		Email, Phone, Card, IBAN, NationalID, Secret, PrivateAddress,
		DateOfBirth, PersonName, PostalAddress, Finances, BankAccount, Health, Personal,
	}
}

// Valid tells whether there is such a class.
func (c Class) Valid() bool { return slices.Contains(Classes(), c) }

// Confidentiality that data of the class has: internal for addresses of private networks,
// which name no person, and sensitive for all others.
func (c Class) Confidentiality() label.Confidentiality {
	if c == PrivateAddress {
		return label.Internal
	}
	return label.Sensitive
}

// Finding is one piece of sensitive data in a text.
type Finding struct {
	Class Class `json:"class"`
	// Kind narrows the class, such as us-ssn or aws-access-key; it may be empty.
	Kind string `json:"kind,omitempty"`
	// Start and End are the bytes of the text that it covers, End not included.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Text finds what is sensitive in a text, in the order of the text. Findings do not
// overlap.
func Text(text string) []Finding {
	return NewScanner().all(text)
}

// all reads a whole text.
func (s *Scanner) all(text string) []Finding {
	found := s.Write([]byte(text))
	return append(found, s.Close()...)
}

// Value finds what is sensitive in the value of a field: its name counts as the words
// before it. A name that classifies its value gives one finding over the whole value.
func Value(name, value string) []Finding {
	s := NewScanner()
	w, _ := s.name(name)
	s.field(&w)
	return s.all(value)
}

// ClassesOf gives the classes among findings, sorted, as labels have them.
func ClassesOf(found []Finding) []string {
	var list []string
	for _, f := range found {
		list = append(list, string(f.Class))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
