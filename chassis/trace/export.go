package trace

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Export is where spans go.
type Export struct {
	// Endpoint is the URL of a collector that takes OTLP over gRPC: http://HOST:PORT
	// for plain text, https:// for TLS. Empty means that there are no spans.
	Endpoint string
	// Ratio of the traces that begin here which are recorded, from 0 to 1; nil means
	// all. A trace that comes from a caller is recorded if the caller records it.
	Ratio *float64
	// Service, Replica and Version are attributes of every span's resource.
	Service, Replica, Version string
	// Metrics count spans that were sent and lost.
	Metrics prometheus.Registerer
}

// Check says what is wrong.
func (e Export) Check() error {
	if e.Endpoint != "" {
		u, err := url.Parse(e.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("otlp is %q: give the URL of a collector that takes OTLP over gRPC, for example http://localhost:4317", e.Endpoint)
		}
	}
	if e.Ratio != nil && (*e.Ratio < 0 || *e.Ratio > 1) {
		return fmt.Errorf("trace_ratio is %g: it is the part of the traces that is recorded, from 0 to 1", *e.Ratio)
	}
	return nil
}

// exportWithin bounds one try to send a batch.
const exportWithin = 10 * time.Second

// Open makes the tracer of a service. Without an endpoint it is nil. The collector
// need not be there: nothing waits for it.
func Open(ctx context.Context, e Export) (*Tracer, error) {
	if err := e.Check(); err != nil || e.Endpoint == "" {
		return nil, err
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(e.Endpoint), otlptracegrpc.WithTimeout(exportWithin),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{})) // the queue tries again, and knows when to stop
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	queue, err := newQueue(exporter, e.Metrics)
	if err != nil {
		return nil, err
	}
	ratio := 1.0
	if e.Ratio != nil {
		ratio = *e.Ratio
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(queue), sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.namespace", "sabha"), attribute.String("service.name", e.Service),
			attribute.String("service.instance.id", e.Replica), attribute.String("service.version", e.Version),
		)),
	)
	return &Tracer{otel: provider.Tracer("sabha.dev/chassis/trace"), stop: provider.Shutdown}, nil
}

// Close sends what waits, until ctx ends, and stops.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.stop(ctx)
}

// ids makes ids. A trace whose id is known keeps it, also where its first span is here.
type ids struct{}

// NewIDs gives the ids of a trace's first span.
func (ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	if p := placeOf(ctx); p != nil && p.TraceID != "" {
		if t, err := oteltrace.TraceIDFromHex(p.TraceID); err == nil {
			return t, newSpanID()
		}
	}
	return newTraceID(), newSpanID()
}

// NewSpanID gives the id of a further span.
func (ids) NewSpanID(context.Context, oteltrace.TraceID) oteltrace.SpanID { return newSpanID() }
