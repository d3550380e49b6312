package gate_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/services/partners/internal/gate"
)

// stepping is a clock that goes on by a millisecond whenever somebody looks, so that the
// calls of the benchmark keep to the rate that is agreed on; each day it begins anew.
type stepping struct{ looks int64 }

func (s *stepping) Now() time.Time {
	s.looks++
	return time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC).Add(time.Duration(s.looks) * time.Millisecond % (20 * time.Hour))
}

func (*stepping) After(time.Duration) <-chan time.Time { return nil }

// BenchmarkPass is what a call costs at the gate, in and out, with metrics and a window of
// maintenance on the day.
func BenchmarkPass(b *testing.B) {
	m, err := gate.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	g := gate.New(gate.Config{Clock: &stepping{}, Metrics: m})
	u := terms(b, `{throughput: {per_minute: 60000, concurrent: 1000}, maintenance: [{days: [sun-sat], from: "02:00", to: "02:01", zone: Europe/London}]}`)
	b.ReportAllocs()
	for b.Loop() {
		p, err := g.Enter(b.Context(), u)
		if err != nil {
			b.Fatal(err)
		}
		p.Done(gate.OK)
	}
}
