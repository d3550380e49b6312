package executor

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/tool"
	"sabha.dev/services/executor/internal/sqlstore"
	"sabha.dev/services/executor/internal/toolhost"
)

// figures are the metrics of MCP servers and their tools.
type figures struct {
	servers func() map[string]toolhost.Status
	store   *sqlstore.Store
	calls   *prometheus.CounterVec
	took    *prometheus.HistogramVec
}

var (
	upDesc    = prometheus.NewDesc("sabha_mcp_server_up", "1 while the MCP server can be called, by server.", []string{"server"}, nil)
	toolsDesc = prometheus.NewDesc("sabha_mcp_tools", "Tools by server and standing: held, approved, refused. Every replica says the same.", []string{"server", "standing"}, nil)
)

func newFigures(store *sqlstore.Store) *figures {
	return &figures{
		store: store, servers: func() map[string]toolhost.Status { return nil },
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sabha_mcp_calls_total", Help: "Calls of tools by server and outcome: ok, failed (the tool says so), invalid (arguments or answer), unavailable, timeout, canceled, held.",
		}, []string{"server", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sabha_mcp_call_seconds", Help: "Time of calls of tools by server.", Buckets: prometheus.ExponentialBuckets(.0005, 4, 9),
		}, []string{"server"}),
	}
}

func (f *figures) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(f), r.Register(f.calls), r.Register(f.took))
}

// Describe tells what is collected.
func (f *figures) Describe(ch chan<- *prometheus.Desc) {
	ch <- upDesc
	ch <- toolsDesc
}

// Collect looks at the servers, and counts what the database has. While that cannot be
// read there is nothing of it.
func (f *figures) Collect(ch chan<- prometheus.Metric) {
	for name, s := range f.servers() {
		up := 0.0
		if s.State == toolhost.Ready {
			up = 1
		}
		ch <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, up, name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	all, err := f.store.Standings(ctx)
	if err != nil {
		return
	}
	for server, by := range all {
		for standing, word := range map[toolhost.Standing]string{toolhost.Held: "held", toolhost.Approved: "approved", toolhost.Refused: "refused"} {
			ch <- prometheus.MustNewConstMetric(toolsDesc, prometheus.GaugeValue, float64(by[standing]), server, word)
		}
	}
}

// called counts a call.
func (f *figures) called(server string, took time.Duration, err error) {
	f.took.WithLabelValues(server).Observe(took.Seconds())
	f.calls.WithLabelValues(server, outcome(err)).Inc()
}

func outcome(err error) string {
	var (
		failed *toolhost.ToolFailed
		input  *tool.InvalidInput
		output *tool.InvalidOutput
		held   *toolhost.HeldTool
		change *toolhost.Changed
	)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &failed):
		return "failed"
	case errors.As(err, &input), errors.As(err, &output):
		return "invalid"
	case errors.As(err, &held), errors.As(err, &change):
		return "held"
	case errors.Is(err, toolhost.ErrTimeout):
		return "timeout"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	}
	return "unavailable"
}
