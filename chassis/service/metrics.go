package service

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sabha.dev/chassis/sqldb"
)

// Metrics is where the service registers what it counts, with its name and its
// replica as labels. Without a registry in the environment they count for nobody.
func (b *Base) Metrics() prometheus.Registerer {
	r := b.Registry
	if r == nil {
		r = prometheus.NewRegistry()
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"service": b.Name, "replica": b.Replica}, r)
}

// register registers what every service has: its build, its connection to NATS.
func (b *Base) register() error {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sabha_build_info", Help: "1 for the running release.", ConstLabels: prometheus.Labels{"version": b.Release},
	})
	build.Set(1)
	errs := []error{b.Metrics().Register(build)}
	if b.NATS != nil {
		errs = append(errs,
			b.Metrics().Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "sabha_nats_connected", Help: "1 while the connection to NATS is up.",
			}, func() float64 {
				if b.NATS.IsConnected() {
					return 1
				}
				return 0
			})),
			b.Metrics().Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "sabha_nats_reconnects_total", Help: "How often the connection to NATS came back.",
			}, func() float64 { return float64(b.NATS.Stats().Reconnects) })),
		)
	}
	return errors.Join(errs...)
}

// RegisterDatabase registers the figures of a database's connections (go_sql_…).
func (b *Base) RegisterDatabase(db *sqldb.DB) error {
	errs := []error{b.Metrics().Register(collectors.NewDBStatsCollector(db.Write, "write"))}
	if db.Read != db.Write {
		errs = append(errs, b.Metrics().Register(collectors.NewDBStatsCollector(db.Read, "read")))
	}
	return errors.Join(errs...)
}
