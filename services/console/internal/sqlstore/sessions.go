package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/session"
)

// Begin stores a session and removes those that have ended.
func (s *Store) Begin(ctx context.Context, one session.Session, idle, now time.Time) error {
	if _, err := s.changed(ctx, `DELETE FROM sessions WHERE ends_at <= $1 OR used_at <= $2`, nanos(now), nanos(idle)); err != nil {
		return named("remove sessions that have ended", err)
	}
	_, err := s.changed(ctx, `INSERT INTO sessions (digest, organisation, subject, created_at, used_at, ends_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		one.Digest, one.Organisation, one.Subject, nanos(one.Created), nanos(one.Used), nanos(one.Ends))
	return named("begin a session", err)
}

// Resume gives a session and the account as it is now.
func (s *Store) Resume(ctx context.Context, digest string) (session.Session, account.Account, error) {
	one := session.Session{Digest: digest}
	var created, used, ends int64
	a, err := scanAccount(s.db.Read.QueryRowContext(ctx, `SELECT x.created_at, x.used_at, x.ends_at, `+accountColumns+`
		FROM sessions x JOIN accounts a ON a.organisation = x.organisation AND a.subject = x.subject WHERE x.digest = $1`, digest), &created, &used, &ends)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Session{}, account.Account{}, session.ErrNone
	}
	if err != nil {
		return session.Session{}, account.Account{}, named("resume a session", err)
	}
	one.Organisation, one.Subject = a.Organisation, a.Subject
	one.Created, one.Used, one.Ends = when(created), when(used), when(ends)
	return one, a, nil
}

// Use notes when a session was used.
func (s *Store) Use(ctx context.Context, digest string, at time.Time) error {
	_, err := s.changed(ctx, `UPDATE sessions SET used_at = $2 WHERE digest = $1`, digest, nanos(at))
	return named("note the use of a session", err)
}

// End removes a session.
func (s *Store) End(ctx context.Context, digest string) error {
	_, err := s.changed(ctx, `DELETE FROM sessions WHERE digest = $1`, digest)
	return named("end a session", err)
}

// EndAll removes the sessions of an account but one.
func (s *Store) EndAll(ctx context.Context, organisation, subject, but string) error {
	_, err := s.changed(ctx, `DELETE FROM sessions WHERE organisation = $1 AND subject = $2 AND digest <> $3`, organisation, subject, but)
	return named("end the sessions of an account", err)
}

// Of lists the sessions of an account, the newest first.
func (s *Store) Of(ctx context.Context, organisation, subject string) ([]session.Session, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT digest, created_at, used_at, ends_at FROM sessions
		WHERE organisation = $1 AND subject = $2 ORDER BY created_at DESC, digest`, organisation, subject)
	if err != nil {
		return nil, named("list the sessions of an account", err)
	}
	defer func() { _ = rows.Close() }()
	var all []session.Session
	for rows.Next() {
		one := session.Session{Organisation: organisation, Subject: subject}
		var created, used, ends int64
		if err := rows.Scan(&one.Digest, &created, &used, &ends); err != nil {
			return nil, named("list the sessions of an account", err)
		}
		one.Created, one.Used, one.Ends = when(created), when(used), when(ends)
		all = append(all, one)
	}
	return all, named("list the sessions of an account", rows.Err())
}
