package registry

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/fetch"
	"sabha.dev/services/partners/internal/partner"
)

// Registration is what somebody registers.
type Registration struct {
	// URL of the card, or the base URL of the agent.
	URL string
	// ID that it gets; empty for one made of the card's name.
	ID string
	// Organisation and who says so.
	Organisation string
	Vouch        Vouch
	Hosts        []string
	// By is organisation/subject of a person, or what registers it.
	By string
}

const maxHosts = 20

func (g *Registration) check() error {
	switch {
	case g.ID != "" && !partner.ValidID(g.ID):
		return fault.Invalid("id", "must be at most 63 small letters, digits and hyphens, a letter first")
	case len(g.Organisation) > 200 || !utf8.ValidString(g.Organisation) || strings.ContainsRune(g.Organisation, 0):
		return fault.Invalid("organisation", "must have at most 200 bytes and no character U+0000")
	case len(g.Hosts) > maxHosts:
		return fault.Invalid("hosts", "must be at most %d", maxHosts)
	}
	for _, h := range g.Hosts {
		if u, err := url.Parse("https://" + h); err != nil || u.Hostname() != h {
			return fault.Invalid("hosts", "%q is no host; write a name such as api.partner.example", h)
		}
	}
	u, err := url.Parse(g.URL)
	if err != nil || u.Host == "" {
		return fault.Invalid("card_url", "must be an absolute URL, such as https://agents.partner.example")
	}
	if u.Scheme == "http" && !card.Plain(g.URL) {
		return fault.Invalid("card_url", "must begin with https://; a card that comes unencrypted may be anybody's")
	}
	return nil
}

// wellKnown are where cards are, in the order in which they are looked for.
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// candidates are the URLs at which the card may be: one that names a file is it.
func candidates(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil || strings.HasSuffix(u.Path, ".json") {
		return []string{raw}
	}
	var all []string
	for _, path := range wellKnown {
		at := *u
		at.Path, at.RawPath, at.RawQuery = strings.TrimRight(u.Path, "/")+path, "", ""
		all = append(all, at.String())
	}
	return all
}

const accepted = "application/a2a+json, application/json"

// find looks for a card. The error is about the first place that had something.
func find(ctx context.Context, f *fetch.Fetcher, raw string) (*card.Card, *fetch.Document, string, error) {
	var first error
	all := candidates(raw)
	for _, at := range all {
		d, err := f.Get(ctx, fetch.Request{URL: at, Accept: accepted, Most: card.MaxSize})
		if err != nil {
			return nil, nil, "", err
		}
		if d.Status == http.StatusNotFound || d.Status == http.StatusGone {
			continue
		}
		if d.Status != http.StatusOK {
			return nil, nil, "", fault.New(fault.CardRefused, "%s answers with HTTP %d instead of a card", at, d.Status)
		}
		c, err := card.Parse(d.Body)
		if err == nil {
			return c, d, at, nil
		}
		if first == nil { // some sites have a page at every path
			first = err
		}
	}
	if first == nil {
		first = fault.New(fault.CardRefused, "there is no card at %s", strings.Join(all, " nor at "))
	}
	return nil, nil, "", first
}

// Register reads a card and keeps the agent as discovered.
func (r *Registry) Register(ctx context.Context, g Registration) (*Record, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	rules := r.rules(g.ID)
	f, err := r.fetcher(rules)
	if err != nil {
		return nil, err
	}
	c, d, at, err := find(ctx, f, g.URL)
	if err != nil {
		return nil, err
	}
	rec := &Record{Vouch: g.Vouch, Hosts: g.Hosts, RegisteredBy: g.By, ETag: d.ETag}
	rec.CardURL, rec.Organisation = at, g.Organisation
	if rec.ID = g.ID; rec.ID == "" {
		if rec.ID = idOf(c.Name); rec.ID == "" {
			return nil, fault.Invalid("id", "is missing, and the card's name %q makes none", c.Name)
		}
		rules = r.rules(rec.ID)
	}
	signature, err := r.believed(ctx, c, rec.origin(), rules)
	if err != nil {
		return nil, err
	}
	rec.take(c, signature)
	if err := r.unclaimed(ctx, rec); err != nil {
		return nil, err
	}
	rec.State, rec.FetchedAt, rec.FetchAt, rec.ProbeAt = partner.Discovered, r.Clock.Now(), r.jittered(r.RefreshEvery), r.Clock.Now()
	return rec, r.Store.Add(ctx, rec, Entry{Actor: g.By, What: Registered, Note: "from " + at, Digest: c.Digest})
}

// wantedEvery is how often it is looked whether wanted partners are there.
const wantedEvery = time.Minute

// registerWanted registers what is wanted and not known. What cannot be is tried again.
func (r *Registry) registerWanted(ctx context.Context) {
	now := r.Clock.Now()
	if r.Wanted == nil || now.Before(r.wantedAt) {
		return
	}
	r.wantedAt = now.Add(wantedEvery)
	for _, g := range r.Wanted() {
		_, err := r.Store.Record(ctx, g.ID)
		if fault.Is(err, fault.PartnerNotFound) {
			_, err = r.Register(ctx, g)
		}
		if err != nil && !fault.Is(err, fault.PartnerExists) && ctx.Err() == nil { // another replica was first
			r.Log.WarnContext(ctx, "a partner that an agreement names is not registered yet", "partner", g.ID, "card", g.URL, "error", err)
		}
	}
}

// unclaimed refuses a card that claims an organisation of which there is an approved
// partner from another site.
func (r *Registry) unclaimed(ctx context.Context, rec *Record) error {
	if rec.Vouch != ByCard || rec.Organisation == "" {
		return nil
	}
	others, err := r.Store.Search(ctx, Filter{Organisation: rec.Organisation, States: []partner.State{partner.Approved, partner.Suspended}, Limit: 100})
	if err != nil {
		return err
	}
	for _, o := range others {
		if strings.EqualFold(o.Organisation, rec.Organisation) && card.Site(o.CardURL) != card.Site(rec.CardURL) {
			return fault.New(fault.CardRefused, "the card claims to be of %s, whose partner %q is from %s, and comes from %s; if that is right, name the organisation when it is registered",
				rec.Organisation, o.ID, card.Site(o.CardURL), card.Site(rec.CardURL))
		}
	}
	return nil
}

// idOf makes an id of a name; empty when nothing is left of it.
func idOf(name string) string {
	words := slices.DeleteFunc(Words(name), func(w string) bool {
		return strings.ContainsFunc(w, func(c rune) bool { return c > 'z' })
	})
	id := strings.TrimLeft(strings.Join(words, "-"), "0123456789-")
	if len(id) > 63 {
		id = strings.TrimRight(id[:63], "-")
	}
	return id
}
