package plan

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/services/planner/playbook"
)

// Counts are what the planner counts of its steps. A nil one counts nothing.
type Counts struct {
	steps   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	retries *prometheus.CounterVec
}

// NewCounts makes the counts and registers them.
func NewCounts(r prometheus.Registerer) (*Counts, error) {
	c := &Counts{
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_plan_steps_total", Help: "Settled steps of plans by agent and outcome."}, []string{"agent", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sabha_plan_step_seconds", Help: "Time from the start of a step to its settlement, retries included.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86400},
		}, []string{"agent"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_plan_step_retries_total", Help: "Further attempts at steps by agent."}, []string{"agent"}),
	}
	return c, errors.Join(r.Register(c.steps), r.Register(c.seconds), r.Register(c.retries))
}

func (c *Counts) settled(agent string, outcome playbook.State, took time.Duration) {
	if c == nil {
		return
	}
	c.steps.WithLabelValues(agent, string(outcome)).Inc()
	if outcome != playbook.Skipped {
		c.seconds.WithLabelValues(agent).Observe(took.Seconds())
	}
}

func (c *Counts) retried(agent string) {
	if c != nil {
		c.retries.WithLabelValues(agent).Inc()
	}
}
