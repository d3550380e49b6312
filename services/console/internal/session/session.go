// Package session keeps who has signed in with which browser, and for how long.
package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/console/internal/account"
)

// ErrNone says that a token is that of no session, or of one that has ended.
var ErrNone = errors.New("there is no such session")

// Session is a browser in which somebody has signed in.
type Session struct {
	// Digest of the token; the token itself is only in the browser.
	Digest                string
	Organisation, Subject string
	Created               time.Time
	// Used is when a page was last asked for, to the nearest of noted.
	Used time.Time
	// Ends is when it ends however much it is used.
	Ends time.Time
}

// Limits of a session.
type Limits struct {
	// Idle is how long it lasts without being used, Whole at all.
	Idle, Whole time.Duration
}

// noted is how often it is noted that a session is used: one write a minute at most.
const noted = time.Minute

// Store keeps sessions.
type Store interface {
	// Begin stores a session and removes those that have ended: used before idle, or
	// whose end is before now.
	Begin(ctx context.Context, s Session, idle, now time.Time) error
	// Resume gives a session and the account as it is now; ErrNone without either.
	Resume(ctx context.Context, digest string) (Session, account.Account, error)
	// Use notes when a session was used.
	Use(ctx context.Context, digest string, at time.Time) error
	// End removes a session, EndAll those of an account but one.
	End(ctx context.Context, digest string) error
	EndAll(ctx context.Context, organisation, subject, but string) error
	// Of lists the sessions of an account, the newest first, those that have ended among
	// them while they are not removed.
	Of(ctx context.Context, organisation, subject string) ([]Session, error)
}

// Keeper begins sessions, and tells whether they last.
type Keeper struct {
	store  Store
	limits Limits
	clock  clock.Clock
}

// New makes a keeper.
func New(store Store, limits Limits, c clock.Clock) *Keeper {
	return &Keeper{store: store, limits: limits, clock: c}
}

// tokenSize is the randomness of a token, bytes.
const tokenSize = 32

// Begin begins a session of an account and gives its token. A token that the browser
// had before never becomes that of the session.
func (k *Keeper) Begin(ctx context.Context, a account.Account) (token string, err error) {
	random := make([]byte, tokenSize)
	_, _ = rand.Read(random) // it never fails (crypto/rand)
	token = base64.RawURLEncoding.EncodeToString(random)
	now := k.clock.Now()
	return token, k.store.Begin(ctx, Session{
		Digest: Digest(token), Organisation: a.Organisation, Subject: a.Subject, Created: now, Used: now, Ends: now.Add(k.limits.Whole),
	}, now.Add(-k.limits.Idle), now)
}

// Resume gives the account of a token's session as it is now, and notes that the
// session is used. ErrNone is the answer to one that has ended, or whose account is
// disabled; any other error means that the store could not be asked.
func (k *Keeper) Resume(ctx context.Context, token string) (account.Account, error) {
	s, a, err := k.look(ctx, token)
	if err != nil {
		return account.Account{}, err
	}
	if now := k.clock.Now(); now.Sub(s.Used) >= noted {
		if err := k.store.Use(ctx, s.Digest, now); err != nil {
			return account.Account{}, err
		}
	}
	return a, nil
}

// Look is Resume without the session being used.
func (k *Keeper) Look(ctx context.Context, token string) (account.Account, error) {
	_, a, err := k.look(ctx, token)
	return a, err
}

func (k *Keeper) look(ctx context.Context, token string) (Session, account.Account, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenSize) {
		return Session{}, account.Account{}, ErrNone
	}
	s, a, err := k.store.Resume(ctx, Digest(token))
	if err != nil {
		return Session{}, account.Account{}, err
	}
	if a.Disabled || k.ended(s) {
		return Session{}, account.Account{}, ErrNone
	}
	return s, a, nil
}

func (k *Keeper) ended(s Session) bool {
	now := k.clock.Now()
	return !now.Before(s.Ends) || now.Sub(s.Used) >= k.limits.Idle
}

// Of lists the sessions of an account that last, the newest first.
func (k *Keeper) Of(ctx context.Context, organisation, subject string) ([]Session, error) {
	all, err := k.store.Of(ctx, organisation, subject)
	return slices.DeleteFunc(all, k.ended), err
}

// End ends the session of a token; one that has ended stays so.
func (k *Keeper) End(ctx context.Context, token string) error {
	return k.store.End(ctx, Digest(token))
}

// EndAll ends every session of an account but that of a token, which may be empty.
func (k *Keeper) EndAll(ctx context.Context, organisation, subject, but string) error {
	return k.store.EndAll(ctx, organisation, subject, Digest(but))
}

// Whole is how long a session lasts at most.
func (k *Keeper) Whole() time.Duration { return k.limits.Whole }

// Digest is how the session of a token is looked up. A token has 256 random bits, so
// a plain hash keeps what is stored from being used, and how long a lookup takes
// tells nothing.
func Digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// CSRF makes a token that what is sent within a session carries. It is made of the
// session's own, so it lasts as long, and does not give it away. Each is another: a
// page that is compressed and repeats what somebody else chose would else tell it
// character by character (the attack is known as BREACH).
func CSRF(token string) string {
	mask := make([]byte, sha256.Size)
	_, _ = rand.Read(mask)
	return base64.RawURLEncoding.EncodeToString(append(mask, masked(token, mask)...))
}

// Checks tells whether CSRF made a token for the session.
func Checks(token, csrf string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(csrf)
	if err != nil || len(raw) != 2*sha256.Size {
		return false
	}
	return hmac.Equal(raw[sha256.Size:], masked(token, raw[:sha256.Size]))
}

func masked(token string, mask []byte) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("csrf"))
	mac.Write(mask)
	return mac.Sum(nil)
}
