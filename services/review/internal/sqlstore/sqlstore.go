// Package sqlstore keeps items in SQLite or PostgreSQL. Nothing in it is ever deleted.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// Store of items.
type Store struct {
	db *sqldb.DB
	// Told, if any, hears of every event in the transaction that changes the item. It
	// is set before the store is used.
	Told func(ctx context.Context, tx *sql.Tx, i *item.Item, events []item.Event) error
}

// New makes a store over a migrated database.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

const columns = `id, version, digest, kind, state, title, queue, groups_json, product, risk, priority, requester, root_task_id, playbook, step,
	trace_id, confidence, batch_key, created_at, due_at, expires_at, next_at, escalations, approvals_needed, requester_may_decide, claim_for,
	holder, held_until, messages, exchanges, asked_at, paused, rest, ended_at, outcome_reason`

type scanner interface{ Scan(...any) error }

func scan(row scanner) (*item.Item, error) {
	var (
		i                                                       item.Item
		kind, state                                             int32
		groups, rest                                            string
		confidence                                              sql.NullFloat64
		created, due, expires, next, claim, held, asked, paused int64
		ended                                                   sql.NullInt64
		mayDecide                                               int
	)
	err := row.Scan(&i.ID, &i.Version, &i.Digest, &kind, &state, &i.Title, &i.Queue, &groups, &i.Product, &i.Risk, &i.Priority, &i.Requester,
		&i.RootTaskID, &i.Playbook, &i.Step, &i.TraceID, &confidence, &i.BatchKey, &created, &due, &expires, &next, &i.Escalations, &i.Approvals,
		&mayDecide, &claim, &i.Holder, &held, &i.Messages, &i.Exchanges, &asked, &paused, &rest, &ended, &i.OutcomeReason)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(groups), &i.Groups); err != nil {
		return nil, fmt.Errorf("item %s: %w", i.ID, err)
	}
	i.Kind, i.State = reviewv1.Kind(kind), reviewv1.State(state)
	if confidence.Valid {
		i.Confidence = &confidence.Float64
	}
	i.CreatedAt, i.DueAt, i.ExpiresAt, i.Next = moment(created), moment(due), moment(expires), moment(next)
	i.HeldUntil, i.AskedAt, i.EndedAt = moment(held), moment(asked), moment(ended.Int64)
	i.ClaimFor, i.Paused = time.Duration(claim)*time.Microsecond, time.Duration(paused)*time.Microsecond
	i.RequesterMayDecide = mayDecide != 0
	if rest != "" {
		i.Rest = json.RawMessage(rest)
	}
	return &i, nil
}

// Get reads an item with its decisions. The error has the reason ITEM_NOT_FOUND when
// there is none.
func (s *Store) Get(ctx context.Context, id string) (*item.Item, error) {
	return load(ctx, s.db.Read, id, "")
}

// queryer is a pool or a transaction.
type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func load(ctx context.Context, q queryer, id, lock string) (*item.Item, error) {
	if strings.ContainsRune(id, 0) { // no database takes it
		return nil, missing(id)
	}
	i, err := scan(q.QueryRowContext(ctx, `SELECT `+columns+` FROM review_items WHERE id = $1`+lock, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, missing(id)
	}
	if err != nil {
		return nil, err
	}
	return i, decisions(ctx, q, []*item.Item{i})
}

func missing(id string) error { return fault.New(fault.ItemNotFound, "there is no item %q", id) }

// itemsAtOnce bounds a statement.
const itemsAtOnce = 200

// GetAll reads those of the items that exist, in no order.
func (s *Store) GetAll(ctx context.Context, ids []string) ([]*item.Item, error) {
	var all []*item.Item
	for chunk := range slices.Chunk(ids, itemsAtOnce) {
		marks, args := marked(chunk)
		items, err := list(ctx, s.db.Read, func(rows *sql.Rows) (*item.Item, error) { return scan(rows) },
			`SELECT `+columns+` FROM review_items WHERE id IN (`+marks+`)`, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, decisions(ctx, s.db.Read, all)
}

// marked are placeholders for values.
func marked(values []string) (marks string, args []any) {
	for n, v := range values {
		if n > 0 {
			marks += ","
		}
		marks += fmt.Sprintf("$%d", n+1)
		args = append(args, v)
	}
	return marks, args
}

// Snapshot reads what a decision on an item rests on.
func (s *Store) Snapshot(ctx context.Context, id string) (*item.Snapshot, error) {
	var body string
	if err := s.db.Read.QueryRowContext(ctx, `SELECT body FROM review_snapshots WHERE item_id = $1`, id).Scan(&body); err != nil {
		return nil, err
	}
	var snapshot item.Snapshot
	if err := json.Unmarshal([]byte(body), &snapshot); err != nil {
		return nil, fmt.Errorf("item %s: %w", id, err)
	}
	return &snapshot, nil
}

// History reads what happened to an item, the oldest first.
func (s *Store) History(ctx context.Context, id string) ([]item.Event, error) {
	return list(ctx, s.db.Read, func(rows *sql.Rows) (e item.Event, err error) {
		var at int64
		err = rows.Scan(&at, &e.By, &e.What, &e.Note)
		e.At = moment(at)
		return e, err
	}, `SELECT at, actor, what, note FROM review_events WHERE item_id = $1 ORDER BY version, number`, id)
}

// Exchanges reads the questions to the requester, the oldest first.
func (s *Store) Exchanges(ctx context.Context, id string) ([]item.Exchange, error) {
	return list(ctx, s.db.Read, func(rows *sql.Rows) (e item.Exchange, err error) {
		var asked, answered int64
		err = rows.Scan(&e.Number, &e.AskedBy, &e.Question, &asked, &e.Answer, &answered)
		e.AskedAt, e.AnsweredAt = moment(asked), moment(answered)
		return e, err
	}, `SELECT number, asked_by, question, asked_at, answer, answered_at FROM review_exchanges WHERE item_id = $1 ORDER BY number`, id)
}

func list[T any](ctx context.Context, q queryer, read func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
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
