// Package registry knows the agents of other organisations: where their cards are,
// which of them a person has approved, what has changed since, and whether they answer.
package registry

import (
	"encoding/json"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
)

// Vouch is who says of which organisation a partner is.
type Vouch string

// Who may say it.
const (
	ByCard       Vouch = "card"       // from the organisation's own site, as far as it shows
	ByPerson     Vouch = "person"     // who registered it
	ByCredential Vouch = "credential" // it registered itself with one of this organisation
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
	Signature cardtrust.Result
	// Hosts beside the card's own that its interfaces may be on, as a person has allowed.
	Hosts []string
	// Vouch is who says whose it is.
	Vouch Vouch
	// RegisteredBy is organisation/subject of a person, or what has registered it.
	RegisteredBy string
	// Reason why it is suspended.
	Reason string
	// Refused is the digest of the changed card that a person refused last.
	Refused   string
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
	Diff      []card.Difference
	Signature cardtrust.Result
	FoundAt   time.Time
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
