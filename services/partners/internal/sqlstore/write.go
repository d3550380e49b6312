package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/registry"
)

// Add stores a new partner with the first line of its history. The error has the reason
// PARTNER_EXISTS when its id or the URL of its card is there already.
func (s *Store) Add(ctx context.Context, r *registry.Record, e registry.Entry) error {
	return s.inTx(ctx, r.ID, func(tx *sql.Tx) error {
		var other string
		err := tx.QueryRowContext(ctx, `SELECT id FROM registry_partners WHERE id = $1 OR card_url = $2`, r.ID, r.CardURL).Scan(&other)
		switch {
		case err == nil && other == r.ID:
			return fault.New(fault.PartnerExists, "there is a partner %q already; give this one another id", r.ID)
		case err == nil:
			return fault.New(fault.PartnerExists, "the card at %s is that of the partner %q already", r.CardURL, other)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		now := s.clock.Now()
		r.Revision, r.CreatedAt, r.UpdatedAt = 1, now, now
		values, err := valuesOf(r)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO registry_partners (`+columns+`)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33,$34)
			ON CONFLICT DO NOTHING`, values...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fault.New(fault.PartnerExists, "the partner %q was registered at the same time", r.ID))
		}
		return s.after(ctx, tx, r, true, []registry.Entry{e})
	})
}

func valuesOf(r *registry.Record) ([]any, error) {
	var texts [3]string
	for i, v := range []any{append([]string{}, r.Tags...), r.Skills, append([]string{}, r.Hosts...)} {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		texts[i] = string(raw)
	}
	return []any{
		r.ID, r.Revision, r.Organisation, r.Name, r.Description, r.Version, texts[0], texts[1], string(r.Protocol), r.CardURL, string(r.Card), r.Digest,
		string(r.Signature), texts[2], string(r.Vouch), r.RegisteredBy, string(r.State), r.Reason, flag(r.Discoverable), flag(r.Callable), r.Refused,
		string(r.Condition), r.Problem, r.ETag, micros(r.FetchedAt), micros(r.FetchAt), flag(r.Online), micros(r.ProbedAt), micros(r.ProbeAt),
		r.ProbeProblem, r.Trust, string(r.TrustParts), micros(r.CreatedAt), micros(r.UpdatedAt),
	}, nil
}

// Update changes a partner. f gets the partner as it is, locked until the transaction
// ends, changes it and tells what is to be noted; an error of it writes nothing. What it
// gives back is the partner as it is then.
func (s *Store) Update(ctx context.Context, id string, f func(*registry.Update) error) (*registry.Record, error) {
	lock := ""
	if s.db.Dialect == sqldb.Postgres {
		lock = " FOR UPDATE"
	}
	var after *registry.Record
	err := s.inTx(ctx, id, func(tx *sql.Tx) error {
		r, err := load(ctx, tx, id, lock)
		if err != nil {
			return err
		}
		after = r
		u := &registry.Update{Record: r}
		if u.Pending, err = pending(ctx, tx, id); err != nil {
			return err
		}
		was, before := r.Digest, u.Pending
		if err := f(u); err != nil {
			return err
		}
		if u.Unchanged {
			return nil
		}
		r.Revision++
		r.UpdatedAt = s.clock.Now()
		values, err := valuesOf(r)
		if err != nil {
			return err
		}
		// Trust and what probes found are not written: they change beside this.
		_, err = tx.ExecContext(ctx, `UPDATE registry_partners SET revision = $2, organisation = $3, name = $4, description = $5, version = $6, tags = $7,
			skills = $8, protocol = $9, card_url = $10, card = $11, digest = $12, signature = $13, hosts = $14, vouch = $15, registered_by = $16, state = $17,
			reason = $18, discoverable = $19, callable = $20, refused = $21, condition = $22, problem = $23, etag = $24, fetched_at = $25,
			fetch_at = $26, updated_at = $27 WHERE id = $1`, append(values[:26:26], values[33])...)
		if err != nil {
			return err
		}
		if err := change(ctx, tx, id, before, u.Pending); err != nil {
			return err
		}
		return s.after(ctx, tx, r, was != r.Digest, u.Notes)
	})
	return after, err
}

// rowQueryer reads one row, in a transaction or not.
type rowQueryer interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// pending reads the change of a card that waits for a person.
func pending(ctx context.Context, q rowQueryer, id string) (*registry.Change, error) {
	var c registry.Change
	var card, diff string
	var found int64
	err := q.QueryRowContext(ctx, `SELECT digest, card, diff, signature, found_at FROM registry_changes WHERE partner_id = $1`, id).
		Scan(&c.Digest, &card, &diff, &c.Signature, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.Card, c.FoundAt = json.RawMessage(card), moment(found)
	return &c, json.Unmarshal([]byte(diff), &c.Diff)
}

func change(ctx context.Context, tx *sql.Tx, id string, before, now *registry.Change) error {
	switch {
	case before == now:
		return nil
	case now == nil:
		_, err := tx.ExecContext(ctx, `DELETE FROM registry_changes WHERE partner_id = $1`, id)
		return err
	}
	diff, err := json.Marshal(now.Diff)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO registry_changes (partner_id, digest, card, diff, signature, found_at) VALUES ($1,$2,$3,$4,$5,$6)
		ON CONFLICT (partner_id) DO UPDATE SET digest = excluded.digest, card = excluded.card, diff = excluded.diff, signature = excluded.signature,
		found_at = excluded.found_at`, id, now.Digest, string(now.Card), string(diff), string(now.Signature), micros(now.FoundAt))
	if err != nil {
		return err
	}
	return keep(ctx, tx, id, now.Digest, now.Card, micros(now.FoundAt))
}

// keep stores a card for good.
func keep(ctx context.Context, tx *sql.Tx, id, digest string, card []byte, at int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO registry_cards (partner_id, digest, card, seen_at) VALUES ($1,$2,$3,$4) ON CONFLICT DO NOTHING`,
		id, digest, string(card), at)
	return err
}

// after writes what goes with a change of a partner: its card, what searches find it by,
// its history and the events of it.
func (s *Store) after(ctx context.Context, tx *sql.Tx, r *registry.Record, card bool, notes []registry.Entry) error {
	if card {
		if err := keep(ctx, tx, r.ID, r.Digest, r.Card, micros(s.clock.Now())); err != nil {
			return err
		}
		if err := index(ctx, tx, r); err != nil {
			return err
		}
	}
	for _, e := range notes {
		if err := s.note(ctx, tx, r, e); err != nil {
			return err
		}
	}
	return nil
}

// termsAtOnce bounds the values of one statement.
const termsAtOnce = 200

func index(ctx context.Context, tx *sql.Tx, r *registry.Record) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM registry_terms WHERE partner_id = $1`, r.ID); err != nil {
		return err
	}
	terms := registry.TermsOf(&r.Partner)
	for len(terms) > 0 {
		n := min(len(terms), termsAtOnce)
		args := make([]any, 0, n+1)
		args = append(args, r.ID)
		for _, t := range terms[:n] {
			args = append(args, []byte(t))
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO registry_terms (partner_id, term) VALUES `+rows(n), args...); err != nil {
			return err
		}
		terms = terms[n:]
	}
	return nil
}
