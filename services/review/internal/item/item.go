// Package item holds what waits for a decision: the item, how it changes and who may
// change it. It knows neither SQL nor A2A.
package item

import (
	"encoding/json"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Bounds of what an item holds.
const (
	MaxTitle    = 300       // bytes
	MaxText     = 16 << 10  // bytes of an effect, a reason, a request, a note
	MaxSnapshot = 2 << 20   // bytes of everything that a decision rests on
	MaxEdited   = 512 << 10 // bytes of an edited content
	MaxReasons  = 50
	MaxSources  = 200
)

// Subject is what the policy is asked about.
type Subject struct {
	Kind          reviewv1.Kind
	Product, Risk string
	// Requester is organisation/subject.
	Requester string
}

// Terms are what the policy says about an item: they are kept with it, so that a
// change of the policy does not change what waits already.
type Terms struct {
	Queue    string
	Groups   []string // whose members may decide; empty: every reviewer
	Priority int      // 1 is the most urgent
	// Approvals by different persons that are needed; at least 1.
	Approvals          int
	RequesterMayDecide bool
	ClaimFor           time.Duration
	DueAt              time.Time // never zero
	ExpiresAt          time.Time // zero: never
	// Next is when the policy is to be asked for the next step; zero: never.
	Next time.Time
	// Policy names what made the terms: version and digest of a file, for the history of a
	// new item.
	Policy string
	// Rest is what the policy wants to know later, as JSON.
	Rest json.RawMessage
}

// Item is what a list shows, with the terms.
type Item struct {
	ID      string
	Version int64
	Digest  string
	Kind    reviewv1.Kind
	State   reviewv1.State
	Title   string
	Terms

	Product, Risk, Requester string
	RootTaskID, TraceID      string
	Playbook, Step           string
	Confidence               *float64
	BatchKey                 string

	CreatedAt   time.Time
	Escalations int
	Holder      string // whoever claimed it last; see Holds
	HeldUntil   time.Time
	// Messages of the requester that are seen.
	Messages int
	// AskedAt is when the open question was asked; zero without one. Paused is how long
	// questions have waited for answers before: DueAt has moved by as much.
	AskedAt time.Time
	Paused  time.Duration
	// Exchanges counts questions and remarks.
	Exchanges int
	// EndedAt is zero while the item is open or asked.
	EndedAt       time.Time
	OutcomeReason string
	Decisions     []Decision
}

// Decision of one person.
type Decision struct {
	Person   string
	Approved bool
	Reason   string
	Digest   string
	// Edited is the content as the person left it; nil when nothing was edited.
	Edited json.RawMessage
	// Stands is the digest of what was approved: Digest, unless the person edited it.
	Stands string
	At     time.Time
}

// Event is one thing that happened to an item.
type Event struct {
	At             time.Time
	By, What, Note string
}

// Policy is what an event is by that no person did.
const Policy = "policy"

// Exchange is a question to the requester with the answer, or a remark that the
// requester made without being asked: then AskedBy and Question are empty.
type Exchange struct {
	Number            int // counts from 1
	AskedBy, Question string
	AskedAt           time.Time
	Answer            string
	AnsweredAt        time.Time
}

// Step is what the policy does to an item that nobody has decided in time. The zero
// Step does nothing.
type Step struct {
	// End ends the item: StateExpired with an outcome, StateApproved or StateRejected
	// by the policy. Unspecified: it goes on.
	End    reviewv1.State
	Reason string
	// Escalate counts an escalation; Groups and Priority are then those from now on.
	Escalate bool
	Groups   []string
	Priority int
	Note     string
	// Next is when to ask again; zero: never.
	Next time.Time
}

// Ended tells whether nothing changes the item any more.
func (i *Item) Ended() bool { return !i.EndedAt.IsZero() }

// Outcome is how the item has ended, in a word; empty while it has not.
func (i *Item) Outcome() string {
	switch i.State {
	case reviewv1.State_STATE_APPROVED:
		return approved
	case reviewv1.State_STATE_REJECTED:
		return rejected
	case reviewv1.State_STATE_EXPIRED:
		return expired
	case reviewv1.State_STATE_CANCELED:
		return canceled
	}
	return ""
}

// HolderAt is who holds the item at a time, or nobody.
func (i *Item) HolderAt(now time.Time) string {
	if i.Holder == "" || !now.Before(i.HeldUntil) {
		return ""
	}
	return i.Holder
}

// Queue is one of the policy.
type Queue struct {
	Name, Title string
	Groups      []string // whose members serve it; empty: every reviewer
	// Former says that the policy does not know it any more.
	Former bool
}
