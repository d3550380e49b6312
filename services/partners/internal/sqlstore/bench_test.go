package sqlstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/testrig/clocktest"
)

// registered agents, and how many words a card draws its texts from.
const (
	agents     = 10_000
	vocabulary = 2000
)

// BenchmarkSearch measures searches of all kinds among 10,000 agents: p50 and p95, and
// the slowest kind's.
func BenchmarkSearch(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			s := sqlstore.New(database(b, engine), clocktest.New(start))
			fill(b, s)
			kinds := searches()
			took := make([][]time.Duration, len(kinds))
			b.ResetTimer()
			for i := range b.N {
				k := i % len(kinds)
				began := time.Now()
				if _, err := s.Search(b.Context(), kinds[k]); err != nil {
					b.Fatal(err)
				}
				took[k] = append(took[k], time.Since(began))
			}
			b.StopTimer()
			var all []time.Duration
			var worst time.Duration
			for k, t := range took {
				all = append(all, t...)
				if len(t) > 0 {
					p := percentile(t, 0.95)
					worst = max(worst, p)
					b.Logf("p50 %.2f p95 %.2f ms of %v", float64(percentile(t, 0.5).Microseconds())/1000, float64(p.Microseconds())/1000, kinds[k])
				}
			}
			b.ReportMetric(float64(percentile(all, 0.5).Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(percentile(all, 0.95).Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-p95-ms")
		})
	}
}

func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(float64(len(all))*p))]
}

// searches are common and rare words, by themselves and with the rest, and a late page.
func searches() []registry.Filter {
	all := []registry.Filter{
		{},
		{Query: "payments"},                    // of every agent
		{Query: "payments processing service"}, // each of every agent
		{Query: "pay"},
		{Query: "w1"}, // beginning of hundreds of words
		{Query: "word7 payments"},
		{Query: "nothing"},
		{Capability: "skill"}, // of every agent
		{Capability: "skill-17"},
		{Organisation: "organisation 42"},
		{Tags: []string{"billing"}, OnlineOnly: true, MinTrust: 0.8},
		{Tags: []string{"tag3", "billing"}, Query: "payments", Discoverable: true, States: []partner.State{partner.Approved}},
		{Query: "payments", After: &registry.Key{Trust: 0.1, ID: "agent-00500"}},
		{MinTrust: 0.999, OnlineOnly: true},
	}
	for i := range all {
		all[i].Limit = 51
	}
	return all
}

func fill(b *testing.B, s *sqlstore.Store) {
	r := rand.New(rand.NewPCG(1, 2))
	words := func(n int) (text string) {
		for range n {
			text += fmt.Sprintf(" word%d", r.IntN(vocabulary))
		}
		return text
	}
	for i := range agents {
		p := record(fmt.Sprintf("agent-%05d", i))
		p.Organisation, p.Name, p.Description = fmt.Sprintf("Organisation %d", r.IntN(500)), "Agent"+words(2), "Payments processing service"+words(12)
		p.Tags = []string{"billing", fmt.Sprintf("tag%d", r.IntN(20))}
		p.Skills = nil
		for range 3 {
			p.Skills = append(p.Skills, partner.Skill{ID: fmt.Sprintf("skill-%d-%d", r.IntN(1000), len(p.Skills)), Description: words(8)})
		}
		p.Trust, p.Online, p.Discoverable = r.Float64(), r.IntN(3) > 0, r.IntN(5) > 0
		if err := s.Add(b.Context(), p, registered()); err != nil {
			b.Fatal(err)
		}
	}
}
