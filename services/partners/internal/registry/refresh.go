package registry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/fetch"
	"sabha.dev/services/partners/internal/partner"
)

// bySchedule is the actor of what happens without a person.
const bySchedule = "registry"

// seen is what a look at a card's URL has found.
type seen struct {
	// lost says that the card is not good any more, and how; err why.
	lost Condition
	err  error
	// card that is there now, with what is known of its signatures; nil when lost, or when
	// nothing could be learnt, which err says.
	card      *card.Card
	signature cardtrust.Result
	etag      string
}

// look reads the card of a partner.
func (r *Registry) look(ctx context.Context, rec *Record, pending *Change) seen {
	rules := r.rules(rec.ID)
	f, err := r.fetcher(rules)
	if err != nil {
		return seen{err: err}
	}
	d, err := f.Get(ctx, fetch.Request{URL: rec.CardURL, Accept: accepted, ETag: rec.ETag, Most: card.MaxSize})
	switch {
	case err != nil:
		return seen{err: err}
	case d.Same:
		// What the tag stands for may be the change that waits. Keys end all the same.
		d.Body, d.ETag = rec.Card, rec.ETag
		if pending != nil {
			d.Body = pending.Card
		}
	case d.Status == http.StatusNotFound, d.Status == http.StatusGone:
		return seen{lost: Vanished, err: fault.New(fault.CardRefused, "there is no card at %s any more (HTTP %d)", rec.CardURL, d.Status)}
	case d.Status != http.StatusOK:
		return seen{err: fault.New(fault.CardRefused, "%s answers with HTTP %d instead of a card", rec.CardURL, d.Status)}
	}
	c, err := card.Parse(d.Body)
	if err != nil {
		return seen{lost: Invalid, err: err}
	}
	if err := c.CheckOrigin(rec.origin()); err != nil {
		return seen{lost: Invalid, err: err}
	}
	signature, err := r.believed(ctx, c, rec.origin(), rules)
	switch {
	case err != nil && away(err):
		return seen{err: err}
	case err != nil:
		return seen{lost: Unverified, err: err}
	case rec.Signature == cardtrust.Good && signature == cardtrust.Unsigned:
		return seen{lost: Unverified, err: fault.New(fault.CardRefused, "the card was signed and is not any more")}
	}
	return seen{card: c, signature: signature, etag: d.ETag}
}

// Refresh reads the card of a partner now, and takes or notes what has changed. The error
// is why it could not be read; what it says is kept with the partner.
func (r *Registry) Refresh(ctx context.Context, id string) (*Record, *Change, error) {
	rec, err := r.Store.Record(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	pending, err := r.Store.Pending(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	s := r.look(ctx, rec, pending)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	var after *Change
	now, err := r.Store.Update(ctx, id, func(u *Update) error {
		if u.Digest != rec.Digest || (u.Pending == nil) != (pending == nil) { // somebody has decided meanwhile
			u.Unchanged = true
			return nil
		}
		err := r.found(u, s)
		after = u.Pending
		return err
	})
	return now, after, firstOf(err, s.err)
}

func firstOf(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// Times of the next reading after one that went wrong.
const soon = 10 // times as often

// found takes what a look has found into a partner.
func (r *Registry) found(u *Update, s seen) error {
	now := r.Clock.Now()
	u.FetchAt = r.jittered(r.RefreshEvery)
	if s.card == nil {
		u.Problem, u.FetchAt = sentence(s.err), r.jittered(max(r.RefreshEvery/soon, time.Second))
		if s.lost != Fine && s.lost != u.Condition {
			u.Condition = s.lost
			u.note(Entry{Actor: bySchedule, What: CardLost, Note: u.Problem})
		}
		return nil
	}
	u.FetchedAt, u.ETag, u.Problem = now, s.etag, ""
	if u.Condition != Fine {
		u.Condition = Fine
		u.note(Entry{Actor: bySchedule, What: CardBack, Note: "the card is good again"})
	}
	switch {
	case s.card.Digest == u.Digest:
		u.Signature = s.signature
		if u.Pending != nil {
			u.Pending = nil
			u.note(Entry{Actor: bySchedule, What: ChangeGone, Note: "the card is again the one that was approved"})
		}
		return nil
	case s.card.Digest == u.Refused, u.Pending != nil && u.Pending.Digest == s.card.Digest:
		return nil
	}
	diff, err := card.Diff(u.Card, s.card.Raw)
	if err != nil {
		return err
	}
	switch {
	case u.State != partner.Approved:
		u.take(s.card, s.signature)
		u.Pending = nil
		u.note(Entry{Actor: bySchedule, What: Adopted, Note: "the card changed before it was approved", Detail: detail(diff)})
	case !card.Structural(diff):
		u.take(s.card, s.signature)
		u.Pending = nil
		u.note(Entry{Actor: bySchedule, What: TextAdopted, Note: fmt.Sprintf("%d texts changed", len(diff)), Detail: detail(diff)})
	default:
		u.Pending = &Change{Digest: s.card.Digest, Card: s.card.Raw, Diff: diff, Signature: s.signature, FoundAt: now}
		u.note(Entry{Actor: bySchedule, What: ChangeFound, Note: "calls go on with the approved card", Digest: s.card.Digest, Detail: detail(diff)})
	}
	return nil
}

// sentence is what may be shown of an error.
func sentence(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	return "the card could not be read; the log says why"
}

// Decide adopts or refuses the change that a person saw.
func (r *Registry) Decide(ctx context.Context, id, by, digest string, adopt bool, note string) (*Record, error) {
	return r.Store.Update(ctx, id, func(u *Update) error {
		switch {
		case u.Pending == nil:
			return fault.New(fault.PartnerState, "no change of the card of %q waits for a decision", id)
		case u.Pending.Digest != digest:
			return fault.New(fault.PartnerChanged, "the change of %q is not the one that you were shown; look at it again and decide on that", id)
		}
		change := u.Pending
		u.Pending = nil
		if !adopt {
			u.Refused = digest
			u.note(Entry{Actor: by, What: Refused, Note: note, Digest: digest, Detail: detail(change.Diff)})
			return nil
		}
		c, err := card.Parse(change.Card)
		if err != nil {
			return err
		}
		u.take(c, change.Signature)
		u.note(Entry{Actor: by, What: Adopted, Note: note, Detail: detail(change.Diff)})
		return nil
	})
}
