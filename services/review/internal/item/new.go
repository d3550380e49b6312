package item

import (
	"strings"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Origin is where an item comes from.
type Origin struct {
	ID                             string // of the review task
	Requester, RootTaskID, TraceID string
	CreatedAt                      time.Time
}

// Kinds of what is decided on, by the word that the skill takes.
var Kinds = map[string]reviewv1.Kind{
	"result": reviewv1.Kind_KIND_RESULT, "action": reviewv1.Kind_KIND_ACTION, "confirmation": reviewv1.Kind_KIND_CONFIRMATION,
}

// SubjectOf is what the policy is asked about.
func (s *Snapshot) SubjectOf(o Origin) Subject {
	return Subject{Kind: Kinds[s.Kind], Product: s.Product, Risk: s.Risk, Requester: o.Requester}
}

// New makes an item of what was asked for, under the terms of the policy. It has seen
// the message that asked for it.
func New(o Origin, s *Snapshot, digest string, t Terms) (*Item, Event) {
	t.Approvals = max(t.Approvals, 1)
	i := &Item{
		ID: o.ID, Version: 1, Digest: digest, Kind: Kinds[s.Kind], State: reviewv1.State_STATE_OPEN, Title: s.Title, Terms: t,
		Product: s.Product, Risk: s.Risk, Requester: o.Requester, RootTaskID: o.RootTaskID, TraceID: o.TraceID, Playbook: s.Playbook, Step: s.Step,
		Confidence: s.Confidence, BatchKey: s.BatchKey(), CreatedAt: o.CreatedAt, Messages: 1,
	}
	note := "in the queue " + t.Queue
	if t.Policy != "" {
		note += ", by policy " + t.Policy
	}
	return i, Event{At: o.CreatedAt, By: Policy, What: created, Note: note}
}

// maxWords bounds what a query looks in, bytes: an index holds it.
const maxWords = 1200

// Words are what a query looks in, in lower case.
func (i *Item) Words() string {
	words := strings.ToLower(strings.Join([]string{i.ID, i.RootTaskID, i.Title, i.Playbook, i.Requester}, " "))
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "")
	}
	return words
}
