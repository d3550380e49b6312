package taskstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Search selects tasks of every owner for those who oversee them, the newest
// first. Task ids are UUIDs of version 7 (RFC 9562): their order is that of their
// making. Zero fields select everything.
type Search struct {
	// Owner is an owner key.
	Owner     string
	ContextID string
	States    []a2apb.TaskState
	// After and Before bound when a task was made, to the millisecond: from After on,
	// and earlier than Before.
	After, Before time.Time
	// Words, in lower case, that the request contains, each of them.
	Words []string
	// Facts narrow the search by what the persona keeps.
	Facts Facts
	// OlderThan continues a search after the task that it names.
	OlderThan string
	Limit     int
}

// Facts say which tasks a search is about in terms of tables that a persona keeps
// beside the store's.
type Facts struct {
	// Walk is a query that gives ids of tasks as task_id, each once, and ends with its
	// conditions, for example SELECT task_id FROM plans WHERE playbook = ?. It is read
	// in the order of the ids, so it needs an index for that. Empty walks all tasks.
	Walk Condition
	// Where are further conditions on tasks.id.
	Where []Condition
	// None says that no task can be meant.
	None bool
}

// Bounds of a search.
const (
	// walked is how many ids of a walk are looked at for one page.
	walked = 5_000
	// counted is how many tasks are counted under a filter.
	counted = 10_000
	// read is how many requests are read for one page in search of words.
	read = 2_000
	// portion is how many requests are read at once in search of words.
	portion = 250
	// fence is a limit that nothing reaches. Behind one the engines read a set by the
	// index that holds it, not all tasks in the order that is wanted in the end.
	fence = math.MaxInt32
)

// Page of a search.
type Page struct {
	Tasks []*Record
	// Next continues the search, as OlderThan; empty at its end.
	Next string
}

// The states that have an index of their own.
var (
	open   = []a2apb.TaskState{a2apb.TaskState_TASK_STATE_SUBMITTED, a2apb.TaskState_TASK_STATE_WORKING, a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, a2apb.TaskState_TASK_STATE_AUTH_REQUIRED}
	unwell = []a2apb.TaskState{a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED}
)

// The conditions of those indexes, word for word: SQLite uses them only then.
const (
	isOpen   = "state IN (1, 2, 6, 8)"
	isUnwell = "state IN (4, 5, 7)"
)

// Search reads a page.
func (s *Store) Search(ctx context.Context, q Search) (*Page, error) {
	if q.Facts.None {
		return &Page{}, nil
	}
	if len(q.Words) > 0 {
		return s.searchWords(ctx, q)
	}
	ids, err := s.selected(ctx, &q, q.Limit+1)
	if err != nil {
		return nil, err
	}
	page := &Page{}
	if len(ids) > q.Limit {
		ids = ids[:q.Limit]
		page.Next = ids[q.Limit-1]
	} else if page.Next, err = s.walkedTo(ctx, q); err != nil {
		return nil, err
	}
	page.Tasks, err = s.records(ctx, ids)
	return page, err
}

