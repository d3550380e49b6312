package attainment

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics tell how skills stand over the last 30 days. Every replica tells the same.
type Metrics struct{ attained, left *prometheus.GaugeVec }

// NewMetrics makes and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		attained: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sabha_partner_attained", Help: "1 where a skill of a partner was over the last 30 days as agreed on, by target; 0 where it was not.",
		}, []string{"partner", "skill", "target"}),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sabha_partner_error_budget_left", Help: "Share of the calls that may fail in 30 days which is left; below zero when more have failed.",
		}, []string{"partner", "skill"}),
	}
	return m, errors.Join(r.Register(m.attained), r.Register(m.left))
}

// Measure reads anew how all skills stand.
func (m *Metrics) Measure(ctx context.Context, d *Desk) error {
	from, to := LastMonth.Bounds(d.Ledger.clock.Now())
	var reports []*Report
	for _, a := range d.Book.All() {
		for _, t := range a.Skills {
			r, err := d.Ledger.Report(ctx, t, from, to)
			if err != nil {
				return err
			}
			reports = append(reports, r)
		}
	}
	m.attained.Reset() // of what is agreed on no more nothing is told
	m.left.Reset()
	for _, r := range reports {
		a := r.Terms.Address
		for _, t := range r.Targets {
			if t.Status == Unknown {
				continue
			}
			value := 0.0
			if t.Status == Attained {
				value = 1
			}
			m.attained.WithLabelValues(a.Partner, a.Skill, t.Name).Set(value)
		}
		if r.Budget != nil {
			m.left.WithLabelValues(a.Partner, a.Skill).Set(r.Budget.Left)
		}
	}
	return nil
}
