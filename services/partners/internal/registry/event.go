package registry

import (
	"strings"
	"time"
)

// Event that is to be told on NATS.
type Event struct {
	ID, Subject string
	Body        []byte
}

// Subject of an event: sabha.partners.PARTNER.WHAT. "*" and ">" as NATS has them.
func Subject(partnerAndWhat ...string) string {
	return strings.Join(append([]string{"sabha.partners"}, partnerAndWhat...), ".")
}

// told is the body of an event: the partner as it is after it.
type told struct {
	Partner      string    `json:"partner"`
	What         string    `json:"what"`
	By           string    `json:"by"`
	Note         string    `json:"note,omitempty"`
	At           time.Time `json:"at"`
	Seq          int64     `json:"seq"`
	Organisation string    `json:"organisation"`
	Name         string    `json:"name"`
	State        string    `json:"state"`
	Discoverable bool      `json:"discoverable"`
	Callable     bool      `json:"callable"`
	Condition    string    `json:"condition,omitempty"`
	Digest       string    `json:"card_digest,omitempty"`
}

// Told is the body of the event of a line of a partner's history.
func Told(r *Record, e Entry) any {
	return told{
		Partner: r.ID, What: e.What, By: e.Actor, Note: e.Note, At: e.At.UTC(), Seq: e.Seq, Organisation: r.Organisation, Name: r.Name,
		State: string(r.State), Discoverable: r.Discoverable, Callable: r.Callable, Condition: string(r.Condition), Digest: e.Digest,
	}
}

// Probe is what a probe found.
type Probe struct {
	Online  bool
	Problem string
	At      time.Time
	// Next is when the partner is probed again.
	Next time.Time
}
