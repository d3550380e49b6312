package item

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Verdict is what a person decides.
type Verdict struct {
	// Digest of what the person was shown.
	Digest  string
	Approve bool
	// Reason is needed to reject.
	Reason string
	// Edited is the content as the person left it, in the deterministic form; nil when
	// nothing was edited.
	Edited json.RawMessage
}

// Decide takes the decision of a person. One rejection ends the item. As many
// different persons as the terms ask for have to approve the same content: an edit
// makes another one, which those who approved before have not seen.
func (i *Item) Decide(p Person, v Verdict, now time.Time) (*Change, error) {
	if err := i.refused(p, now); err != nil {
		return nil, err
	}
	v.Reason = strings.TrimSpace(v.Reason)
	switch {
	case v.Digest != i.Digest:
		return nil, fault.New(fault.ItemChanged, "item %s is not what you were shown any more; look at it again and decide then", i.ID).With("digest", i.Digest)
	case !v.Approve && v.Reason == "":
		return nil, fault.Invalid("reason", "is missing; a rejection says why")
	case !v.Approve && v.Edited != nil:
		return nil, fault.Invalid("edited", "goes with an approval only; approve what you have edited, or reject without it")
	}
	c := i.change()
	c.take(p.Key, now)
	d := Decision{Person: p.Key, Approved: v.Approve, Reason: v.Reason, Digest: v.Digest, Edited: v.Edited, Stands: v.Digest, At: now}
	if v.Edited != nil {
		d.Stands = chained(v.Digest, v.Edited)
	}
	c.Decision = &d
	c.After.Decisions = append(slices.Clone(i.Decisions), d)
	if !v.Approve {
		c.note(now, p.Key, rejected, v.Reason)
		c.end(reviewv1.State_STATE_REJECTED, "rejected by "+p.Key+": "+v.Reason, now)
		return c, nil
	}
	c.After.Digest = d.Stands
	c.note(now, p.Key, approved, v.Reason)
	by := c.After.approvers()
	if len(by) < i.Approvals {
		c.free() // for the next person
		return c, nil
	}
	c.end(reviewv1.State_STATE_APPROVED, "approved by "+strings.Join(by, " and "), now)
	return c, nil
}

// Repeats tells whether the item has ended by just this decision of this person, so
// that a call which is sent again is answered alike.
func (i *Item) Repeats(p Person, v Verdict) bool {
	if !i.Ended() || len(i.Decisions) == 0 {
		return false
	}
	d := i.Decisions[len(i.Decisions)-1]
	return d.Person == p.Key && d.Approved == v.Approve && d.Digest == v.Digest && d.Reason == strings.TrimSpace(v.Reason) && string(d.Edited) == string(v.Edited)
}

// approvers are who has approved what the item is now.
func (i *Item) approvers() []string {
	var by []string
	for _, d := range i.Decisions {
		if d.Approved && d.Stands == i.Digest && !slices.Contains(by, d.Person) {
			by = append(by, d.Person)
		}
	}
	return by
}

// Edited is the content as it was last edited, or nil.
func (i *Item) Edited() json.RawMessage {
	for _, d := range slices.Backward(i.Decisions) {
		if d.Approved && d.Edited != nil {
			return d.Edited
		}
	}
	return nil
}
