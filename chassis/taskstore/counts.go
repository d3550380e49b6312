package taskstore

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Counts are numbers of tasks by state.
type Counts struct {
	ByState map[a2apb.TaskState]int64
	// More says that there are more tasks than were counted.
	More bool
}

// Counts counts what a search selects, of all pages and all states. A search for
// words counts nothing. What a walk leads to is counted as far as one page goes,
// and what only rows of tasks can tell up to 10,000 tasks.
func (s *Store) Counts(ctx context.Context, q Search) (Counts, error) {
	q.States, q.OlderThan = nil, ""
	if len(q.Words) > 0 || q.Facts.None {
		return Counts{ByState: map[a2apb.TaskState]int64{}}, nil
	}
	if q.Owner == "" && q.ContextID == "" && len(q.Facts.Where) == 0 {
		return s.countByIndex(ctx, q)
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

// all stands for the number of all tasks among the counts by state.
const all = -1

// countByIndex counts without reading tasks: those that ended well are all but the
// open ones and those that ended badly, which have indexes of their own.
func (s *Store) countByIndex(ctx context.Context, q Search) (Counts, error) {
	var st statement
	meant, walks := q.ids("id"), q.Facts.Walk.SQL != ""
	join := ""
	if walks {
		st.add("WITH w AS MATERIALIZED (")
		q.walk(&st, walked)
		st.add(") SELECT -1, COUNT(*) FROM w")
		meant, join = nil, " JOIN w ON w.task_id = s.id"
	} else {
		st.add("SELECT -1, COUNT(*) FROM tasks")
		st.where("WHERE", meant)
	}
	for _, is := range []string{isOpen, isUnwell} {
		st.add(fmt.Sprintf(" UNION ALL SELECT state, COUNT(*) FROM (SELECT id, state FROM tasks WHERE %s LIMIT %d) s", is, fence) + join)
		st.where("WHERE", meant)
		st.add(" GROUP BY state")
	}
	c, _, err := s.count(ctx, &st)
	if err != nil {
		return Counts{}, err
	}
	completed := c.ByState[all]
	c.More = walks && completed == walked
	delete(c.ByState, all)
	for _, n := range c.ByState {
		completed -= n
	}
	if completed > 0 {
		c.ByState[a2apb.TaskState_TASK_STATE_COMPLETED] = completed
	}
	return c, nil
}

// CountsWith is Counts for whoever has read a page of the search: when the page is
// all there is, it is counted itself.
func (s *Store) CountsWith(ctx context.Context, q Search, p *Page) (Counts, error) {
	if q.OlderThan != "" || len(q.States) > 0 || p.Next != "" || len(q.Words) > 0 {
		return s.Counts(ctx, q)
	}
	c := Counts{ByState: map[a2apb.TaskState]int64{}}
	for _, rec := range p.Tasks {
		c.ByState[rec.Task.GetStatus().GetState()]++
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
