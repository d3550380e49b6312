package taskstore

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Counts are numbers of tasks by state.
type Counts struct {
	ByState map[a2apb.TaskState]int64
	// More says that there are more tasks than were counted.
	More bool
}

// Counts counts what a search selects, of all pages and all states. A search for
// words counts nothing; one without fields counts every task; any other at most
// the newest 10,000.
func (s *Store) Counts(ctx context.Context, q Search) (Counts, error) {
	q.States, q.OlderThan = nil, ""
	switch {
	case len(q.Words) > 0 || q.impossible():
		return Counts{ByState: map[a2apb.TaskState]int64{}}, nil
	case q.everything():
		return s.countAll(ctx)
	}
	var st statement
	st.add("SELECT state, COUNT(*) FROM (")
	q.candidates(&st, counted+1)
	st.add(") c GROUP BY state")
	c, total, err := s.count(ctx, &st)
	if err != nil {
		return Counts{}, err
	}
	if c.More = total > counted; !c.More {
		var last string
		last, err = s.walkedTo(ctx, q)
		c.More = last != ""
	}
	return c, err
}

func (q *Search) everything() bool {
	return q.Owner == "" && q.ContextID == "" && q.After.IsZero() && q.Before.IsZero() && q.Facts.Walk.SQL == "" && len(q.Facts.Where) == 0 && !q.Facts.Open
}

// all stands for the number of all tasks among the counts by state.
const all = -1

// countAll counts without reading tasks: those that ended well are all but the others.
func (s *Store) countAll(ctx context.Context) (Counts, error) {
	var st statement
	st.add("SELECT -1, COUNT(*) FROM tasks" +
		" UNION ALL SELECT state, COUNT(*) FROM tasks WHERE " + isOpen + " GROUP BY state" +
		" UNION ALL SELECT state, COUNT(*) FROM tasks WHERE " + isUnwell + " GROUP BY state")
	c, _, err := s.count(ctx, &st)
	if err != nil {
		return Counts{}, err
	}
	completed := c.ByState[all]
	delete(c.ByState, all)
	for _, n := range c.ByState {
		completed -= n
	}
	if completed > 0 {
		c.ByState[a2apb.TaskState_TASK_STATE_COMPLETED] = completed
	}
	return c, nil
}

func (s *Store) count(ctx context.Context, st *statement) (c Counts, total int64, err error) {
	c.ByState = map[a2apb.TaskState]int64{}
	err = s.rows(ctx, st, func(row scanner) error {
		var state int32
		var n int64
		err := row.Scan(&state, &n)
		c.ByState[a2apb.TaskState(state)] = n
		total += n
		return err
	})
	return c, total, err
}
