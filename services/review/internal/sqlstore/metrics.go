package sqlstore

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
)

var (
	openDesc    = prometheus.NewDesc("sabha_review_open", "Review items that have not ended, of all replicas, by queue.", []string{"queue"}, nil)
	overdueDesc = prometheus.NewDesc("sabha_review_overdue", "Those of them that are past their due time and do not wait for the requester.", []string{"queue"}, nil)
)

// waiting counts what waits in the database. Every replica counts the same.
type waiting struct {
	store *Store
	clock clock.Clock
}

// Register registers the figures of what waits.
func (s *Store) Register(r prometheus.Registerer, c clock.Clock) error {
	return r.Register(&waiting{s, c})
}

// Describe tells what is collected.
func (*waiting) Describe(ch chan<- *prometheus.Desc) {
	ch <- openDesc
	ch <- overdueDesc
}

// Collect counts. While the database cannot be read there is nothing.
func (w *waiting) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	counts, err := w.store.Queues(ctx, w.clock.Now())
	if err != nil {
		return
	}
	for queue, c := range counts {
		ch <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(c.Open), queue)
		ch <- prometheus.MustNewConstMetric(overdueDesc, prometheus.GaugeValue, float64(c.Overdue), queue)
	}
}
