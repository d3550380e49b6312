package taskstore

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"
)

// Register registers what is read from the store when somebody looks: the open
// tasks, and the age of what waits in the outbox. Nobody looking costs nothing.
func (s *Store) Register(r prometheus.Registerer) error {
	return errors.Join(
		r.Register(&openTasks{s}),
		r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sabha_outbox_oldest_seconds", Help: "Age of the oldest commit whose events the log has not confirmed; 0 when none waits.",
		}, func() float64 { return s.outbox.age(s.clock.Now()) })),
	)
}

// openTasks counts the tasks in the database that have not ended. Every replica
// counts the same ones.
type openTasks struct{ store *Store }

var unclaimedDesc = prometheus.NewDesc("sabha_tasks_unclaimed", "Tasks, of all replicas, that a sweep should take up: due, or orphaned by a replica whose lease ran out.", []string{"reason"}, nil)

var openDesc = prometheus.NewDesc("sabha_tasks_open", "Tasks that have not ended, of all replicas, by state and whether a replica runs them.", []string{"state", "activity"}, nil)

// openStates by the name that the label has.
var openStates = map[a2apb.TaskState]string{
	a2apb.TaskState_TASK_STATE_SUBMITTED: "submitted", a2apb.TaskState_TASK_STATE_WORKING: "working",
	a2apb.TaskState_TASK_STATE_INPUT_REQUIRED: "input_required", a2apb.TaskState_TASK_STATE_AUTH_REQUIRED: "auth_required",
}

// Describe tells what is collected.
func (*openTasks) Describe(ch chan<- *prometheus.Desc) {
	ch <- openDesc
	ch <- unclaimedDesc
}

// Collect counts. While the database cannot be read there is nothing.
func (c *openTasks) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c.unclaimed(ctx, ch)
	// The index tasks_unended holds just these.
	rows, err := c.store.db.Read.QueryContext(ctx, `SELECT state, CASE WHEN run_owner IS NULL THEN 1 ELSE 0 END, COUNT(*)
		FROM tasks WHERE state IN (1, 2, 6, 8) GROUP BY 1, 2`)
	if err != nil {
		return
	}
	defer func() { _ = rows.Close() }()
	counts := map[string][2]float64{}
	for rows.Next() {
		var state int32
		var parked int
		var n float64
		if rows.Scan(&state, &parked, &n) != nil {
			return
		}
		name := openStates[a2apb.TaskState(state)]
		c := counts[name]
		c[parked] = n
		counts[name] = c
	}
	if rows.Err() != nil {
		return
	}
	for _, name := range openStates {
		for i, activity := range []string{"running", "parked"} {
			ch <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, counts[name][i], name, activity)
		}
	}
}

// unclaimed counts as Due lists.
func (c *openTasks) unclaimed(ctx context.Context, ch chan<- prometheus.Metric) {
	now := c.store.clock.Now().UnixNano()
	for reason, query := range map[string]string{
		"due": `SELECT COUNT(*) FROM tasks WHERE run_owner IS NULL AND wake_at IS NOT NULL AND wake_at <= $1`,
		"orphaned": `SELECT COUNT(*) FROM tasks WHERE run_owner IS NOT NULL AND run_owner NOT IN
			(SELECT id FROM replicas WHERE expires_at >= $1)`,
	} {
		var n float64
		if c.store.db.Read.QueryRowContext(ctx, query, now).Scan(&n) == nil {
			ch <- prometheus.MustNewConstMetric(unclaimedDesc, prometheus.GaugeValue, n, reason)
		}
	}
}
