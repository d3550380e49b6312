package contract

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are the metrics of a monitor.
type counts struct {
	runs, answers *prometheus.CounterVec
}

func newCounts() counts {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return counts{
		runs:    counter("sabha_partner_contract_runs_total", "Runs of golden tasks by partner and how they ended.", "partner", "state"),
		answers: counter("sabha_partner_contract_answers_total", "Answers to golden tasks by partner and outcome.", "partner", "outcome"),
	}
}

func (c counts) register(r prometheus.Registerer, s *Store) error {
	return errors.Join(r.Register(c.runs), r.Register(c.answers), r.Register(findings{s}))
}

func (c counts) ran(claim *Claim) {
	c.runs.WithLabelValues(claim.Partner, string(claim.State)).Inc()
	for _, x := range claim.Samples {
		c.answers.WithLabelValues(claim.Partner, x.Outcome).Inc()
	}
}

var findingsDesc = prometheus.NewDesc("sabha_partner_contract_findings", "Findings of contract tests that stand, by partner and kind: drift, failing, unsteady.", []string{"partner", "kind"}, nil)

// findings counts what stands in the database. Every replica counts the same.
type findings struct{ store *Store }

// Describe tells what is collected.
func (findings) Describe(ch chan<- *prometheus.Desc) { ch <- findingsDesc }

// Collect counts. While the database cannot be read there is nothing.
func (f findings) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	standing, err := list(ctx, f.store.db.Read, func(rows *sql.Rows) (v Verdict, err error) { return v, rows.Scan(&v.Partner, &v.Kind, &v.Number) },
		`SELECT partner, kind, COUNT(*) FROM contract_verdicts WHERE closed_at = 0 GROUP BY partner, kind`)
	if err != nil {
		return
	}
	for _, v := range standing {
		ch <- prometheus.MustNewConstMetric(findingsDesc, prometheus.GaugeValue, float64(v.Number), v.Partner, v.Kind)
	}
}
