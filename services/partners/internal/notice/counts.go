package notice

import "github.com/prometheus/client_golang/prometheus"

// Counts of notifications.
type Counts struct{ taken *prometheus.CounterVec }

// NewCounts makes and registers them.
func NewCounts(r prometheus.Registerer) (*Counts, error) {
	c := &Counts{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sabha_partner_notifications_total",
		Help: "Push notifications by partner, empty where it is not known, and what came of them: verified, hint, known, unknown, malformed, foreign, unsigned, forged, failed.",
	}, []string{"partner", "outcome"})}
	return c, r.Register(c.taken)
}
