package gateway_test

import (
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/services/gateway"
)

// BenchmarkDirectMessage measures what the gateway adds to a direct Message, with
// 32 callers for each processor: behind is the persona's own port, over the
// gateway's connection and with its token.
func BenchmarkDirectMessage(b *testing.B) {
	r := start(b, func(c *gateway.Config) {
		c.RateLimit.Caller = gateway.Limit{PerSecond: 1e9, Burst: math.MaxInt32}
	})
	behind, err := gateway.Behind(r.Running, "planner")
	if err != nil {
		b.Fatal(err)
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 256
	key := "X-API-Key: " + r.operator
	var next atomic.Int64
	ask := func() request { return request{id: fmt.Sprintf("b%d", next.Add(1)), headers: []string{key}} }
	for name, call := range map[string]func(*testing.PB){
		"behind": func(pb *testing.PB) {
			client := a2apb.NewA2AServiceClient(behind)
			for pb.Next() {
				q := request{id: fmt.Sprintf("b%d", next.Add(1))}
				if _, err := client.SendMessage(q.context(b.Context()), q.message()); err != nil {
					b.Error(err)
				}
			}
		},
		"grpc": func(pb *testing.PB) {
			for pb.Next() {
				if got := r.send(b, "grpc", ask()); got.reason != "" {
					b.Error(got)
				}
			}
		},
		"rest": func(pb *testing.PB) {
			for pb.Next() {
				if got := r.send(b, "rest", ask()); got.reason != "" {
					b.Error(got)
				}
			}
		},
		"jsonrpc": func(pb *testing.PB) {
			for pb.Next() {
				if got := r.send(b, "jsonrpc", ask()); got.reason != "" {
					b.Error(got)
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(call)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
