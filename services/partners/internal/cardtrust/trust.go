package cardtrust

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/fetch"
)

const (
	// keysFor is how long fetched keys are held, so that one that was withdrawn ends.
	keysFor = 10 * time.Minute
	// askAgainAfter bounds how often keys are fetched for ids that are not among them, and
	// after a failure.
	askAgainAfter = time.Minute
	// maxKeys bounds published keys, bytes; maxHeld how many sets are held.
	maxKeys = 64 << 10
	maxHeld = 1000
)

// ErrUnreachable is the error of keys that cannot be had at the moment: it says nothing
// about the card.
var ErrUnreachable = errors.New("the keys cannot be fetched at the moment")

// Checker checks the signatures of cards.
type Checker struct {
	clock clock.Clock

	mu   sync.Mutex
	held map[string]*published
}

type published struct {
	set   cardsig.KeySet
	err   error
	asked time.Time
}

// New makes a checker.
func New(c clock.Clock) *Checker { return &Checker{clock: c, held: map[string]*published{}} }

// Result of a check.
type Result string

// The results of a card that is taken.
const (
	Unsigned  Result = "none"
	Good      Result = "good"
	Unchecked Result = "unchecked" // it is signed, and the mode is off
)

// Check checks the card as it was received. Published keys are fetched with f. The error
// is that of a card that is not believed, with the reason CARD_REFUSED; it holds
// ErrUnreachable when keys could not be fetched.
func (c *Checker) Check(ctx context.Context, p Policy, f *fetch.Fetcher, read *card.Card) (Result, error) {
	switch {
	case p.Mode == Off && read.Signed:
		return Unchecked, nil
	case p.Mode == Off:
		return Unsigned, nil
	}
	var away error
	v := &cardsig.Verifier{Clock: c.clock, Algorithms: p.Algorithms, Keys: func(ctx context.Context, id, jku string) (cardsig.Key, error) {
		k, err := c.Key(ctx, p, f, id, jku)
		if errors.Is(err, ErrUnreachable) {
			away = err
		}
		return k, err
	}}
	_, err := v.Verify(ctx, read.Raw)
	switch {
	case err == nil:
		return Good, nil
	case errors.Is(err, cardsig.ErrUnsigned) && p.Mode == IfPresent:
		return Unsigned, nil
	case errors.Is(err, cardsig.ErrUnsigned):
		return "", refuse("it is not signed, and the agreement asks for a signature")
	case away != nil:
		return "", refuse("%v", err).Because(away)
	}
	return "", refuse("%v", err)
}

func refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.CardRefused, "the card is not believed: "+format, args...)
}

// Key finds the key that a signature names: a pinned one first.
func (c *Checker) Key(ctx context.Context, p Policy, f *fetch.Fetcher, id, jku string) (cardsig.Key, error) {
	if k, ok := p.Keys[id]; ok {
		return k, nil
	}
	if jku == "" {
		return cardsig.Key{}, errors.New("no pinned key has this id, and the signature does not say where it is published")
	}
	u, err := url.Parse(jku)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return cardsig.Key{}, errors.New("where it says that its key is published (jku) is no absolute URL")
	case u.Scheme != "https" && !card.Plain(jku):
		return cardsig.Key{}, errors.New("where it says that its key is published (jku) does not begin with https://")
	case !slices.Contains(p.JKU, strings.ToLower(u.Host)):
		return cardsig.Key{}, fmt.Errorf("it says that its key is published at %s (jku), which is not a host that keys are taken from", u.Host)
	}
	set, err := c.published(ctx, f, jku, id)
	if err != nil {
		return cardsig.Key{}, err
	}
	return set.Find(ctx, id, jku)
}

// published gives the keys at a URL. They are asked for again when they are old, or when
// an id is not among them and they have not just been asked for.
func (c *Checker) published(ctx context.Context, f *fetch.Fetcher, jku, id string) (cardsig.KeySet, error) {
	now := c.clock.Now()
	c.mu.Lock()
	h := c.held[jku]
	c.mu.Unlock()
	if h != nil {
		age := now.Sub(h.asked)
		_, known := h.set[id]
		if age < keysFor && known || age < askAgainAfter {
			return h.set, h.err
		}
	}
	next := &published{asked: now}
	doc, err := f.Get(ctx, fetch.Request{URL: jku, Accept: "application/jwk-set+json, application/json", Most: maxKeys})
	switch {
	case err != nil:
		next.err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	case doc.Status != http.StatusOK:
		next.err = fmt.Errorf("%w: the answer is HTTP %d", ErrUnreachable, doc.Status)
	default:
		next.set, next.err = cardsig.ParseKeys(doc.Body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) >= maxHeld {
		clear(c.held) // they are fetched again
	}
	c.held[jku] = next
	return next.set, next.err
}
