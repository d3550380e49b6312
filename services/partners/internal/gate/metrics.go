package gate

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/services/partners/internal/partner"
)

// Metrics of the calls that one replica makes.
type Metrics struct {
	calls, refusals, retries *prometheus.CounterVec
	seconds                  *prometheus.HistogramVec
	states, underway         *prometheus.GaugeVec
}

// NewMetrics makes and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	by := []string{"partner", "skill"}
	m := &Metrics{
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_partner_calls_total", Help: "Calls of partners by result: ok, failed, invalid, throttled, abandoned."}, append(by, "result")),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_partner_held_back_total", Help: "Calls of partners that were held back by why: maintenance, busy, rate, open."}, append(by, "why")),
		retries:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_partner_retries_total", Help: "Retries of calls of partners."}, by),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sabha_partner_call_seconds", Help: "Time of calls of partners that were answered.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, by),
		states:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sabha_partner_breaker", Help: "State of the breaker of a replica: 0 closed, 1 half-open, 2 open."}, by),
		underway: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sabha_partner_calls_running", Help: "Calls of partners that run now."}, by),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.calls, m.refusals, m.retries, m.seconds, m.states, m.underway} {
		errs = append(errs, r.Register(c))
	}
	return m, errors.Join(errs...)
}

// counted is what is counted of one skill, with its labels resolved. A nil one counts
// nothing.
type counted struct {
	results  [Abandoned + 1]prometheus.Counter
	held     map[Why]prometheus.Counter
	again    prometheus.Counter
	seconds  prometheus.Observer
	breaker  prometheus.Gauge
	underway prometheus.Gauge
}

func (m *Metrics) lane(a partner.Address) *counted {
	if m == nil {
		return nil
	}
	c := &counted{
		held: map[Why]prometheus.Counter{}, again: m.retries.WithLabelValues(a.Partner, a.Skill), seconds: m.seconds.WithLabelValues(a.Partner, a.Skill),
		breaker: m.states.WithLabelValues(a.Partner, a.Skill), underway: m.underway.WithLabelValues(a.Partner, a.Skill),
	}
	for r := range c.results {
		c.results[r] = m.calls.WithLabelValues(a.Partner, a.Skill, Result(r).String())
	}
	for _, why := range []Why{Maintenance, Busy, Rate, Open} {
		c.held[why] = m.refusals.WithLabelValues(a.Partner, a.Skill, string(why))
	}
	return c
}

func (c *counted) called(r Result, took time.Duration) {
	if c == nil {
		return
	}
	c.results[r].Inc()
	if r == OK || r == Invalid {
		c.seconds.Observe(took.Seconds())
	}
}

func (c *counted) refused(why Why) {
	if c != nil {
		c.held[why].Inc()
	}
}

func (c *counted) retried() {
	if c != nil {
		c.again.Inc()
	}
}

func (c *counted) state(s State) {
	if c != nil {
		c.breaker.Set(float64(s))
	}
}

func (c *counted) running(n int) {
	if c != nil {
		c.underway.Set(float64(n))
	}
}
