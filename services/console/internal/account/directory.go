package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
)

// hashesAtOnce bounds the memory that guesses take: each holds 19 MiB.
const hashesAtOnce = 2

// Directory is who may sign in.
type Directory struct {
	store   Store
	clock   clock.Clock
	hashing chan struct{}
	changed chan struct{}
}

// New makes a directory over a store.
func New(store Store, c clock.Clock) *Directory {
	return &Directory{store: store, clock: c, hashing: make(chan struct{}, hashesAtOnce), changed: make(chan struct{}, 1)}
}

// Changed receives when accounts have been made or changed here since it last did.
func (d *Directory) Changed() <-chan struct{} { return d.changed }

// change notes that accounts have changed, unless they have not.
func (d *Directory) change(err error) error {
	if err == nil {
		select {
		case d.changed <- struct{}{}:
		default:
		}
	}
	return err
}

// hashed runs work that hashes, when its turn has come.
func (d *Directory) hashed(ctx context.Context, work func()) error {
	select {
	case d.hashing <- struct{}{}:
		defer func() { <-d.hashing }()
		work()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Authenticate gives the account that a name and a password sign in. ErrRefused is
// the answer to all that do not, after the same work: an account that does not exist
// cannot be told from a wrong password.
func (d *Directory) Authenticate(ctx context.Context, name, password string) (Account, error) {
	organisation, subject := Parse(name)
	a, err := d.store.Account(ctx, organisation, subject)
	if err != nil && !errors.Is(err, ErrNone) {
		return Account{}, err
	}
	known := err == nil && a.Source == Local && a.Hash != ""
	against := a.Hash
	if !known {
		against = nobody
	}
	var same bool
	if len(password) > maxPassword {
		password = ""
	}
	if err := d.hashed(ctx, func() { same = matches(against, password) }); err != nil {
		return Account{}, err
	}
	if !known || !same || a.Disabled {
		return Account{}, ErrRefused
	}
	return a, d.signedIn(ctx, &a)
}

func (d *Directory) signedIn(ctx context.Context, a *Account) error {
	a.SignedIn = d.clock.Now()
	return d.store.SignedIn(ctx, *a)
}

// Federate gives the account of a person whom an issuer has signed in, with the name,
// roles and groups that it states; it is made when there is none. The errors are
// ErrBad, ErrDisabled and ErrElsewhere.
func (d *Directory) Federate(ctx context.Context, a Account) (Account, error) {
	a.Hash, a.Created = "", d.clock.Now()
	a.Roles, a.Groups = tidy(a.Roles), tidy(a.Groups)
	if a.Source == "" || a.Source == Local {
		return Account{}, ErrElsewhere
	}
	if err := a.check(); err != nil {
		return Account{}, err
	}
	a, err := d.store.Federate(ctx, a)
	if err != nil {
		return Account{}, err
	}
	_ = d.change(nil)
	if a.Disabled {
		return Account{}, ErrDisabled
	}
	return a, d.signedIn(ctx, &a)
}

// Add makes an account. Without a password one is made and returned, which must be
// changed at the first sign-in. The errors are ErrBad and ErrTaken.
func (d *Directory) Add(ctx context.Context, a Account, password string) (string, error) {
	a.Source, a.Created = Local, d.clock.Now()
	a.Roles, a.Groups = tidy(a.Roles), tidy(a.Groups)
	if err := a.check(); err != nil {
		return "", err
	}
	made, err := d.set(ctx, &a, password)
	if err != nil {
		return "", err
	}
	return made, d.change(d.store.Add(ctx, a))
}

// set puts the hash of a password into an account, or that of one it makes and returns.
func (d *Directory) set(ctx context.Context, a *Account, password string) (made string, err error) {
	a.Provisional = password == ""
	if password == "" {
		made = newPassword()
		password = made
	} else if err := checkPassword(*a, password); err != nil {
		return "", err
	}
	return made, d.hashed(ctx, func() { a.Hash = hash(password) })
}

// First makes an administrator if there has never been any account, and returns the
// password; otherwise it returns an empty string. Nobody else has seen the password,
// so it need not be changed.
func (d *Directory) First(ctx context.Context) (string, error) {
	if all, err := d.store.Accounts(ctx); err != nil || len(all) > 0 {
		return "", err
	}
	a := Account{Subject: identity.Admin, Name: "Administrator", Source: Local, Roles: []string{identity.Admin}, Created: d.clock.Now()}
	password, err := d.set(ctx, &a, "")
	if err != nil {
		return "", err
	}
	a.Provisional = false
	if added, err := d.store.AddFirst(ctx, a); err != nil || !added {
		return "", err
	}
	return password, nil
}

// All lists the accounts, by organisation and subject.
func (d *Directory) All(ctx context.Context) ([]Account, error) { return d.store.Accounts(ctx) }

// Account gives an account; ErrNone when there is none.
func (d *Directory) Account(ctx context.Context, organisation, subject string) (Account, error) {
	return d.store.Account(ctx, organisation, subject)
}

// Change gives an account another name, roles, groups, and whether it is disabled.
// It takes effect at once, in sessions too. What an issuer states of a person comes
// back at their next sign-in. The errors are ErrBad and ErrNone.
func (d *Directory) Change(ctx context.Context, a Account) error {
	a.Roles, a.Groups = tidy(a.Roles), tidy(a.Groups)
	if err := a.check(); err != nil {
		return err
	}
	return d.change(d.store.Change(ctx, a))
}

// SetPassword gives an account another password, or one that is made and returned
// and must be changed at the next sign-in. The errors are ErrBad, ErrNone and
// ErrElsewhere.
func (d *Directory) SetPassword(ctx context.Context, organisation, subject, password string) (string, error) {
	a, err := d.local(ctx, organisation, subject)
	if err != nil {
		return "", err
	}
	made, err := d.set(ctx, &a, password)
	if err != nil {
		return "", err
	}
	return made, d.store.SetPassword(ctx, a)
}

func (d *Directory) local(ctx context.Context, organisation, subject string) (Account, error) {
	a, err := d.store.Account(ctx, organisation, subject)
	if err == nil && a.Source != Local {
		err = fmt.Errorf("%w: their password is kept by %s", ErrElsewhere, a.Source)
	}
	return a, err
}

// ChangePassword gives a person another password, who knows the one that it replaces;
// ErrRefused when not. The other errors are those of SetPassword.
func (d *Directory) ChangePassword(ctx context.Context, organisation, subject, old, password string) error {
	a, err := d.local(ctx, organisation, subject)
	if err != nil {
		return err
	}
	var same bool
	if err := d.hashed(ctx, func() { same = matches(a.Hash, old) }); err != nil {
		return err
	}
	switch {
	case !same || a.Disabled:
		return ErrRefused
	case password == "" || password == old:
		return fmt.Errorf("%w: choose another password than the one before", ErrBad)
	}
	if _, err := d.set(ctx, &a, password); err != nil {
		return err
	}
	return d.store.SetPassword(ctx, a)
}

// tidy sorts names and leaves out what is empty or there twice.
func tidy(names []string) []string {
	var out []string
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
