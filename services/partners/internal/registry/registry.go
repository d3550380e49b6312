package registry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/push"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/fetch"
	"sabha.dev/services/partners/internal/partner"
)

// Store is where partners are kept.
type Store interface {
	Record(ctx context.Context, id string) (*Record, error)
	Search(ctx context.Context, f Filter) ([]*Record, error)
	Pending(ctx context.Context, id string) (*Change, error)
	Changes(ctx context.Context, after string, limit int) ([]Waiting, error)
	ChangeWaits(ctx context.Context, ids []string) (map[string]bool, error)
	History(ctx context.Context, id string, below int64, limit int) ([]Entry, error)
	Add(ctx context.Context, r *Record, e Entry) error
	Update(ctx context.Context, id string, f func(*Update) error) (*Record, error)
	ClaimFetches(ctx context.Context, now, again time.Time, limit int) ([]string, error)
	ClaimProbes(ctx context.Context, now, again time.Time, limit int) ([]string, error)
	Probed(ctx context.Context, id string, p Probe) error
}

// Waiting is a change of a partner that waits for a person.
type Waiting struct {
	Partner string
	Change
}

// Rules are what is agreed with a partner about its card.
type Rules struct {
	// Signatures that its cards need; nil for [cardtrust.Default].
	Signatures *cardtrust.Policy
	// Networks that are open for it beside those that are open for all, as CIDRs.
	Networks []string
}

// Config is what a registry works with.
type Config struct {
	Store Store
	// Rules of a partner; nil: none has any.
	Rules func(id string) Rules
	// Networks that are open for all partners beside public ones, as CIDRs.
	Networks []string
	// RefreshEvery is how often cards are read again, ProbeEvery how often listed partners are asked
	// whether they are there.
	RefreshEvery, ProbeEvery time.Duration
	// Wanted, if any, are registered by themselves when they are not known: the cards that
	// agreements name.
	Wanted func() []Registration
	// Probed, if any, hears what each probe found.
	Probed func(ctx context.Context, id string, ok bool)
	Clock  clock.Clock
	Log    *slog.Logger
	// Random gives numbers from 0 to 1, for times that do not fall together.
	Random func() float64
}

// Registry knows the partners.
type Registry struct {
	Config
	trust *cardtrust.Checker

	wantedAt time.Time // when they are looked at again; of Run alone
	mu       sync.Mutex
	fetchers map[string]*fetch.Fetcher // by the networks that they reach
}

// New makes a registry. It fails when a network of the configuration is none.
func New(c Config) (*Registry, error) {
	r := &Registry{Config: c, trust: cardtrust.New(c.Clock), fetchers: map[string]*fetch.Fetcher{}}
	_, err := r.fetcher(Rules{})
	return r, err
}

// Close lets connections go.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.fetchers {
		f.Close()
	}
}

func (r *Registry) rules(id string) Rules {
	if r.Config.Rules == nil {
		return Rules{}
	}
	return r.Config.Rules(id)
}

// maxFetchers bounds how many are kept: agreements come and go.
const maxFetchers = 256

func (r *Registry) fetcher(rules Rules) (*fetch.Fetcher, error) {
	networks := slices.Concat(r.Networks, rules.Networks)
	key := strings.Join(networks, " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.fetchers[key]; ok {
		return f, nil
	}
	f, err := fetch.New(networks)
	if err != nil {
		return nil, err
	}
	if len(r.fetchers) >= maxFetchers {
		for _, old := range r.fetchers {
			old.Close()
		}
		clear(r.fetchers)
	}
	r.fetchers[key] = f
	return f, nil
}

// believed checks that a card holds together with where it comes from, and its signatures.
func (r *Registry) believed(ctx context.Context, c *card.Card, o card.Origin, rules Rules) (cardtrust.Result, error) {
	if err := c.CheckOrigin(o); err != nil {
		return "", err
	}
	f, err := r.fetcher(rules)
	if err != nil {
		return "", err
	}
	return r.trust.Check(ctx, rules.policy(o.URL), f, c)
}

// policy is what is believed of whom a card at a URL describes.
func (r Rules) policy(cardURL string) cardtrust.Policy {
	if r.Signatures != nil {
		return *r.Signatures
	}
	return cardtrust.Default(cardURL)
}

// Notified says whether the notifications of a partner need signatures.
func (r *Registry) Notified(p *partner.Partner) cardtrust.Policy {
	return r.rules(p.ID).policy(p.CardURL)
}

// NotifierKey finds the key that the signature of a partner's notification names. Where
// that does not say where it is published, it is looked for beside the card, if the host of
// the card is one that keys are taken from. The error holds [cardtrust.ErrUnreachable] when
// keys cannot be fetched at the moment.
func (r *Registry) NotifierKey(ctx context.Context, p *partner.Partner, id, jku string) (cardsig.Key, error) {
	rules := r.rules(p.ID)
	f, err := r.fetcher(rules)
	if err != nil {
		return cardsig.Key{}, err
	}
	if u, err := url.Parse(p.CardURL); jku == "" && err == nil && u.Host != "" {
		jku = u.Scheme + "://" + u.Host + push.KeysPath
	}
	return r.trust.Key(ctx, rules.policy(p.CardURL), f, id, jku)
}

// origin is where the card of a partner comes from.
func (u *Record) origin() card.Origin {
	return card.Origin{URL: u.CardURL, Hosts: u.Hosts, Vouched: u.Vouch == ByPerson}
}

// take makes a card the one of a partner.
func (u *Record) take(c *card.Card, signature cardtrust.Result) {
	u.Name, u.Description, u.Version, u.Tags, u.Skills, u.Protocol = c.Name, c.Description, c.Version, c.Tags, c.Skills, c.Protocol
	u.Card, u.Digest, u.Signature = c.Raw, c.Digest, signature
	if u.Vouch == ByCard {
		u.Organisation = c.Organisation
	}
}

// jittered is about d from now, so that what was registered together does not stay so.
func (r *Registry) jittered(d time.Duration) time.Time {
	return r.Clock.Now().Add(d*9/10 + time.Duration(r.Random()*float64(d/5)))
}

func detail(all []card.Difference) json.RawMessage {
	raw, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return raw
}

// Partner is one that is there, for what only reads it.
func (r *Registry) Partner(ctx context.Context, id string) (*partner.Partner, error) {
	rec, err := r.Store.Record(ctx, id)
	if err != nil {
		return nil, err
	}
	return &rec.Partner, nil
}

var errKeys = cardtrust.ErrUnreachable

// away tells whether an error says nothing about the card: something else is not there.
func away(err error) bool { return errors.Is(err, errKeys) }
