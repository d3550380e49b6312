// Package disclosure decides what may leave the platform, to whom and in which form: the
// policy library of every way out. A policy is a section of a file that people write. It
// says for what the detectors find, and for what labels say, whether it leaves as it is,
// is dropped, masked, replaced by a token that is resolved again in the answer, or stops
// the whole.
package disclosure

import (
	"slices"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sensitive"
	"sabha.dev/chassis/strictyaml"
)

// Action on what is sensitive.
type Action string

// The actions.
const (
	Allow    Action = "allow"
	Drop     Action = "drop"
	Mask     Action = "mask"
	Tokenise Action = "tokenise"
	Refuse   Action = "refuse"
)

var actions = []string{string(Allow), string(Drop), string(Mask), string(Tokenise), string(Refuse)}

// Labelled is the class of a part that only its label calls more confidential than may
// leave, without saying why.
const Labelled sensitive.Class = "labelled"

// Unreadable is the class of a file that cannot be looked into.
const Unreadable sensitive.Class = "unreadable"

// Policy of one way out. It is immutable and safe for concurrent use. A nil Policy is the
// default one: nothing sensitive leaves.
type Policy struct {
	// greatest confidentiality that a label may have for a part to leave as it is.
	greatest label.Confidentiality
	// otherwise is what happens to what no rule fits.
	otherwise Action
	// unreadable is what happens to files that cannot be looked into.
	unreadable Action
	// consent are the classes that leave only for a purpose that was consented to.
	consent []sensitive.Class
	rules   []rule
}

var strict = &Policy{greatest: label.Internal, otherwise: Refuse, unreadable: Refuse}

func (p *Policy) orStrict() *Policy {
	if p == nil {
		return strict
	}
	return p
}

// Recipient is who gets what leaves, and what for.
type Recipient struct {
	// Partner and Skill as agreements name them; another endpoint, such as a model, has
	// its name as Partner and no Skill.
	Partner, Organisation, Skill string
	// Purpose of the disclosure, such as mortgage-underwriting.
	Purpose string
	// Consents are the purposes to which the person whose data it is has consented.
	Consents []string
}

func (r Recipient) consented() bool { return r.Purpose != "" && slices.Contains(r.Consents, r.Purpose) }

// Parse reads the section of a file. What is wrong is reported on the node.
func Parse(n strictyaml.Node) *Policy {
	p := &Policy{greatest: label.Internal, otherwise: Refuse, unreadable: Refuse}
	f, ok := n.Fields("confidentiality", "default", "unreadable", "consent", "rules")
	if !ok {
		return p
	}
	if at, ok := f.Get("confidentiality"); ok {
		p.greatest = label.Confidentiality(at.OneOf(string(label.Public), string(label.Internal), string(label.Sensitive)))
	}
	if at, ok := f.Get("default"); ok {
		p.otherwise = Action(at.OneOf(actions...))
	}
	if at, ok := f.Get("unreadable"); ok {
		p.unreadable = Action(at.OneOf(string(Refuse), string(Drop), string(Allow)))
	}
	if at, ok := f.Get("consent"); ok {
		p.consent = classes(at)
	}
	if at, ok := f.Get("rules"); ok {
		p.rules = parseRules(at)
	}
	return p
}

// classes reads one class or a list of them.
func classes(n strictyaml.Node) []sensitive.Class {
	items := []strictyaml.Node{n}
	if n.IsList() {
		if items = n.Items(); len(items) == 0 {
			n.Problem("is an empty list; name a class or remove the key")
		}
	}
	var list []sensitive.Class
	for _, item := range items {
		if c := sensitive.Class(item.OneOf(classNames()...)); c != "" {
			if slices.Contains(list, c) {
				item.Problem("%q is named twice", c)
			}
			list = append(list, c)
		}
	}
	return list
}

func classNames() []string {
	var names []string
	for _, c := range append(sensitive.Classes(), Labelled) {
		names = append(names, string(c))
	}
	return names
}
