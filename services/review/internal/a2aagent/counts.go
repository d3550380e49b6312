package a2aagent

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/services/review/internal/item"
)

// Counts are what the agent counts of items that end. A nil one counts nothing.
type Counts struct {
	ended   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewCounts makes the counts and registers them.
func NewCounts(r prometheus.Registerer) (*Counts, error) {
	c := &Counts{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_review_ended_total", Help: "Review items that have ended, by queue and outcome."}, []string{"queue", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sabha_review_seconds", Help: "Time from the creation of a review item to its decision, by queue.",
			Buckets: []float64{1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600},
		}, []string{"queue"}),
	}
	return c, errors.Join(r.Register(c.ended), r.Register(c.seconds))
}

func (c *Counts) end(i *item.Item) {
	if c == nil {
		return
	}
	c.ended.WithLabelValues(i.Queue, i.Outcome()).Inc()
	if len(i.Decisions) > 0 {
		c.seconds.WithLabelValues(i.Queue).Observe(i.EndedAt.Sub(i.CreatedAt).Seconds())
	}
}
