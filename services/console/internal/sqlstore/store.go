// Package sqlstore keeps accounts, sessions and saved filters in SQL.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/session"
)

// Store is over a migrated database. It is safe for concurrent use.
type Store struct{ db *sqldb.DB }

// New makes a store.
func New(db *sqldb.DB) *Store { return &Store{db} }

var (
	_ account.Store = (*Store)(nil)
	_ session.Store = (*Store)(nil)
)

const accountColumns = `a.organisation, a.subject, a.name, a.source, a.hash, a.provisional, a.roles, a.member_of, a.disabled, a.created_at, a.signed_in_at`

type row interface{ Scan(into ...any) error }

// scanAccount reads accountColumns, before them what is more.
func scanAccount(r row, more ...any) (account.Account, error) {
	var (
		a                   account.Account
		roles, groups       string
		provisional, banned int64
		created, signedIn   int64
	)
	err := r.Scan(append(more, &a.Organisation, &a.Subject, &a.Name, &a.Source, &a.Hash, &provisional, &roles, &groups, &banned, &created, &signedIn)...)
	if err != nil {
		return account.Account{}, err
	}
	a.Provisional, a.Disabled = provisional != 0, banned != 0
	a.Roles, a.Groups = strings.Fields(roles), strings.Fields(groups)
	a.Created, a.SignedIn = when(created), when(signedIn)
	return a, nil
}

func when(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func words(all []string) string { return strings.Join(all, " ") }

const insertAccount = `INSERT INTO accounts (organisation, subject, name, source, hash, provisional, roles, member_of, disabled, created_at)`

// Add stores a new account.
func (s *Store) Add(ctx context.Context, a account.Account) error {
	n, err := s.changed(ctx, insertAccount+` VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		a.Organisation, a.Subject, a.Name, a.Source, a.Hash, flag(a.Provisional), words(a.Roles), words(a.Groups), flag(a.Disabled), nanos(a.Created))
	if err == nil && n == 0 {
		err = account.ErrTaken
	}
	return named("add an account", err)
}

// AddFirst stores an account unless there is any. Of several that are added at once
// only one is, since all have the same name.
func (s *Store) AddFirst(ctx context.Context, a account.Account) (bool, error) {
	n, err := s.changed(ctx, insertAccount+`
		SELECT $1, $2, $3, $4, $5, CAST($6 AS BIGINT), $7, $8, CAST($9 AS BIGINT), CAST($10 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM accounts) ON CONFLICT DO NOTHING`,
		a.Organisation, a.Subject, a.Name, a.Source, a.Hash, flag(a.Provisional), words(a.Roles), words(a.Groups), flag(a.Disabled), nanos(a.Created))
	return n == 1, named("add the first account", err)
}

// Account gives an account.
func (s *Store) Account(ctx context.Context, organisation, subject string) (account.Account, error) {
	a, err := scanAccount(s.db.Read.QueryRowContext(ctx, `SELECT `+accountColumns+` FROM accounts a WHERE a.organisation = $1 AND a.subject = $2`, organisation, subject))
	if errors.Is(err, sql.ErrNoRows) {
		return account.Account{}, account.ErrNone
	}
	return a, named("read an account", err)
}

// Accounts lists all, by organisation and subject.
func (s *Store) Accounts(ctx context.Context) ([]account.Account, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+accountColumns+` FROM accounts a ORDER BY a.organisation, a.subject`)
	if err != nil {
		return nil, named("list accounts", err)
	}
	defer func() { _ = rows.Close() }()
	var all []account.Account
	for rows.Next() {
		a, err := scanAccount(rows)
		if err != nil {
			return nil, named("list accounts", err)
		}
		all = append(all, a)
	}
	return all, named("list accounts", rows.Err())
}

// Change stores name, roles, groups and whether an account is disabled.
func (s *Store) Change(ctx context.Context, a account.Account) error {
	return s.one(ctx, "change an account", `UPDATE accounts SET name = $3, roles = $4, member_of = $5, disabled = $6 WHERE organisation = $1 AND subject = $2`,
		a.Organisation, a.Subject, a.Name, words(a.Roles), words(a.Groups), flag(a.Disabled))
}

// SetPassword stores the hash and whether somebody else has seen the password.
func (s *Store) SetPassword(ctx context.Context, a account.Account) error {
	return s.one(ctx, "change a password", `UPDATE accounts SET hash = $3, provisional = $4 WHERE organisation = $1 AND subject = $2`,
		a.Organisation, a.Subject, a.Hash, flag(a.Provisional))
}

// SignedIn notes when somebody signed in.
func (s *Store) SignedIn(ctx context.Context, a account.Account) error {
	return s.one(ctx, "note a sign-in", `UPDATE accounts SET signed_in_at = $3 WHERE organisation = $1 AND subject = $2`, a.Organisation, a.Subject, nanos(a.SignedIn))
}

// Federate stores what an issuer says of a person.
func (s *Store) Federate(ctx context.Context, a account.Account) (account.Account, error) {
	n, err := s.changed(ctx, insertAccount+` VALUES ($1, $2, $3, $4, '', 0, $5, $6, 0, $7)
		ON CONFLICT (organisation, subject) DO UPDATE SET name = excluded.name, roles = excluded.roles, member_of = excluded.member_of
		WHERE accounts.source = excluded.source`,
		a.Organisation, a.Subject, a.Name, a.Source, words(a.Roles), words(a.Groups), nanos(a.Created))
	if err != nil {
		return account.Account{}, named("store what an issuer says", err)
	}
	if n == 0 {
		return account.Account{}, account.ErrElsewhere
	}
	// Written a moment ago, so it is read where it was written.
	a, err = scanAccount(s.db.Write.QueryRowContext(ctx, `SELECT `+accountColumns+` FROM accounts a WHERE a.organisation = $1 AND a.subject = $2`, a.Organisation, a.Subject))
	return a, named("read an account", err)
}

// changed gives how many rows a statement changed.
func (s *Store) changed(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := s.db.Write.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// one changes one account; ErrNone when there is none.
func (s *Store) one(ctx context.Context, what, query string, args ...any) error {
	n, err := s.changed(ctx, query, args...)
	if err == nil && n == 0 {
		err = account.ErrNone
	}
	return named(what, err)
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
