// Package sqlstore keeps the registry of partners in SQLite or PostgreSQL.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
)

// Store of partners.
type Store struct {
	// Tell, when set, is told which partner has changed, after it has.
	Tell func(id string)

	db    *sqldb.DB
	read  *sqldb.Prepared
	clock clock.Clock

	mu   sync.Mutex
	held map[string]held // by id; see Partner
	// changes counts those that this store has made.
	changes int64
}

// held is a partner as it was read.
type held struct {
	revision int64
	partner  *partner.Partner
	// looked is when its revision was last looked at, and changes how many this store had made.
	looked  time.Time
	changes int64
}

// maxHeld bounds how many are held. Those who are called are few.
const maxHeld = 1000

// believed is how long it is not looked for what another replica has changed.
const believed = 250 * time.Millisecond

// New makes a store over a migrated database.
func New(db *sqldb.DB, c clock.Clock) *Store {
	return &Store{db: db, read: db.Prepared(), clock: c, held: map[string]held{}}
}

const columns = `id, revision, organisation, name, description, version, tags, skills, protocol, card_url, card, digest, signature, hosts, vouch,
	registered_by, state, reason, discoverable, callable, refused, condition, problem, etag, fetched_at, fetch_at, online, probed_at, probe_at, probe_problem,
	trust, trust_parts, created_at, updated_at`

// brief leaves out the card, which no list shows.
var brief = strings.Replace(columns, " card, ", " '', ", 1)

type scanner interface{ Scan(...any) error }

func scan(row scanner) (*registry.Record, error) {
	var (
		r                                                       registry.Record
		tags, skills, card, hosts, parts                        string
		discoverable, callable, online                          int
		fetched, fetchAt, probed, probeAt, createdAt, updatedAt int64
	)
	err := row.Scan(&r.ID, &r.Revision, &r.Organisation, &r.Name, &r.Description, &r.Version, &tags, &skills, &r.Protocol, &r.CardURL, &card, &r.Digest,
		&r.Signature, &hosts, &r.Vouch, &r.RegisteredBy, &r.State, &r.Reason, &discoverable, &callable, &r.Refused, &r.Condition, &r.Problem, &r.ETag, &fetched, &fetchAt,
		&online, &probed, &probeAt, &r.ProbeProblem, &r.Trust, &parts, &createdAt, &updatedAt)
	if err != nil {
		return nil, err
	}
	for _, j := range []struct {
		text string
		into any
	}{{tags, &r.Tags}, {skills, &r.Skills}, {hosts, &r.Hosts}} {
		if err := json.Unmarshal([]byte(j.text), j.into); err != nil {
			return nil, fmt.Errorf("partner %s: %w", r.ID, err)
		}
	}
	if card != "" {
		r.Card = json.RawMessage(card)
	}
	if parts != "" {
		r.TrustParts = json.RawMessage(parts)
	}
	r.Discoverable, r.Callable, r.Online = discoverable != 0, callable != 0, online != 0
	r.FetchedAt, r.FetchAt, r.ProbedAt, r.ProbeAt = moment(fetched), moment(fetchAt), moment(probed), moment(probeAt)
	r.CreatedAt, r.UpdatedAt = moment(createdAt), moment(updatedAt)
	return &r, nil
}

// queryer reads, in a transaction or not.
type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// Record reads a partner with all that is kept of it. The error has the reason
// PARTNER_NOT_FOUND when there is none.
func (s *Store) Record(ctx context.Context, id string) (*registry.Record, error) {
	return load(ctx, s.read, id, "")
}

func load(ctx context.Context, q queryer, id, lock string) (*registry.Record, error) {
	if !partner.ValidID(id) {
		return nil, registry.Missing(id)
	}
	found, err := list(ctx, q, `SELECT `+columns+` FROM registry_partners WHERE id = $1`+lock, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, registry.Missing(id)
	}
	return found[0], nil
}

// Partner reads a partner, which the caller does not change. The error has the reason
// PARTNER_NOT_FOUND when there is none. Every call of a partner asks for it, so what has not
// changed since is not read again: what this store changes counts at once, what another
// replica does after a quarter of a second, and what probes and scores have made of Online
// and Trust may be older.
func (s *Store) Partner(ctx context.Context, id string) (*partner.Partner, error) {
	now := s.clock.Now()
	s.mu.Lock()
	h, known := s.held[id]
	changes := s.changes
	s.mu.Unlock()
	if since := now.Sub(h.looked); known && h.changes == changes && since >= 0 && since < believed {
		return h.partner, nil
	}
	revision, err := s.revision(ctx, id)
	if err != nil {
		return nil, err
	}
	if !known || h.revision != revision {
		r, err := s.Record(ctx, id)
		if err != nil {
			return nil, err
		}
		h.revision, h.partner = r.Revision, &r.Partner
	}
	h.looked, h.changes = now, changes
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) >= maxHeld {
		clear(s.held)
	}
	s.held[id] = h
	return h.partner, nil
}

// changed is called when a change has been stored, or may have been.
func (s *Store) changed() {
	s.mu.Lock()
	s.changes++
	s.mu.Unlock()
}

// revision of a partner, which every change but that of a probe or a score moves on.
func (s *Store) revision(ctx context.Context, id string) (n int64, err error) {
	if !partner.ValidID(id) {
		return 0, registry.Missing(id)
	}
	rows, err := s.read.QueryContext(ctx, `SELECT revision FROM registry_partners WHERE id = $1`, id)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	if rows.Next() {
		return n, rows.Scan(&n)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	return 0, registry.Missing(id)
}

// Partners reads all partners, by id, with their cards.
func (s *Store) Partners(ctx context.Context) ([]*partner.Partner, error) {
	records, err := list(ctx, s.read, `SELECT `+columns+` FROM registry_partners ORDER BY id`)
	if err != nil {
		return nil, err
	}
	all := make([]*partner.Partner, len(records))
	for i, r := range records {
		all[i] = &r.Partner
	}
	return all, nil
}

func list(ctx context.Context, q queryer, query string, args ...any) (_ []*registry.Record, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []*registry.Record
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// inTx changes a partner in a transaction.
func (s *Store) inTx(ctx context.Context, id string, f func(*sql.Tx) error) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	err = tx.Commit()
	s.changed()
	return s.told(id, err)
}

// told tells of a change that has come about; it gives back the error of one that has not.
func (s *Store) told(id string, err error) error {
	if err == nil && s.Tell != nil {
		s.Tell(id)
	}
	return err
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
