package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// Filter chooses items.
type Filter struct {
	// States; empty means all of those that Ended says.
	States []reviewv1.State
	// Ended lists what has ended, the newest first; otherwise what is open, by due time.
	Ended bool
	// Mine and Unassigned are about who holds the item at Now.
	Mine           string
	Unassigned     bool
	Now            time.Time
	Queue, Product string
	Risk, BatchKey string
	// Words that must all be found.
	Words []string
	// After is the key of the last item of the page before; empty begins.
	After Key
	Limit int
}

// Key is the place of an item in a list.
type Key struct {
	At int64
	ID string
}

// KeyOf is the place of an item.
func KeyOf(i *item.Item) Key {
	if i.Ended() {
		return Key{micros(i.EndedAt), i.ID}
	}
	return Key{micros(i.DueAt), i.ID}
}

// conditions collects the terms of a WHERE with their arguments.
type conditions struct {
	terms []string
	args  []any
}

// and adds a term; each ? in it is one argument.
func (c *conditions) and(term string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		term = strings.Replace(term, "?", fmt.Sprintf("$%d", len(c.args)), 1)
	}
	c.terms = append(c.terms, term)
}

// List gives a page of items with their decisions.
func (s *Store) List(ctx context.Context, f Filter) ([]*item.Item, error) {
	var c conditions
	order, next := "due_at, id", "(due_at, id) > (?, ?)"
	if f.Ended {
		c.and("ended_at IS NOT NULL")
		order, next = "ended_at DESC, id", "(ended_at < ? OR (ended_at = ? AND id > ?))"
	} else {
		c.and("ended_at IS NULL")
	}
	if len(f.States) > 0 {
		states := make([]string, 0, len(f.States))
		for _, state := range slices.Sorted(slices.Values(f.States)) {
			states = append(states, fmt.Sprint(int32(state)))
		}
		c.and("state IN (" + strings.Join(states, ",") + ")")
	}
	now := micros(f.Now)
	if f.Mine != "" {
		c.and("holder = ? AND holder <> '' AND held_until > ?", f.Mine, now)
	}
	if f.Unassigned {
		c.and("(holder = '' OR held_until <= ?)", now)
	}
	for column, value := range map[string]string{"queue": f.Queue, "product": f.Product, "risk": f.Risk, "batch_key": f.BatchKey} {
		if value != "" {
			c.and(column+" = ?", value)
		}
	}
	for _, word := range f.Words {
		c.and(`words LIKE ? ESCAPE '\'`, "%"+escaped(strings.ToLower(word))+"%")
	}
	switch {
	case f.After.ID == "":
	case f.Ended:
		c.and(next, f.After.At, f.After.At, f.After.ID)
	default:
		c.and(next, f.After.At, f.After.ID)
	}
	// Chosen by id: then PostgreSQL tests what an index holds without reading the items.
	query := fmt.Sprintf(`SELECT %s FROM review_items WHERE id IN (SELECT id FROM review_items WHERE %s ORDER BY %[3]s LIMIT %[4]d) ORDER BY %[3]s`,
		columns, strings.Join(c.terms, " AND "), order, f.Limit)
	items, err := list(ctx, s.db.Read, func(rows *sql.Rows) (*item.Item, error) { return scan(rows) }, query, c.args...)
	if err != nil {
		return nil, err
	}
	return items, decisions(ctx, s.db.Read, items)
}

func escaped(word string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word)
}

// decisions reads the decisions of items.
func decisions(ctx context.Context, q queryer, items []*item.Item) error {
	for chunk := range slices.Chunk(items, itemsAtOnce) {
		byID := make(map[string]*item.Item, len(chunk))
		ids := make([]string, len(chunk))
		for n, i := range chunk {
			byID[i.ID], ids[n] = i, i.ID
		}
		marks, args := marked(ids)
		_, err := list(ctx, q, func(rows *sql.Rows) (id string, err error) {
			var (
				d        item.Decision
				approved int
				edited   string
				at       int64
			)
			if err := rows.Scan(&id, &d.Person, &approved, &d.Reason, &d.Digest, &d.Stands, &edited, &at); err != nil {
				return "", err
			}
			d.Approved, d.At = approved != 0, moment(at)
			if edited != "" {
				d.Edited = []byte(edited)
			}
			byID[id].Decisions = append(byID[id].Decisions, d)
			return id, nil
		}, `SELECT item_id, person, approved, reason, digest, stands, edited, at FROM review_decisions
			WHERE item_id IN (`+marks+`) ORDER BY item_id, version`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Counts are what the tabs of a front end show.
type Counts struct{ Mine, Unassigned, Open, Overdue int64 }

// Counts counts what is open for a person. What waits for the requester is not overdue.
// Each count reads an index that holds little else.
func (s *Store) Counts(ctx context.Context, person string, now time.Time) (Counts, error) {
	var c Counts
	var held int64
	err := s.db.Read.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM review_items WHERE ended_at IS NULL),
		(SELECT COUNT(*) FROM review_items WHERE ended_at IS NULL AND holder > '' AND holder <> '' AND held_until > $2),
		(SELECT COUNT(*) FROM review_items WHERE ended_at IS NULL AND holder <> '' AND held_until > $2 AND holder = $1),
		(SELECT COUNT(*) FROM review_items WHERE ended_at IS NULL AND due_at <= $2 AND asked_at = 0)`,
		person, micros(now)).Scan(&c.Open, &held, &c.Mine, &c.Overdue)
	c.Unassigned = c.Open - held
	return c, err
}

// QueueCounts are of one queue. Ended leaves out what was canceled; InTime ended before it
// was due.
type QueueCounts struct{ Open, Overdue, Ended, InTime int64 }

// Attained counts what has ended in each queue since a time.
func (s *Store) Attained(ctx context.Context, since time.Time) (map[string]QueueCounts, error) {
	counts := map[string]QueueCounts{}
	_, err := list(ctx, s.db.Read, func(rows *sql.Rows) (queue string, err error) {
		var c QueueCounts
		if err = rows.Scan(&queue, &c.Ended, &c.InTime); err == nil {
			counts[queue] = c
		}
		return queue, err
	}, `SELECT queue, COUNT(*), COALESCE(SUM(CASE WHEN ended_at <= due_at THEN 1 ELSE 0 END), 0)
		FROM review_items WHERE ended_at IS NOT NULL AND ended_at > $1 AND state <> $2 GROUP BY queue`,
		micros(since), int32(reviewv1.State_STATE_CANCELED))
	return counts, err
}

// Queues counts what is open in each queue.
func (s *Store) Queues(ctx context.Context, now time.Time) (map[string]QueueCounts, error) {
	counts := map[string]QueueCounts{}
	_, err := list(ctx, s.db.Read, func(rows *sql.Rows) (queue string, err error) {
		var c QueueCounts
		if err = rows.Scan(&queue, &c.Open, &c.Overdue); err == nil {
			counts[queue] = c
		}
		return queue, err
	}, `SELECT queue, COUNT(*), COALESCE(SUM(CASE WHEN due_at <= $1 AND asked_at = 0 THEN 1 ELSE 0 END), 0)
		FROM review_items WHERE ended_at IS NULL GROUP BY queue`, micros(now))
	return counts, err
}
