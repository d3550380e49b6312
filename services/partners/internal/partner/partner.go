// Package partner is an agent of another organisation as the platform knows it: who
// it is, what its card says, and how far it is trusted.
package partner

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// State of a partner. Only an approved one is called.
type State string

// The states, in the order in which a partner passes through them. A suspended one may be
// approved again.
const (
	Discovered State = "discovered" // its card was read, and nobody has looked at it
	Verified   State = "verified"   // its card passed the checks that its agreement asks for
	Approved   State = "approved"   // a person has approved it
	Suspended  State = "suspended"  // a person, or what its contract tests found, has stopped it
)

// Protocol that a partner is called in.
type Protocol string

// The protocols. Which one a card means is told by its form.
const (
	A2A1 Protocol = "a2a/1.0"
	A2A0 Protocol = "a2a/0.3"
	KAP1 Protocol = "kap/1.0"
)

// Partner is one agent of another organisation.
type Partner struct {
	// ID is its name here, chosen by who registered it; see [ValidID].
	ID           string
	Organisation string
	Name         string
	Description  string
	Version      string
	Tags         []string
	CardURL      string
	Protocol     Protocol
	// Card is the JSON that was approved, byte for byte as it was received; that of the
	// last fetch while nothing was approved.
	Card   json.RawMessage
	Skills []Skill
	State  State
	// Discoverable says that searches find it; Callable that plans may call it. They are
	// separate rights, and an approved partner may have either, both or none.
	Discoverable, Callable bool
	// Online says that it answered when it was last probed.
	Online    bool
	ProbedAt  time.Time
	Trust     float64 // from 0 to 1
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Skill is what a partner's card says that it can do: a skill of A2A, or a capability of KAP.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags,omitempty"`
	// Input is the JSON Schema of its input; nil where the card gives none.
	Input json.RawMessage `json:"input,omitempty"`
	// Confirm says that the card asks for a person's approval: requiresConfirmation of KAP.
	Confirm bool `json:"confirm,omitempty"`
}

// Ready tells whether the partner may be called.
func (p *Partner) Ready() bool { return p.State == Approved && p.Callable }

// Skill gives a skill of the card, or nil.
func (p *Partner) Skill(id string) *Skill {
	for i := range p.Skills {
		if p.Skills[i].ID == id {
			return &p.Skills[i]
		}
	}
	return nil
}

var idForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// ValidID tells whether a text can be a partner's id: small letters, digits and hyphens,
// beginning with a letter, at most 63.
func ValidID(id string) bool { return idForm.MatchString(id) }

// Address names a skill of a partner as playbooks do: "underwriter/underwrite".
type Address struct{ Partner, Skill string }

// ParseAddress reads an address.
func ParseAddress(text string) (Address, bool) {
	id, skill, ok := strings.Cut(text, "/")
	return Address{id, skill}, ok && ValidID(id) && skill != ""
}

// String gives the form that [ParseAddress] reads.
func (a Address) String() string { return a.Partner + "/" + a.Skill }
