// Package policy says who decides on what until when, and what happens when nobody
// does. One YAML file says it: calendars, queues, and the rules that lead an item to
// a queue. What it says about an item is kept with the item, so that a change of
// the file changes nothing for what waits already.
package policy

import (
	_ "embed"
	"fmt"
	"time"

	"sabha.dev/chassis/calendar"
)

// Bounds of what a queue may say.
const (
	// MaxBusiness is the longest business duration: a year of working days.
	MaxBusiness = 2000 * time.Hour
	// MaxClaim is the longest claim, MinClaim the shortest.
	MaxClaim = 24 * time.Hour
	MinClaim = time.Minute
	// DefaultClaim is that of a queue that says nothing.
	DefaultClaim = 30 * time.Minute
	// DefaultPriority is that of a queue that says nothing; 1 is the most urgent.
	DefaultPriority = 3
	LeastPriority   = 5
	MaxApprovals    = 3
)

// Policy is what a file says. It does not change and is safe for concurrent use.
type Policy struct {
	// Owner answers for the policy; ReviewDate is the day on which it is looked at again.
	Owner      string
	ReviewDate calendar.Date
	// Version as the file states it, Digest the SHA-256 of the file, hex.
	Version, Digest string
	// Queues in the order of the file.
	Queues []*Queue

	rules    []rule
	fallback *Queue
}

// Queue is where items wait for one kind of people.
type Queue struct {
	// Name is part of addresses and subjects; Title is what people read.
	Name, Title string
	// Groups whose members may decide; empty: every reviewer.
	Groups []string
	// Calendar that all business durations of the queue are measured by.
	Calendar *calendar.Calendar
	// Due is the business duration from the creation of an item.
	Due time.Duration
	// Priority from 1, the most urgent, to 5.
	Priority int
	// ClaimFor is how long a claim lasts, in real time.
	ClaimFor time.Duration
	// Approvals by different people that are needed, 1 to 3.
	Approvals          int
	RequesterMayDecide bool
	// Escalations in the order of their time.
	Escalations []Escalation
	// Expiry is nil when items wait until somebody decides.
	Expiry *Expiry
	Notify Notify
}

// Escalation brings more people to an item that nobody has decided.
type Escalation struct {
	// After is the business duration from the creation of the item.
	After time.Duration
	// Groups may decide from then on, beside those that might before.
	Groups []string
	// Priority from then on; 0: as before.
	Priority int
}

// Meaning is what it means that nobody has decided in time.
type Meaning string

// Meanings of an expiry.
const (
	Reject  Meaning = "reject"
	Approve Meaning = "approve"
	// Escalate never ends an item: it brings more people to it.
	Escalate Meaning = "escalate"
)

// Expiry is what happens to an item that nobody has decided.
type Expiry struct {
	// After is the business duration from the creation of the item.
	After time.Duration
	Means Meaning
	// Reason is kept with the decision.
	Reason string
}

// Notify says who hears of the items of a queue.
type Notify struct {
	// Mail addresses.
	Mail []string
	// Chat is the file that holds the URL of a chat's webhook; empty for none.
	Chat string
	// BeforeDue is how long before the due time they are told of it, in business time;
	// 0: they are told when it is past.
	BeforeDue time.Duration
}

// Queue finds a queue by name, or nil.
func (p *Policy) Queue(name string) *Queue {
	for _, q := range p.Queues {
		if q.Name == name {
			return q
		}
	}
	return nil
}

// Overdue is a note when the review of the policy is past, or empty.
func (p *Policy) Overdue(now time.Time) string {
	r := p.ReviewDate
	if now.Before(time.Date(r.Year, r.Month, r.Day+1, 0, 0, 0, 0, time.UTC)) {
		return ""
	}
	return fmt.Sprintf("the policy was due for review by %s on %s", p.Owner, r)
}

//go:embed default.yaml
var shipped []byte

// Default is the policy without a file: the one that is shipped.
func Default() (*Policy, error) { return Parse("the policy that is shipped", shipped) }
