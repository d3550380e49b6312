package sqlstore

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	partnersDesc  = prometheus.NewDesc("sabha_partners", "Partners that are registered, by state.", []string{"state"}, nil)
	onlineDesc    = prometheus.NewDesc("sabha_partners_online", "Callable approved partners that answered when they were last probed.", nil, nil)
	offlineDesc   = prometheus.NewDesc("sabha_partners_offline", "Callable approved partners that did not.", nil, nil)
	changesDesc   = prometheus.NewDesc("sabha_partner_card_changes", "Changes of cards that wait for a person.", nil, nil)
	conditionDesc = prometheus.NewDesc("sabha_partner_cards_lost", "Cards of approved partners that are not good any more, by what has become of them.", []string{"condition"}, nil)
)

// figures counts what is in the database. Every replica counts the same.
type figures struct{ store *Store }

// Register registers the figures of the registry.
func (s *Store) Register(r prometheus.Registerer) error { return r.Register(&figures{s}) }

// Describe tells what is collected.
func (*figures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{partnersDesc, onlineDesc, offlineDesc, changesDesc, conditionDesc} {
		ch <- d
	}
}

// Collect counts. While the database cannot be read there is nothing.
func (f *figures) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, q := range []struct {
		desc  *prometheus.Desc
		query string
	}{
		{partnersDesc, `SELECT COUNT(*), state FROM registry_partners GROUP BY state`},
		{onlineDesc, `SELECT COUNT(*) FROM registry_partners WHERE state = 'approved' AND callable = 1 AND online = 1`},
		{offlineDesc, `SELECT COUNT(*) FROM registry_partners WHERE state = 'approved' AND callable = 1 AND online = 0 AND probed_at > 0`},
		{changesDesc, `SELECT COUNT(*) FROM registry_changes`},
		{conditionDesc, `SELECT COUNT(*), condition FROM registry_partners WHERE state = 'approved' AND condition <> '' GROUP BY condition`},
	} {
		f.collect(ctx, ch, q.desc, q.query)
	}
}

func (f *figures) collect(ctx context.Context, ch chan<- prometheus.Metric, desc *prometheus.Desc, query string) {
	rows, err := f.store.db.Read.QueryContext(ctx, query)
	if err != nil {
		return
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return
	}
	var n float64
	labels := make([]string, len(columns)-1)
	into := []any{&n}
	for i := range labels {
		into = append(into, &labels[i])
	}
	for rows.Next() {
		if rows.Scan(into...) == nil {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, n, labels...)
		}
	}
}