// selected reads the ids of the newest tasks that are meant.
func (s *Store) selected(ctx context.Context, q *Search, limit int) ([]string, error) {
	var st statement
	q.candidates(&st, limit)
	ids := make([]string, 0, limit)
	err := s.rows(ctx, &st, func(row scanner) error {
		var id string
		var state int32
		err := row.Scan(&id, &state)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

func intersection(a, b []a2apb.TaskState) []a2apb.TaskState {
	var both []a2apb.TaskState
	for _, st := range a {
		if slices.Contains(b, st) {
			both = append(both, st)
		}
	}
	return both
}

// candidates adds a query of ids and states, the newest first. It reads rows of
// tasks only where no index holds what is asked for.
func (q *Search) candidates(st *statement, limit int) {
	states := q.States
	switch {
	case q.Facts.Walk.SQL != "":
		conds := slices.Concat(q.ofTask(), in(states), q.Facts.Where)
		far := walked
		if len(conds) == 0 { // every id that is looked at is one that is meant
			far = min(far, limit)
		}
		st.add("SELECT w.task_id AS id, tasks.state AS state FROM (")
		q.walk(st, far)
		st.add(") w JOIN tasks ON tasks.id = w.task_id")
		st.where("WHERE", conds)
		st.add(" ORDER BY w.task_id DESC LIMIT ?", limit)
	case q.Owner != "" || q.ContextID != "":
		q.set(st, slices.Concat(q.ofTask(), in(states)))
		st.where("WHERE", q.ids("id"))
		st.add(" ORDER BY id DESC LIMIT ?", limit)
	case len(states) > 0 && len(intersection(states, open))+len(intersection(states, unwell)) == len(states):
		q.sets(st, states)
		st.add(" ORDER BY id DESC LIMIT ?", limit)
	default:
		st.add("SELECT id, state FROM tasks")
		st.where("WHERE", slices.Concat(q.ids("id"), in(states), q.Facts.Where))
		st.add(" ORDER BY id DESC LIMIT ?", limit)
	}
}

// walk adds the walk of the facts, so far.
func (q *Search) walk(st *statement, far int) {
	st.add(q.Facts.Walk.SQL, q.Facts.Walk.Args...)
	st.where("AND", q.ids("task_id"))
	st.add(" ORDER BY task_id DESC LIMIT ?", far)
}

// set adds a query of tasks in whatever order an index gives them.
func (q *Search) set(st *statement, conds []Condition) {
	st.add("SELECT id, state FROM (SELECT id, state FROM tasks")
	st.where("WHERE", slices.Concat(conds, q.Facts.Where))
	st.add(fmt.Sprintf(" LIMIT %d) s", fence))
}

// sets adds a query of tasks in states that have an index of their own.
func (q *Search) sets(st *statement, states []a2apb.TaskState) {
	glue := ""
	for _, part := range []struct {
		is     string
		states []a2apb.TaskState
	}{{isOpen, intersection(states, open)}, {isUnwell, intersection(states, unwell)}} {
		if len(part.states) == 0 {
			continue
		}
		st.add(glue)
		q.set(st, slices.Concat([]Condition{{SQL: part.is}}, in(part.states)))
		st.where("WHERE", q.ids("id"))
		glue = " UNION ALL "
	}
}

func (q *Search) ofTask() []Condition {
	var conds []Condition
	if q.Owner != "" {
		conds = append(conds, Condition{"owner = ?", []any{q.Owner}})
	}
	if q.ContextID != "" {
		conds = append(conds, Condition{"context_id = ?", []any{q.ContextID}})
	}
	return conds
}

func in(states []a2apb.TaskState) []Condition {
	if len(states) == 0 {
		return nil
	}
	list := make([]string, len(states))
	for i, st := range states {
		list[i] = fmt.Sprint(int32(st))
	}
	return []Condition{{SQL: "state IN (" + strings.Join(list, ", ") + ")"}}
}

// among are the tasks with these ids. Few lengths are told apart, so that few texts
// are prepared; the last id fills up.
func among(ids []string) Condition {
	size := len(ids)
	for _, n := range []int{1, 10, 50, portion} {
		if n >= len(ids) {
			size = n
			break
		}
	}
	args := make([]any, size)
	for i := range args {
		args[i] = ids[min(i, len(ids)-1)]
	}
	return Condition{"id IN (?" + strings.Repeat(", ?", size-1) + ")", args}
}

// ids bounds a column of ids.
func (q *Search) ids(column string) []Condition {
	var conds []Condition
	if q.OlderThan != "" {
		conds = append(conds, Condition{column + " < ?", []any{q.OlderThan}})
	}
	if !q.Before.IsZero() {
		conds = append(conds, Condition{column + " < ?", []any{firstID(q.Before)}})
	}
	if !q.After.IsZero() {
		conds = append(conds, Condition{column + " >= ?", []any{firstID(q.After)}})
	}
	return conds
}

// firstID is below the ids of all tasks that were made at a time or later, and
// above those of earlier ones.
func firstID(t time.Time) string {
	ms := max(0, t.UnixMilli())
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000000", ms>>16, ms&0xffff)
}

// walkedTo is the last id that a walk has looked at when it has not reached its end.
func (s *Store) walkedTo(ctx context.Context, q Search) (string, error) {
	if q.Facts.Walk.SQL == "" {
		return "", nil
	}
	var st statement
	st.add("SELECT COUNT(*), COALESCE(MIN(task_id), '') FROM (")
	q.walk(&st, walked)
	st.add(") w")
	var n int
	var last string
	err := s.rows(ctx, &st, func(row scanner) error { return row.Scan(&n, &last) })
	if err != nil || n < walked {
		return "", err
	}
	return last, nil
}

func (s *Store) rows(ctx context.Context, st *statement, each func(scanner) error) error {
	rows, err := s.searches.QueryContext(ctx, s.db.Placeholders(st.text.String()), st.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// records reads tasks, the newest first. Others may be given the same records.
func (s *Store) records(ctx context.Context, ids []string) ([]*Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	revs := make(map[string]int64, len(ids))
	var now statement
	now.add("SELECT id, rev FROM tasks")
	now.where("WHERE", []Condition{among(ids)})
	if err := s.rows(ctx, &now, func(row scanner) error {
		var id string
		var rev int64
		err := row.Scan(&id, &rev)
		revs[id] = rev
		return err
	}); err != nil {
		return nil, err
	}
	known, others := s.decoded.of(revs)
	if len(others) > 0 {
		var st statement
		st.add("SELECT " + recordColumns + " FROM tasks")
		st.where("WHERE", []Condition{among(others)})
		if err := s.rows(ctx, &st, func(row scanner) error {
			r, size, err := scanSized(row)
			if err == nil {
				known[r.Task.GetId()] = r
				s.decoded.keep(r, size)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	list := slices.Collect(maps.Values(known))
	slices.SortFunc(list, func(a, b *Record) int { return strings.Compare(b.Task.GetId(), a.Task.GetId()) })
	return list, nil
}
