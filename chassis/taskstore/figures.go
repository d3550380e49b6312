package taskstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Flow counts the tasks that began in a part of a span, and what has become of them.
type Flow struct {
	From                                 time.Time
	Started, Completed, Failed, Canceled int64
}

// Flow counts the tasks that began from a time on, by parts of equal length. Tasks
// that were rejected count as failed. It reads no tasks: those that completed are
// all that are neither open nor ended badly.
func (s *Store) Flow(ctx context.Context, from time.Time, part time.Duration, parts int) ([]Flow, error) {
	flow := make([]Flow, parts)
	bounds := make([]string, parts)
	for i := range flow {
		flow[i].From = from.Add(time.Duration(i) * part)
		bounds[i] = firstID(flow[i].From)
	}
	running := make([]int64, parts)
	q := Search{After: from}
	var st statement
	q.sets(&st, slices.Concat(open, unwell))
	err := s.rows(ctx, &st, func(row scanner) error {
		var id string
		var state int32
		if err := row.Scan(&id, &state); err != nil {
			return err
		}
		at, exact := slices.BinarySearch(bounds, id)
		if !exact {
			at--
		}
		switch a2apb.TaskState(state) {
		case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_REJECTED:
			flow[at].Failed++
		case a2apb.TaskState_TASK_STATE_CANCELED:
			flow[at].Canceled++
		default:
			running[at]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	st = statement{}
	for i, first := range bounds {
		if i > 0 {
			st.add(" UNION ALL ")
		}
		st.add(fmt.Sprintf("SELECT %d, COUNT(*) FROM tasks WHERE id >= ?", i), first)
		if i+1 < parts {
			st.add(" AND id < ?", bounds[i+1])
		}
	}
	err = s.rows(ctx, &st, func(row scanner) error {
		var i int
		var n int64
		if err := row.Scan(&i, &n); err != nil {
			return err
		}
		f := &flow[i]
		f.Started = n
		f.Completed = max(0, n-f.Failed-f.Canceled-running[i])
		return nil
	})
	return flow, err
}

// SkillFigures are of the calls of one skill.
type SkillFigures struct {
	Agent, Skill    string
	Calls, Failures int64
	// P50 and P95 are of the time from acceptance to the end.
	P50, P95 time.Duration
}

// measured bounds the audit rows of SkillFigures.
const measured = 10_000

// SkillFigures reads the audit rows of calls for requests that began from a time
// on, at most those of the newest 10,000 rows, and tells whether there are more.
func (s *Store) SkillFigures(ctx context.Context, from time.Time) (list []SkillFigures, more bool, err error) {
	type skill struct{ agent, name string }
	failures := map[skill]int64{}
	took := map[skill][]time.Duration{}
	var st statement
	st.add(`SELECT agent, skill, started_at, ended_at, outcome FROM hops WHERE root_task_id <> '' AND root_task_id >= ?
		ORDER BY root_task_id DESC LIMIT ?`, firstID(from), measured+1)
	n := 0
	err = s.rows(ctx, &st, func(row scanner) error {
		var k skill
		var started, ended int64
		var outcome string
		if err := row.Scan(&k.agent, &k.name, &started, &ended, &outcome); err != nil {
			return err
		}
		if n++; n > measured {
			more = true
			return nil
		}
		switch outcome {
		case CancelRequested, StepRetried, Forked: // a note, not a call
			return nil
		case a2apb.TaskState_TASK_STATE_FAILED.String(), a2apb.TaskState_TASK_STATE_REJECTED.String():
			failures[k]++
		}
		took[k] = append(took[k], time.Duration(ended-started))
		return nil
	})
	for k, times := range took {
		slices.Sort(times)
		list = append(list, SkillFigures{
			Agent: k.agent, Skill: k.name, Calls: int64(len(times)), Failures: failures[k], P50: rank(times, 50), P95: rank(times, 95),
		})
	}
	slices.SortFunc(list, func(a, b SkillFigures) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Skill, b.Skill))
	})
	return list, more, err
}

// rank is the percentile of sorted values by the nearest rank.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}
