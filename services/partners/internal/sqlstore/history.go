package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"sabha.dev/services/partners/internal/registry"
)

// note adds a line to the history of a partner, and tells of it.
func (s *Store) note(ctx context.Context, tx *sql.Tx, r *registry.Record, e registry.Entry) error {
	if e.At.IsZero() {
		e.At = s.clock.Now()
	}
	err := tx.QueryRowContext(ctx, `INSERT INTO registry_history (partner_id, seq, at, actor, what, note, digest, detail)
		SELECT $1, COALESCE(MAX(seq), 0) + 1, $2, $3, $4, $5, $6, $7 FROM registry_history WHERE partner_id = $1 RETURNING seq`,
		r.ID, micros(e.At), e.Actor, e.What, e.Note, e.Digest, string(e.Detail)).Scan(&e.Seq)
	if err != nil {
		return err
	}
	body, err := json.Marshal(registry.Told(r, e))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO partner_events (id, subject, body, at) VALUES ($1,$2,$3,$4)`,
		r.ID+"/"+strconv.FormatInt(e.Seq, 10), registry.Subject(r.ID, e.What), string(body), micros(e.At))
	return err
}

// History reads what happened to a partner, the newest first, below a number; 0 is from the end.
func (s *Store) History(ctx context.Context, id string, below int64, limit int) (_ []registry.Entry, err error) {
	if below == 0 {
		below = 1 << 62
	}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT seq, at, actor, what, note, digest, detail FROM registry_history
		WHERE partner_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`, id, below, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []registry.Entry
	for rows.Next() {
		var e registry.Entry
		var at int64
		var detail string
		if err := rows.Scan(&e.Seq, &at, &e.Actor, &e.What, &e.Note, &e.Digest, &detail); err != nil {
			return nil, err
		}
		if e.At = moment(at); detail != "" {
			e.Detail = json.RawMessage(detail)
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

// Pending reads the change of a partner's card that waits for a person; nil for none.
func (s *Store) Pending(ctx context.Context, id string) (*registry.Change, error) {
	return pending(ctx, s.db.Read, id)
}

// SetTrust stores how far a partner is trusted, from 0 to 1, and what that is made of.
func (s *Store) SetTrust(ctx context.Context, id string, score float64, parts json.RawMessage) error {
	res, err := s.db.Write.ExecContext(ctx, `UPDATE registry_partners SET trust = $2, trust_parts = $3 WHERE id = $1`, id, score, string(parts))
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, registry.Missing(id))
	}
	return s.told(id, nil)
}

// Suspend stops a partner. One that is suspended stays as it is.
func (s *Store) Suspend(ctx context.Context, id, by, reason string) error {
	_, err := s.Update(ctx, id, func(u *registry.Update) error { return u.Suspend(by, reason) })
	return err
}

// Events reads events that wait to be told, the oldest first.
func (s *Store) Events(ctx context.Context, limit int) (_ []registry.Event, err error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT id, subject, body FROM partner_events ORDER BY at, id LIMIT $1`, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []registry.Event
	for rows.Next() {
		var e registry.Event
		var body string
		if err := rows.Scan(&e.ID, &e.Subject, &body); err != nil {
			return nil, err
		}
		e.Body = []byte(body)
		all = append(all, e)
	}
	return all, rows.Err()
}

// EventsTold removes events that were told.
func (s *Store) EventsTold(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	marks, args := marked(ids)
	_, err := s.db.Write.ExecContext(ctx, `DELETE FROM partner_events WHERE id IN (`+marks+`)`, args...)
	return err
}

// marked gives placeholders for texts.
func marked(texts []string) (string, []any) {
	marks, args := make([]string, len(texts)), make([]any, len(texts))
	for i, t := range texts {
		marks[i], args[i] = "$"+strconv.Itoa(i+1), t
	}
	return strings.Join(marks, ","), args
}

// rows are n rows of the first value with one more each.
func rows(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "($1,$" + strconv.Itoa(i+2) + ")"
	}
	return strings.Join(all, ",")
}

// claim gives up what is due to one replica: it sets when it is due again, if it is not done.
func (s *Store) claim(ctx context.Context, column, where string, now, again time.Time, limit int) (_ []string, err error) {
	rows, err := s.db.Write.QueryContext(ctx, `UPDATE registry_partners SET `+column+` = $1 WHERE `+column+` <= $2 AND id IN
		(SELECT id FROM registry_partners WHERE `+column+` <= $3 AND `+where+` ORDER BY `+column+` LIMIT $4) RETURNING id`,
		micros(again), micros(now), micros(now), limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// ClaimFetches claims partners whose cards are due to be fetched. Whoever claims has until
// again.
func (s *Store) ClaimFetches(ctx context.Context, now, again time.Time, limit int) ([]string, error) {
	return s.claim(ctx, "fetch_at", "1 = 1", now, again, limit)
}

// ClaimProbes claims partners that are listed and due to be probed.
func (s *Store) ClaimProbes(ctx context.Context, now, again time.Time, limit int) ([]string, error) {
	return s.claim(ctx, "probe_at", "(discoverable = 1 OR callable = 1)", now, again, limit)
}

// Probed stores what a probe found.
func (s *Store) Probed(ctx context.Context, id string, p registry.Probe) error {
	_, err := s.db.Write.ExecContext(ctx, `UPDATE registry_partners SET online = $2, probed_at = $3, probe_at = $4, probe_problem = $5 WHERE id = $1`,
		id, flag(p.Online), micros(p.At), micros(p.Next), p.Problem)
	return s.told(id, err)
}

// Changes reads changes that wait for a person, by partner, after one.
func (s *Store) Changes(ctx context.Context, after string, limit int) (_ []registry.Waiting, err error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT partner_id, digest, card, diff, signature, found_at FROM registry_changes
		WHERE partner_id > $1 ORDER BY partner_id LIMIT $2`, after, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []registry.Waiting
	for rows.Next() {
		var w registry.Waiting
		var card, diff string
		var found int64
		if err := rows.Scan(&w.Partner, &w.Digest, &card, &diff, &w.Signature, &found); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(diff), &w.Diff); err != nil {
			return nil, err
		}
		w.Card, w.FoundAt = json.RawMessage(card), moment(found)
		all = append(all, w)
	}
	return all, rows.Err()
}
