// Package account keeps the people who may sign in: who they are, what they may do,
// and how they prove it.
package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sabha.dev/chassis/identity"
)

// Errors of this package. The texts of ErrBad are for people.
var (
	// ErrBad says what of an account or a password cannot be.
	ErrBad = errors.New("this cannot be")
	// ErrTaken says that the organisation has an account of that subject.
	ErrTaken = errors.New("there is such an account already")
	// ErrNone says that there is no such account.
	ErrNone = errors.New("there is no such account")
	// ErrRefused says that a name and a password do not sign anybody in. It does not
	// say why, since that would tell which accounts there are.
	ErrRefused = errors.New("the name or the password is wrong, or the account is disabled")
	// ErrDisabled says that an account that an issuer signs in is disabled here.
	ErrDisabled = errors.New("the account is disabled")
	// ErrElsewhere says that somebody is signed in another way than was tried.
	ErrElsewhere = errors.New("this person is signed in another way")
)

// Local is the source of accounts whose password is kept here.
const Local = "local"

// Account is a person who may sign in.
type Account struct {
	Organisation, Subject string
	// Name as it is shown; empty means the subject.
	Name string
	// Source is Local or the issuer that signs the person in.
	Source string
	// Hash of the password; empty when none signs the person in.
	Hash string
	// Provisional says that somebody else has seen the password, so that it must be
	// changed at the first sign-in.
	Provisional bool
	// Roles are of identity.Roles.
	Roles  []string
	Groups []string
	// Disabled accounts sign nobody in, and have no sessions.
	Disabled bool
	Created  time.Time
	// SignedIn is when somebody last signed in; zero when nobody ever did.
	SignedIn time.Time
}

// Principal of the account. An administrator has every role.
func (a Account) Principal() identity.Principal {
	p := identity.Principal{Organisation: a.Organisation, Subject: a.Subject}
	for _, r := range identity.Roles() {
		if slices.Contains(a.Roles, r) || slices.Contains(a.Roles, identity.Admin) {
			p.Scopes = append(p.Scopes, r)
		}
	}
	for _, g := range a.Groups {
		p.Scopes = append(p.Scopes, identity.GroupScope(g))
	}
	return p
}

// Display is the name as it is shown.
func (a Account) Display() string {
	if a.Name != "" {
		return a.Name
	}
	return a.Subject
}

// Full is the name that signs the person in: the subject, behind the organisation
// and a slash when there is one.
func (a Account) Full() string {
	if a.Organisation == "" {
		return a.Subject
	}
	return a.Organisation + "/" + a.Subject
}

// Parse reads a name as Full gives it.
func Parse(full string) (organisation, subject string) {
	full = strings.TrimSpace(full)
	if organisation, subject, found := strings.Cut(full, "/"); found {
		return organisation, subject
	}
	return "", full
}

// Bounds of an account.
const (
	maxName   = 80 // characters
	maxGroups = 50
)

// check says what of an account cannot be. The error is ErrBad.
func (a Account) check() error {
	if err := a.Principal().Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	for _, r := range a.Roles {
		if !slices.Contains(identity.Roles(), r) {
			return fmt.Errorf("%w: %q is no role; choose of %s", ErrBad, r, strings.Join(identity.Roles(), ", "))
		}
	}
	if utf8.RuneCountInString(a.Name) > maxName || !utf8.ValidString(a.Name) || strings.ContainsFunc(a.Name, unicode.IsControl) {
		return fmt.Errorf("%w: a name has at most %d characters, in one line", ErrBad, maxName)
	}
	if len(a.Groups) > maxGroups {
		return fmt.Errorf("%w: a person belongs to at most %d groups", ErrBad, maxGroups)
	}
	return nil
}

// Store keeps accounts. Its errors are ErrTaken and ErrNone.
type Store interface {
	// Add stores a new account.
	Add(ctx context.Context, a Account) error
	// AddFirst stores an account unless there is any, and tells whether it did.
	AddFirst(ctx context.Context, a Account) (bool, error)
	Account(ctx context.Context, organisation, subject string) (Account, error)
	// Accounts lists all, by organisation and subject.
	Accounts(ctx context.Context) ([]Account, error)
	// Change stores name, roles, groups and whether an account is disabled.
	Change(ctx context.Context, a Account) error
	// SetPassword stores hash and provisional.
	SetPassword(ctx context.Context, a Account) error
	// SignedIn notes that somebody has signed in.
	SignedIn(ctx context.Context, a Account) error
	// Federate stores what an issuer says of a person, unless the account has another
	// source: then it is ErrElsewhere. It gives the account as it is.
	Federate(ctx context.Context, a Account) (Account, error)
}
