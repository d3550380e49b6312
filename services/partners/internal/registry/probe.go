package registry

import (
	"context"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/partner"
)

// probe asks the interfaces of a partner in the order of its card until one answers: over
// HTTP with a GET without credentials, of gRPC by a connection with TLS. That costs the
// partner next to nothing and says as much as can be known without a real call.
func (r *Registry) probe(ctx context.Context, rec *Record) error {
	c, err := card.Parse(rec.Card)
	if err != nil {
		return err
	}
	f, err := r.fetcher(r.rules(rec.ID))
	if err != nil {
		return err
	}
	var first error
	for _, i := range c.Interfaces {
		u, err := i.Address()
		if err != nil {
			return err
		}
		if strings.EqualFold(i.Binding, "GRPC") {
			err = f.Reach(ctx, u)
		} else if err = f.Check(u.String()); err == nil {
			err = f.Ask(ctx, u)
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// Ping probes a partner and keeps what was found. The error is why it is not there.
func (r *Registry) Ping(ctx context.Context, rec *Record) error {
	failed := r.probe(ctx, rec)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := Probe{Online: failed == nil, At: r.Clock.Now(), Next: r.jittered(r.ProbeEvery)}
	if failed != nil {
		p.Problem = sentence(failed)
	}
	if err := r.Store.Probed(ctx, rec.ID, p); err != nil {
		return err
	}
	if r.Probed != nil {
		r.Probed(ctx, rec.ID, p.Online)
	}
	return failed
}

// Verify reads the card again, checks it as is agreed and asks whether the partner is
// there. One that was discovered is verified then.
func (r *Registry) Verify(ctx context.Context, id, by string) (*Record, error) {
	rec, _, err := r.Refresh(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.Ping(ctx, rec); err != nil {
		if fault.As(err) != nil {
			err = fault.New(fault.PartnerState, "the card of %q is good, and the agent does not answer: %s", id, sentence(err)).Because(err)
		}
		return nil, err
	}
	checked := rec.Digest
	return r.Store.Update(ctx, id, func(u *Update) error {
		if u.State != partner.Discovered {
			u.Unchanged = true
			return nil
		}
		if err := u.shown(checked); err != nil {
			return err
		}
		u.State = partner.Verified
		u.note(Entry{Actor: by, What: VerifiedNow, Note: "signature: " + string(u.Signature)})
		return nil
	})
}

// How work is shared out: a replica claims some, and has until the lease ends.
const (
	lookEvery = time.Second
	lease     = 2 * time.Minute
	atOnce    = 16
)

// Run keeps cards and probes up to date until the context ends.
func (r *Registry) Run(ctx context.Context) {
	for {
		more := r.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.Clock.After(lookEvery):
		}
	}
}

// round does what is due, and tells whether there may be more.
func (r *Registry) round(ctx context.Context) bool {
	r.registerWanted(ctx)
	now := r.Clock.Now()
	fetches, err := r.Store.ClaimFetches(ctx, now, now.Add(lease), atOnce)
	if err == nil {
		each(fetches, func(id string) {
			if _, _, err := r.Refresh(ctx, id); err != nil && fault.As(err) == nil && ctx.Err() == nil {
				r.Log.ErrorContext(ctx, "a card was not looked at", "partner", id, "error", err)
			}
		})
	}
	probes, probeErr := r.Store.ClaimProbes(ctx, now, now.Add(lease), atOnce)
	if probeErr == nil {
		each(probes, func(id string) {
			rec, err := r.Store.Record(ctx, id)
			if err == nil {
				err = r.Ping(ctx, rec)
			}
			if err != nil && fault.As(err) == nil && ctx.Err() == nil {
				r.Log.ErrorContext(ctx, "a partner was not probed", "partner", id, "error", err)
			}
		})
	}
	if err := firstOf(err, probeErr); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "partners could not be claimed", "error", err)
		return false
	}
	return len(fetches) == atOnce || len(probes) == atOnce
}

func each(ids []string, f func(string)) {
	done := make(chan struct{})
	for _, id := range ids {
		go func() {
			defer func() { done <- struct{}{} }()
			f(id)
		}()
	}
	for range ids {
		<-done
	}
}
