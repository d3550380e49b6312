package taskstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/outage"
	"sabha.dev/chassis/sqldb"
)

const recordColumns = `id, owner, agent, skill, root_task_id, created_at, version, rev, run_owner, run_epoch, wake_at, deadline,
	attempts, takeovers, cancel_requested, push, info, body`

type scanner interface{ Scan(...any) error }

func scanRecord(row scanner) (*Record, error) {
	r, _, err := scanSized(row)
	return r, err
}

// scanSized tells the size of the stored body too, bytes.
func scanSized(row scanner) (*Record, int, error) {
	var (
		r                 Record
		id                string
		created, deadline int64
		runOwner          sql.NullString
		wakeAt            sql.NullInt64
		cancel, push      int
		info              string
		body              []byte
	)
	err := row.Scan(&id, &r.Owner, &r.Agent, &r.Skill, &r.RootTask, &created, &r.Version, &r.Rev, &runOwner, &r.RunEpoch, &wakeAt, &deadline,
		&r.Attempts, &r.Takeovers, &cancel, &push, &info, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	r.CreatedAt, r.Deadline = time.Unix(0, created).UTC(), time.Unix(0, deadline).UTC()
	r.RunOwner, r.CancelRequested, r.Push = runOwner.String, cancel != 0, push != 0
	if wakeAt.Valid {
		r.WakeAt = time.Unix(0, wakeAt.Int64).UTC()
	}
	if err := json.Unmarshal([]byte(info), &r.Info); err != nil {
		return nil, 0, fmt.Errorf("task %s: %w", id, err)
	}
	r.Task = &a2apb.Task{}
	if err := proto.Unmarshal(body, r.Task); err != nil {
		return nil, 0, fmt.Errorf("task %s: %w", id, err)
	}
	return &r, len(body), nil
}

// loadForUpdate reads a task that the transaction is about to change, so that
// nobody changes it in between. SQLite has one writer anyway.
func (s *Store) loadForUpdate(ctx context.Context, tx *sql.Tx, id string) (*Record, error) {
	lock := ""
	if s.db.Dialect == sqldb.Postgres {
		lock = " FOR UPDATE"
	}
	return scanRecord(tx.QueryRowContext(ctx, `SELECT `+recordColumns+` FROM tasks WHERE id = $1`+lock, id))
}

// Get reads a task. The error is ErrNotFound when there is none.
func (s *Store) Get(ctx context.Context, id string) (*Record, error) {
	r, err := scanRecord(s.stmts.get.QueryRowContext(ctx, id))
	if outage.Of(err) { // a connection that broke while it was idle shows only now
		s.db.Renew()
		r, err = scanRecord(s.stmts.get.QueryRowContext(ctx, id))
	}
	return r, err
}

// idsAtOnce bounds a statement that names tasks.
const idsAtOnce = 200

// Versions reads how far tasks are. Tasks that are not there are left out.
func (s *Store) Versions(ctx context.Context, ids []string) (map[string]int64, error) {
	return numbers(ctx, s, `SELECT id, version FROM tasks WHERE `, nil, ids, func(n int64) int64 { return n })
}

// States reads in which state those of the tasks are that one owner key has. Others are
// left out.
func (s *Store) States(ctx context.Context, owner string, ids []string) (map[string]a2apb.TaskState, error) {
	return numbers(ctx, s, `SELECT id, state FROM tasks WHERE owner = $1 AND `, []any{owner}, ids, func(n int64) a2apb.TaskState { return a2apb.TaskState(n) })
}

// numbers reads a number of each of the tasks.
func numbers[T any](ctx context.Context, s *Store, query string, before []any, ids []string, of func(int64) T) (map[string]T, error) {
	found := make(map[string]T, len(ids))
	for chunk := range slices.Chunk(ids, idsAtOnce) {
		marks, args := make([]string, len(chunk)), slices.Clone(before)
		for i, id := range chunk {
			args = append(args, id)
			marks[i] = fmt.Sprintf("$%d", len(args))
		}
		rows, err := s.db.Read.QueryContext(ctx, s.db.Placeholders(query+`id IN (`+strings.Join(marks, ",")+`)`), args...)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var id string
			var n int64
			if err := rows.Scan(&id, &n); err != nil {
				_ = rows.Close()
				return nil, err
			}
			found[id] = of(n)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Filter selects tasks for a list. Zero fields select everything.
type Filter struct {
	// Owner restricts the list to one owner key; nil lists every owner's.
	Owner       *string
	Agent       string
	ContextID   string
	States      []a2apb.TaskState
	StatusAfter time.Time
	// Before and BeforeID continue a list after the task they name.
	Before   time.Time
	BeforeID string
	Limit    int
}

func (f Filter) where() (string, []any) {
	var conds []string
	var args []any
	add := func(cond string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			cond = strings.Replace(cond, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		conds = append(conds, cond)
	}
	if f.Owner != nil {
		add("owner = ?", *f.Owner)
	}
	if f.Agent != "" {
		add("agent = ?", f.Agent)
	}
	if f.ContextID != "" {
		add("context_id = ?", f.ContextID)
	}
	if len(f.States) > 0 {
		marks := make([]string, len(f.States))
		values := make([]any, len(f.States))
		for i, st := range f.States {
			marks[i], values[i] = "?", int32(st)
		}
		add("state IN ("+strings.Join(marks, ",")+")", values...)
	}
	if !f.StatusAfter.IsZero() {
		add("status_at >= ?", f.StatusAfter.UnixNano())
	}
	if len(conds) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conds, " AND "), args
}

// List reads a page of tasks, newest status first, and counts all that match
// (the continuation left aside).
func (s *Store) List(ctx context.Context, f Filter) ([]*Record, int, error) {
	where, args := f.where()
	var total int
	if err := s.db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM tasks`+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if f.BeforeID != "" {
		glue := " WHERE "
		if where != "" {
			glue = " AND "
		}
		n := len(args)
		where += fmt.Sprintf("%s(status_at < $%d OR (status_at = $%d AND id > $%d))", glue, n+1, n+1, n+2)
		args = append(args, f.Before.UnixNano(), f.BeforeID)
	}
	args = append(args, f.Limit)
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+recordColumns+` FROM tasks`+where+
		fmt.Sprintf(` ORDER BY status_at DESC, id LIMIT $%d`, len(args)), args...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	var list []*Record
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, r)
	}
	return list, total, rows.Err()
}
