package registry

import (
	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/partner"
)

// What is noted in the history, and told.
const (
	Registered   = "registered"
	VerifiedNow  = "verified"
	ApprovedNow  = "approved"
	SuspendedNow = "suspended"
	RightsSet    = "rights"
	TextAdopted  = "text_adopted"
	ChangeFound  = "change_found"
	ChangeGone   = "change_withdrawn"
	Adopted      = "change_adopted"
	Refused      = "change_refused"
	CardLost     = "card_lost"
	CardBack     = "card_back"
)

func (u *Update) note(e Entry) {
	if e.Digest == "" {
		e.Digest = u.Digest
	}
	u.Notes = append(u.Notes, e)
}

// Suspend stops a partner; one that is suspended stays as it is.
func (u *Update) Suspend(by, reason string) error {
	if u.State == partner.Suspended {
		u.Unchanged = true
		return nil
	}
	u.State, u.Reason = partner.Suspended, reason
	u.note(Entry{Actor: by, What: SuspendedNow, Note: reason})
	return nil
}

// Approve approves the card that a person saw.
func (u *Update) Approve(by, digest, note string) error {
	switch {
	case u.State == partner.Approved && u.Digest == digest:
		u.Unchanged = true
		return nil
	case u.State == partner.Discovered:
		return fault.New(fault.PartnerState, "the card of %q has not been verified; verify it first", u.ID)
	}
	if err := u.shown(digest); err != nil {
		return err
	}
	u.State, u.Reason = partner.Approved, ""
	u.note(Entry{Actor: by, What: ApprovedNow, Note: note})
	return nil
}

func (u *Update) shown(digest string) error {
	if digest == u.Digest {
		return nil
	}
	return fault.New(fault.PartnerChanged, "the card of %q is not the one that you were shown; look at it again and decide on that", u.ID)
}

// SetRights says whether searches find a partner and whether plans may call it.
func (u *Update) SetRights(by string, discoverable, callable *bool) error {
	d, c := u.Discoverable, u.Callable
	if discoverable != nil {
		d = *discoverable
	}
	if callable != nil {
		c = *callable
	}
	if d == u.Discoverable && c == u.Callable {
		u.Unchanged = true
		return nil
	}
	u.Discoverable, u.Callable = d, c
	u.note(Entry{Actor: by, What: RightsSet, Note: rights(d, c)})
	return nil
}

func rights(discoverable, callable bool) string {
	switch {
	case discoverable && callable:
		return "discoverable and callable"
	case discoverable:
		return "discoverable, not callable"
	case callable:
		return "callable, not discoverable"
	}
	return "neither discoverable nor callable"
}
