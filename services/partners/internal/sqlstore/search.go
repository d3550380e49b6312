package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sabha.dev/services/partners/internal/registry"
)

// few is how many partners a term may have to be what a search begins with. With more,
// the list is walked from the top: those that fit are then close together.
const few = 500

// query is a statement in the making.
type query struct {
	where []string
	args  []any
}

func (q *query) arg(v any) string {
	q.args = append(q.args, v)
	return fmt.Sprintf("$%d", len(q.args))
}

func (q *query) and(condition string) { q.where = append(q.where, condition) }

// matches is the condition that a row of the index is of a term.
func (q *query) matches(t registry.Term) string {
	if !t.Prefix {
		return "term = " + q.arg([]byte(t.Text))
	}
	return "term >= " + q.arg([]byte(t.Text)) + " AND term < " + q.arg([]byte(t.Text+"\xff")) // which no text has
}

// Search finds partners, without their cards: what is trusted most first.
func (s *Store) Search(ctx context.Context, f registry.Filter) ([]*registry.Record, error) {
	q := &query{}
	terms := f.Terms()
	rarest, n, err := s.rarest(ctx, terms)
	if err != nil || len(terms) > 0 && n == 0 {
		return nil, err
	}
	for i, t := range terms {
		if i == rarest && n <= few {
			q.and("id IN (SELECT partner_id FROM registry_terms WHERE " + q.matches(t) + ")")
			continue
		}
		// The limit keeps PostgreSQL from reading all of a term that every partner has.
		q.and("EXISTS (SELECT 1 FROM registry_terms t WHERE t.partner_id = registry_partners.id AND " + q.matches(t) + " LIMIT 1 OFFSET 0)")
	}
	for _, c := range []struct {
		asked     bool
		condition string
	}{
		{f.Discoverable, "discoverable = 1"},
		{f.Callable, "callable = 1"},
		{f.OnlineOnly, "online = 1"},
		{f.Offline, "online = 0 AND probed_at > 0"},
		{f.Changed, "id IN (SELECT partner_id FROM registry_changes)"},
	} {
		if c.asked {
			q.and(c.condition)
		}
	}
	if f.MinTrust > 0 {
		q.and("trust >= " + q.arg(f.MinTrust))
	}
	if len(f.States) > 0 {
		var marks []string
		for _, state := range f.States {
			marks = append(marks, q.arg(string(state)))
		}
		q.and("state IN (" + strings.Join(marks, ",") + ")")
	}
	if f.After != nil {
		trust := q.arg(f.After.Trust)
		q.and("trust <= " + trust + " AND (trust < " + trust + " OR id > " + q.arg(f.After.ID) + ")")
	}
	text := `SELECT ` + brief + ` FROM registry_partners`
	if len(q.where) > 0 {
		text += " WHERE " + strings.Join(q.where, " AND ")
	}
	return list(ctx, s.read, text+" ORDER BY trust DESC, id LIMIT "+q.arg(f.Limit), q.args...)
}

// rarest tells which term has the fewest partners, and how many: counts end above few.
func (s *Store) rarest(ctx context.Context, terms []registry.Term) (at, n int, err error) {
	if len(terms) == 0 {
		return 0, 0, nil
	}
	q := &query{}
	var counts []string
	for _, t := range terms {
		counts = append(counts, fmt.Sprintf("(SELECT COUNT(*) FROM (SELECT 1 AS one FROM registry_terms WHERE %s LIMIT %d) t)", q.matches(t), few+1))
	}
	found, into := make([]int, len(terms)), make([]any, len(terms))
	for i := range found {
		into[i] = &found[i]
	}
	if err := s.db.Read.QueryRowContext(ctx, "SELECT "+strings.Join(counts, ", "), q.args...).Scan(into...); err != nil {
		return 0, 0, err
	}
	for i, c := range found {
		if c < found[at] {
			at = i
		}
	}
	return at, found[at], nil
}

// ChangeWaits tells of which partners a change of the card waits for a decision.
func (s *Store) ChangeWaits(ctx context.Context, ids []string) (map[string]bool, error) {
	waits := map[string]bool{}
	if len(ids) == 0 {
		return waits, nil
	}
	q := &query{}
	var marks []string
	for _, id := range ids {
		marks = append(marks, q.arg(id))
	}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT partner_id FROM registry_changes WHERE partner_id IN (`+strings.Join(marks, ",")+`)`, q.args...)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		waits[id] = true
	}
	return waits, errors.Join(rows.Err(), rows.Close())
}
