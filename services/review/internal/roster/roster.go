// Package roster remembers who has been at the desk or has an account at the console, and
// what they may do. Whoever vouches for somebody, an API key, an account, an identity
// provider, it is one person.
package roster

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/review/internal/item"
)

const (
	// again is how long what is stored of a person is good without being written anew.
	again = time.Hour
	// lately is how long ago somebody may have been at the desk to be on the roster.
	lately = 90 * 24 * time.Hour
	// maxNoted bounds what a replica remembers of what it has written.
	maxNoted = 10_000
	// maxListed bounds a list of people.
	maxListed = 1000
)

// Roster is who has been at the desk.
type Roster struct {
	db    *sqldb.DB
	clock clock.Clock

	mu    sync.Mutex
	noted map[string]note
}

type note struct {
	scopes []string
	at     time.Time
}

// New makes the roster of a migrated database.
func New(db *sqldb.DB, c clock.Clock) *Roster {
	return &Roster{db: db, clock: c, noted: map[string]note{}}
}

// Note takes down that a person is at the desk. It writes when it has nothing of the
// last hour, or the person may do other things since.
func (r *Roster) Note(ctx context.Context, p item.Person) error {
	now, scopes := r.clock.Now(), p.Scopes()
	slices.Sort(scopes)
	r.mu.Lock()
	last, known := r.noted[p.Key]
	r.mu.Unlock()
	if known && now.Sub(last.at) < again && slices.Equal(last.scopes, scopes) {
		return nil
	}
	raw, err := json.Marshal(append([]string{}, scopes...))
	if err != nil {
		return err
	}
	if _, err := r.db.Write.ExecContext(ctx, `INSERT INTO review_people (person, scopes, seen_at) VALUES ($1, $2, $3)
		ON CONFLICT (person) DO UPDATE SET seen_at = excluded.seen_at,
		scopes = CASE WHEN review_people.account = 2 THEN review_people.scopes ELSE excluded.scopes END`, p.Key, string(raw), now.UnixMicro()); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.noted) >= maxNoted {
		clear(r.noted)
	}
	r.noted[p.Key] = note{scopes, now}
	return nil
}

// What the console knows of a person.
const (
	enabled  = 1
	disabled = 2
)

// Account is what the console knows of a person.
type Account struct {
	Person   item.Person
	Disabled bool
}

// NoteAccounts takes down who has an account. Whose is disabled may do nothing.
func (r *Roster) NoteAccounts(ctx context.Context, all []Account) error {
	for _, a := range all {
		state, scopes := enabled, a.Person.Scopes()
		slices.Sort(scopes)
		if a.Disabled {
			state, scopes = disabled, nil
		}
		raw, err := json.Marshal(append([]string{}, scopes...))
		if err != nil {
			return err
		}
		if _, err := r.db.Write.ExecContext(ctx, `INSERT INTO review_people (person, scopes, seen_at, account) VALUES ($1, $2, 0, $3)
			ON CONFLICT (person) DO UPDATE SET scopes = excluded.scopes, account = excluded.account
			WHERE review_people.scopes <> excluded.scopes OR review_people.account <> excluded.account`, a.Person.Key, string(raw), state); err != nil {
			return err
		}
	}
	return nil
}

// Disabled tells whether the account of a person is.
func (r *Roster) Disabled(ctx context.Context, key string) (bool, error) {
	var state int
	err := r.db.Read.QueryRowContext(ctx, `SELECT account FROM review_people WHERE person = $1`, key).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return state == disabled, err
}

// Find gives a person who has been at the desk, however long ago, or has an account; false
// for others.
func (r *Roster) Find(ctx context.Context, key string) (item.Person, bool, error) {
	var raw string
	err := r.db.Read.QueryRowContext(ctx, `SELECT scopes FROM review_people WHERE person = $1`, key).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return item.Person{}, false, nil
	}
	if err != nil {
		return item.Person{}, false, err
	}
	p, err := person(key, raw)
	return p, err == nil, err
}

// Lately gives the people who have been at the desk in the last 90 days or have an account,
// by name; of very many those who were there last.
func (r *Roster) Lately(ctx context.Context) ([]item.Person, error) {
	rows, err := r.db.Read.QueryContext(ctx, `SELECT person, scopes FROM review_people WHERE (seen_at > $1 OR account = 1) AND account <> 2 ORDER BY seen_at DESC, person LIMIT $2`,
		r.clock.Now().Add(-lately).UnixMicro(), maxListed)
	if err != nil {
		return nil, err
	}
	var all []item.Person
	for rows.Next() {
		var key, raw string
		if err := rows.Scan(&key, &raw); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		p, err := person(key, raw)
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b item.Person) int { return strings.Compare(a.Key, b.Key) })
	return all, errors.Join(rows.Err(), rows.Close())
}

func person(key, raw string) (item.Person, error) {
	var scopes []string
	if err := json.Unmarshal([]byte(raw), &scopes); err != nil {
		return item.Person{}, err
	}
	return item.PersonWith(key, scopes), nil
}
