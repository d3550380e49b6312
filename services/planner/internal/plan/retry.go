package plan

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/planner/playbook"
)

// errNotRetrying means that a step does not wait for its next try.
var errNotRetrying = errors.New("the step does not wait for its next try")

// retryNow has the next attempt of a step begin at a time, if it would begin later.
func (d *Rows) retryNow(taskID, step string, now time.Time) taskstore.Rows {
	return func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE plan_steps SET retry_at = $1 WHERE task_id = $2 AND kind = $3 AND step = $4
			AND state = $5 AND child_task = '' AND retry_at > $1`, now.UnixNano(), taskID, string(stepKind), step, string(playbook.Running))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errNotRetrying)
		}
		return nil
	}
}

// retries reads when the next attempts of a task's steps begin.
func (d *Rows) retries(ctx context.Context, taskID string) (map[attemptKey]time.Time, error) {
	rows, err := d.read.QueryContext(ctx, `SELECT kind, step, round, attempt, retry_at FROM plan_steps WHERE task_id = $1 AND retry_at > 0`, taskID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	out := map[attemptKey]time.Time{}
	for rows.Next() {
		var k attemptKey
		var retry int64
		if err := rows.Scan(&k.kind, &k.step, &k.round, &k.attempt, &retry); err != nil {
			return nil, err
		}
		out[k] = at(retry)
	}
	return out, rows.Err()
}

type attemptKey struct {
	rowKey
	attempt int
}

// hurry lets attempts begin that an operator wants now. It reads the rows only while
// one waits for its time.
func (i *interpreter) hurry(ctx context.Context) error {
	if len(i.delayed) == 0 {
		return nil
	}
	wanted, err := i.p.Rows.retries(ctx, i.plan.task)
	if err != nil {
		return err
	}
	for key, hurry := range i.delayed {
		r := i.plan.rows[key]
		if at, ok := wanted[attemptKey{key, r.Attempt}]; ok && at.Before(r.RetryAt) {
			r.DueAt = due(i.plan.book.Step(r.Step), at)
			r.RetryAt = at
			i.mark(r)
			close(hurry)
			delete(i.delayed, key)
		}
	}
	return nil
}
