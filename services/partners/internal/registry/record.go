// Package registry knows the agents of other organisations: where their cards are,
// which of them a person has approved, what has changed since, and whether they answer.
package registry

import (
	"encoding/json"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/partner"
)

// Signature says what is known of the signatures of a card.
type Signature string

// What can be known of them.
const (
	Unsigned  Signature = "none"
	Good      Signature = "good"
	Unchecked Signature = "unchecked" // signed, and the partner's mode is off
)

// Condition says what has become of a card since it was last good.
type Condition string

// The conditions. Calls go on with the approved card in each of them.
const (
	Fine       Condition = ""
	Vanished   Condition = "vanished"   // nothing is at its URL any more
	Invalid    Condition = "invalid"    // what is there is no card that can be taken
	Unverified Condition = "unverified" // its signature does not verify
)

// Record is a partner with what the registry keeps of it.
type Record struct {
	partner.Partner
	// Revision grows with each change but those of trust and probes.
	Revision int64
	// Digest of the card: SHA-256, hex.
	Digest    string
	Signature Signature
	// Hosts beside the card's own that its interfaces may be on, as a person has allowed.
	Hosts []string
	// Vouched says that whoever registered it has named the organisation.
	Vouched bool
	// RegisteredBy is organisation/subject of a person, or what has registered it.
	RegisteredBy string
	// Reason why it is suspended.
	Reason    string
	Condition Condition
	// Problem of the last fetch, in a sentence; empty when it went well.
	Problem      string
	ETag         string
	FetchedAt    time.Time
	FetchAt      time.Time // when it is fetched again
	ProbeAt      time.Time
	ProbeProblem string
	TrustParts   json.RawMessage
}

// Entry of the history of a partner.
type Entry struct {
	Seq    int64
	At     time.Time
	Actor  string
	What   string
	Note   string
	Digest string
	Detail json.RawMessage
}

// Missing is the error of a partner that is not there.
func Missing(id string) error {
	return fault.New(fault.PartnerNotFound, "there is no partner %q; the list of partners shows those that are registered", id)
}

// Change of a card that waits for a person.
type Change struct {
	Digest    string // of the card that the partner publishes now
	Card      json.RawMessage
	Diff      []Difference
	Signature Signature
	FoundAt   time.Time
}

// Difference between two cards, in one place.
type Difference struct {
	// Path is a JSON Pointer (RFC 6901) into the card; an entry of a list that has an id is
	// named by it.
	Path string `json:"path"`
	// Kind is added, removed or changed.
	Kind string `json:"kind"`
	// Before and After are JSON; absent on the side where there is nothing.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Structural says that a person has to approve it.
	Structural bool `json:"structural"`
}

// Update is a partner that is being changed.
type Update struct {
	*Record
	// Pending is the change that waits; nil for none.
	Pending *Change
	// Notes are what goes into the history, without Seq.
	Notes []Entry
	// Unchanged says that there is nothing to write.
	Unchanged bool
}
