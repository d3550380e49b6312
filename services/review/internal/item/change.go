package item

import (
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"

	"sabha.dev/chassis/fault"
)

// What happens to items, as their history tells it.
const (
	created      = "created"
	claimed      = "claimed"
	released     = "released"
	reassigned   = "reassigned"
	claimExpired = "claim-expired"
	escalated    = "escalated"
	asked        = "asked"
	answered     = "answered"
	approved     = "approved"
	rejected     = "rejected"
	expired      = "expired"
	canceled     = "canceled"
)

// Change is what becomes of an item. It is good for the version that it was made
// from and no other.
type Change struct {
	// Before is the version it was made from.
	Before int64
	After  *Item
	Events []Event
	// Decision is a new one; Exchange a new or an answered one.
	Decision *Decision
	Exchange *Exchange
}

// Make decides what becomes of an item as it is now. A nil change leaves it alone. It may
// be called again when a transaction has to be repeated.
type Make func(*Item) (*Change, error)

func (i *Item) change() *Change {
	after := *i
	after.Version++
	return &Change{Before: i.Version, After: &after}
}

func (c *Change) note(at time.Time, by, what, note string) {
	c.Events = append(c.Events, Event{At: at, By: by, What: what, Note: note})
}

// take makes the person the holder, noting a claim of another that has run out.
func (c *Change) take(person string, now time.Time) {
	a := c.After
	if a.Holder != "" && a.HolderAt(now) == "" {
		c.note(a.HeldUntil, Policy, claimExpired, a.Holder)
	}
	a.Holder, a.HeldUntil = person, now.Add(a.ClaimFor)
}

func (c *Change) free() { c.After.Holder, c.After.HeldUntil = "", time.Time{} }

func (c *Change) end(state reviewv1.State, reason string, now time.Time) {
	c.After.State, c.After.OutcomeReason, c.After.EndedAt, c.After.AskedAt, c.After.Next = state, reason, now, time.Time{}, time.Time{}
	c.free()
}

// refused says why the person may not work on the item now, or nil.
func (i *Item) refused(p Person, now time.Time) error {
	if err := i.over(); err != nil {
		return err
	}
	if why := i.mayNot(p); why != "" {
		return fault.New(fault.NotPermitted, "you may not decide on item %s: %s", i.ID, why)
	}
	if holder := i.HolderAt(now); holder != "" && holder != p.Key {
		return i.held(holder)
	}
	return nil
}

// over says that the item has ended, or nil.
func (i *Item) over() error {
	if !i.Ended() {
		return nil
	}
	return fault.New(fault.ItemDecided, "item %s has ended at %s: %s", i.ID, stamp(i.EndedAt), i.OutcomeReason).With("state", i.State.String())
}

func (i *Item) held(holder string) error {
	return fault.New(fault.ItemHeld, "%s holds item %s until %s; take another one, or ask for it to be released", holder, i.ID, stamp(i.HeldUntil)).
		With("holder", holder).With("heldUntil", stamp(i.HeldUntil))
}

// Claim makes the person the holder, or renews the claim.
func (i *Item) Claim(p Person, now time.Time) (*Change, error) {
	if err := i.refused(p, now); err != nil {
		return nil, err
	}
	c, note := i.change(), ""
	if i.HolderAt(now) == p.Key {
		note = "renewed"
	}
	c.take(p.Key, now)
	c.note(now, p.Key, claimed, note)
	return c, nil
}

// Release gives a claim back.
func (i *Item) Release(p Person, note string, now time.Time) (*Change, error) {
	if err := i.over(); err != nil {
		return nil, err
	}
	switch holder := i.HolderAt(now); {
	case holder == "":
		return nil, fault.New(fault.NotPermitted, "nobody holds item %s, so there is nothing to release", i.ID)
	case holder != p.Key:
		return nil, i.held(holder)
	}
	c := i.change()
	c.free()
	c.note(now, p.Key, released, note)
	return c, nil
}

// Vacate gives back the claim of a person who may not decide any more; nil when somebody
// else holds the item by now.
func (i *Item) Vacate(person string, now time.Time) *Change {
	if i.Ended() || i.HolderAt(now) != person {
		return nil
	}
	c := i.change()
	c.free()
	c.note(now, Policy, released, "the account of "+person+" is disabled")
	return c
}

// Reassign makes another person the holder: known is what is known of that person, nil for
// nobody that has been here or has an account. Whoever cannot decide in the end keeps the item for as long as
// any claim lasts.
func (i *Item) Reassign(p Person, to string, known *Person, note string, now time.Time) (*Change, error) {
	if err := i.over(); err != nil {
		return nil, err
	}
	holder := i.HolderAt(now)
	if holder != p.Key && !p.MayHandOver() {
		return nil, fault.New(fault.NotPermitted, "handing over an item needs the claim, or one of the scopes operator and admin")
	}
	why := i.notHanded(to)
	if known != nil {
		why = i.MayNotGet(*known)
	}
	if why != "" {
		return nil, fault.Invalid("to", "%s", why)
	}
	c := i.change()
	c.take(to, now)
	text := "to " + to
	if note != "" {
		text += ": " + note
	}
	c.note(now, p.Key, reassigned, text)
	return c, nil
}

// Cancel ends the item because its task was canceled. An item that has ended stays.
func (i *Item) Cancel(now time.Time) *Change {
	if i.Ended() {
		return nil
	}
	c := i.change()
	c.end(reviewv1.State_STATE_CANCELED, "its task was canceled", now)
	c.note(now, Policy, canceled, "its task was canceled")
	return c
}

// Apply does what the policy says.
func (i *Item) Apply(s Step, now time.Time) *Change {
	c := i.change()
	c.After.Next = s.Next
	switch {
	case s.End != reviewv1.State_STATE_UNSPECIFIED:
		what := map[reviewv1.State]string{reviewv1.State_STATE_APPROVED: approved, reviewv1.State_STATE_REJECTED: rejected}[s.End]
		if what == "" {
			what = expired
		}
		c.end(s.End, s.Reason, now)
		c.note(now, Policy, what, s.Reason)
	case s.Escalate:
		c.After.Escalations++
		c.After.Groups, c.After.Priority = s.Groups, s.Priority
		c.note(now, Policy, escalated, s.Note)
	}
	return c
}
