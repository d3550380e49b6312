package edge

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/push"
)

// Names of bindings in metrics.
const (
	viaGRPC = "grpc"
	viaREST = "rest"
	viaRPC  = "jsonrpc"
	viaMCP  = "mcp"
	viaCard = "card"
	viaKAP  = "kap"
	viaPush = "push"
)

// counts are what the edge counts of requests.
type counts struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	limited  *prometheus.CounterVec
	streams  prometheus.Gauge
}

func newCounts(r prometheus.Registerer) (*counts, error) {
	c := &counts{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_gateway_requests_total", Help: "Requests of clients by binding, method and gRPC code."}, []string{"binding", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sabha_gateway_request_seconds", Help: "Time of a request of a client, that of a stream included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		}, []string{"binding", "method"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_gateway_limited_total", Help: "Requests over a rate limit, by whose: caller or anonymous."}, []string{"limit"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sabha_gateway_streams_open", Help: "Open streams of clients."}),
	}
	c.limited.WithLabelValues("caller")
	c.limited.WithLabelValues("anonymous")
	return c, errors.Join(r.Register(c.requests), r.Register(c.seconds), r.Register(c.limited), r.Register(c.streams))
}

func (c *counts) ended(binding, method string, code codes.Code, began time.Time, now time.Time) {
	c.requests.WithLabelValues(binding, method, code.String()).Inc()
	c.seconds.WithLabelValues(binding, method).Observe(now.Sub(began).Seconds())
}

// counted puts the counting of the public gRPC port around the other interceptors.
func (g *Guard) counted() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			began := g.clock.Now()
			res, err := next(ctx, req)
			g.counts.ended(viaGRPC, path.Base(info.FullMethod), status.Code(err), began, g.clock.Now())
			return res, err
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			began := g.clock.Now()
			g.counts.streams.Inc()
			defer g.counts.streams.Dec()
			err := next(srv, ss)
			g.counts.ended(viaGRPC, path.Base(info.FullMethod), status.Code(err), began, g.clock.Now())
			return err
		}),
	}
}

// ended counts an HTTP request. One that became no call is counted by its answer,
// under the method "none": what clients write into paths is no label.
func (c *counts) answered(q *Request, answer int, now time.Time) {
	binding, method, code := viaREST, "none", codeOf(answer)
	switch {
	case q.method != "":
		method, code = path.Base(q.method), q.code
		if q.route == "" {
			binding = viaRPC
		}
	case strings.HasSuffix(q.path, "/agent-card.json"):
		binding, method = viaCard, "GetCard"
	case q.path == "/v1/ask":
		binding, method = viaKAP, "Ask"
	case q.path == "/.well-known/agent.json":
		binding, method = viaKAP, "GetCard"
	case strings.HasPrefix(q.path, push.ReceiverPath):
		binding, method = viaPush, "TakeNotification"
	case q.path == "/mcp":
		binding, method = viaMCP, "MCP"
	case strings.HasSuffix(strings.TrimSuffix(q.path, "/"), "/rpc"):
		// JSON-RPC answers with 200 and says in the body what was wrong.
		if binding = viaRPC; code == codes.OK {
			code = codes.InvalidArgument
		}
	}
	c.ended(binding, method, code, q.began, now)
}

// codeOf is the gRPC code that an HTTP status stands for (google.rpc.Code).
func codeOf(answer int) codes.Code {
	switch answer {
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return codes.Unimplemented
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	}
	switch {
	case answer < http.StatusBadRequest:
		return codes.OK
	case answer < http.StatusInternalServerError:
		return codes.InvalidArgument
	}
	return codes.Internal
}
