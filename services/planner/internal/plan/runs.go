package plan

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Runs are what has been run of a playbook.
type Runs struct {
	// States counts requests by the number of their state.
	States map[int32]int64
	// Newest is the id of the newest request.
	Newest string
}

// completedState is the number of the state that most requests end in: what is neither
// open nor ended otherwise, so that nothing is read of it.
const completedState = int32(a2apb.TaskState_TASK_STATE_COMPLETED)

// runs counts the requests of every playbook.
func (d *Rows) runs(ctx context.Context) (map[string]*Runs, error) {
	out := map[string]*Runs{}
	rows, err := d.read.QueryContext(ctx, `SELECT playbook, COUNT(*), MAX(task_id) FROM plans GROUP BY playbook`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int64
		r := &Runs{States: map[int32]int64{}}
		if err := rows.Scan(&name, &n, &r.Newest); err != nil {
			return nil, err
		}
		r.States[completedState] = n
		out[name] = r
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, states := range []string{"1, 2, 6, 8", "4, 5, 7"} { // as the indexes of tasks have them
		if err := d.others(ctx, states, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d *Rows) others(ctx context.Context, states string, out map[string]*Runs) error {
	rows, err := d.read.QueryContext(ctx, `SELECT plans.playbook, tasks.state, COUNT(*) FROM tasks JOIN plans ON plans.task_id = tasks.id
		WHERE tasks.state IN (`+states+`) GROUP BY plans.playbook, tasks.state`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var state int32
		var n int64
		if err := rows.Scan(&name, &state, &n); err != nil {
			return err
		}
		if r := out[name]; r != nil { // else its first request came just now
			r.States[state] = n
			r.States[completedState] = max(0, r.States[completedState]-n)
		}
	}
	return rows.Err()
}
