package callers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
)

// Freshness bounds how long a verified key is believed without asking the
// database: a key revoked by another process stops working within it.
const Freshness = 5 * time.Second

// remembered bounds the verified keys in memory; a full memory starts afresh.
const remembered = 8192

// Store keeps API keys. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	clock clock.Clock
	log   *slog.Logger

	mu       sync.RWMutex
	verified map[digest]verified
}

type verified struct {
	key   Key
	until time.Time
}

// New makes a store over a migrated database.
func New(db *sqldb.DB, c clock.Clock, log *slog.Logger) *Store {
	return &Store{db: db, clock: c, log: log, verified: map[digest]verified{}}
}

// Create makes a key for a principal and returns it with its secret, which is
// not kept and cannot be shown again. A principal that is not well formed gives ErrOwner.
func (s *Store) Create(ctx context.Context, p identity.Principal) (Key, string, error) {
	if err := checkOwner(p); err != nil {
		return Key{}, "", err
	}
	k, secret := Key{ID: newID(), Principal: p, Created: s.clock.Now()}, newSecret()
	_, err := s.db.Write.ExecContext(ctx,
		`INSERT INTO api_keys (id, digest, organisation, subject, scopes, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		k.ID, digestOf(secret).String(), p.Organisation, p.Subject, strings.Join(p.Scopes, " "), k.Created.UnixNano())
	if err != nil {
		return Key{}, "", fmt.Errorf("create API key: %w", err)
	}
	return k, secret, nil
}

// firstID is that of the key made at the first start. It is fixed, so that of
// several replicas that start at once only one makes it.
const firstID = "key-first"

// First makes a key for a principal if there has never been any, and returns its
// secret; otherwise it returns an empty string.
func (s *Store) First(ctx context.Context, p identity.Principal) (string, error) {
	if err := checkOwner(p); err != nil {
		return "", err
	}
	secret := newSecret()
	res, err := s.db.Write.ExecContext(ctx,
		`INSERT INTO api_keys (id, digest, organisation, subject, scopes, created_at)
		 SELECT $1, $2, $3, $4, $5, CAST($6 AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM api_keys) ON CONFLICT (id) DO NOTHING`,
		firstID, digestOf(secret).String(), p.Organisation, p.Subject, strings.Join(p.Scopes, " "), s.clock.Now().UnixNano())
	if err != nil {
		return "", fmt.Errorf("create the first API key: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return "", err
	}
	return secret, nil
}

const columns = `id, organisation, subject, scopes, created_at, revoked_at, last_used`

type row interface{ Scan(into ...any) error }

func scan(r row) (Key, error) {
	var (
		k       Key
		scopes  string
		created int64
		revoked sql.NullInt64
	)
	if err := r.Scan(&k.ID, &k.Principal.Organisation, &k.Principal.Subject, &scopes, &created, &revoked, &k.LastUsed); err != nil {
		return Key{}, err
	}
	k.Principal.Scopes = strings.Fields(scopes)
	k.Created = time.Unix(0, created).UTC()
	if revoked.Valid {
		k.Revoked = time.Unix(0, revoked.Int64).UTC()
	}
	return k, nil
}

// List gives every key, revoked ones too, oldest first.
func (s *Store) List(ctx context.Context) ([]Key, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+columns+` FROM api_keys ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []Key
	for rows.Next() {
		k, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("list API keys: %w", err)
		}
		list = append(list, k)
	}
	return list, rows.Err()
}

// Revoke ends a key for good; ending it twice changes nothing. It stops working
// within Freshness in every process. An id that does not exist gives ErrNoKey.
func (s *Store) Revoke(ctx context.Context, id string) error {
	res, err := s.db.Write.ExecContext(ctx,
		`UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1`, id, s.clock.Now().UnixNano())
	if err != nil {
		return fmt.Errorf("revoke API key: %w", err)
	}
	s.mu.Lock()
	clear(s.verified)
	s.mu.Unlock()
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("%w: %q", ErrNoKey, id))
	}
	return nil
}

// Verify gives the key in force that has a secret. ErrUnknown is the answer for
// a secret that is malformed, unknown or revoked; any other error means that the
// database could not be asked.
func (s *Store) Verify(ctx context.Context, secret string) (Key, error) {
	if !wellFormed(secret) {
		return Key{}, ErrUnknown
	}
	now, d := s.clock.Now(), digestOf(secret)
	s.mu.RLock()
	known, ok := s.verified[d]
	s.mu.RUnlock()
	if ok && now.Before(known.until) {
		return known.key, nil
	}
	k, err := scan(s.db.Read.QueryRowContext(ctx, `SELECT `+columns+` FROM api_keys WHERE digest = $1`, d.String()))
	if errors.Is(err, sql.ErrNoRows) || (err == nil && !k.Revoked.IsZero()) {
		s.forget(d)
		return Key{}, ErrUnknown
	}
	if err != nil {
		return Key{}, fmt.Errorf("look up API key: %w", err)
	}
	s.used(ctx, &k, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verified) >= remembered {
		clear(s.verified)
	}
	s.verified[d] = verified{k, now.Add(Freshness)}
	return k, nil
}

func (s *Store) forget(d digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.verified, d)
}

// used notes the day of use: one write a day and key, not one a call. A key is
// not refused because its use could not be noted.
func (s *Store) used(ctx context.Context, k *Key, now time.Time) {
	today := now.UTC().Format(time.DateOnly)
	if k.LastUsed >= today {
		return
	}
	_, err := s.db.Write.ExecContext(ctx, `UPDATE api_keys SET last_used = $2 WHERE id = $1 AND last_used < $2`, k.ID, today)
	if err != nil {
		s.log.Warn("the use of an API key could not be noted", "key", k.ID, "error", err)
		return
	}
	k.LastUsed = today
}
