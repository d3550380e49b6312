// Package otlptest is a collector for tests: it takes spans by OTLP over gRPC, as a
// real one does, and keeps them.
package otlptest

import (
	"context"
	"encoding/hex"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Span is a span as the collector got it; ids are in hex, attributes are strings.
type Span struct {
	Service, Name, Kind       string
	TraceID, SpanID, ParentID string
	State                     string
	Failed                    bool
	Attributes                map[string]string
	Start, End                time.Time
}

// Collector takes spans.
type Collector struct {
	collector.UnimplementedTraceServiceServer
	address string
	server  *grpc.Server
	mu      sync.Mutex
	spans   []Span
}

// New starts a collector on a free port. It ends with the test.
func New(tb testing.TB) *Collector {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c := &Collector{address: l.Addr().String(), server: grpc.NewServer()}
	collector.RegisterTraceServiceServer(c.server, c)
	go func() { _ = c.server.Serve(l) }()
	tb.Cleanup(c.server.Stop)
	return c
}

// URL is the endpoint for exporters.
func (c *Collector) URL() string { return "http://" + c.address }

// Export takes spans from an exporter.
func (c *Collector) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		service := attributes(r.GetResource().GetAttributes())["service.name"]
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				c.spans = append(c.spans, Span{
					Service: service, Name: span.GetName(), Kind: span.GetKind().String()[len("SPAN_KIND_"):],
					TraceID: hex.EncodeToString(span.GetTraceId()), SpanID: hex.EncodeToString(span.GetSpanId()),
					ParentID: hex.EncodeToString(span.GetParentSpanId()), State: span.GetTraceState(),
					Failed:     span.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR,
					Attributes: attributes(span.GetAttributes()),
					Start:      time.Unix(0, int64(span.GetStartTimeUnixNano())), End: time.Unix(0, int64(span.GetEndTimeUnixNano())),
				})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func attributes(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		default:
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}

// Spans gives the spans that have come so far, all or those of one trace.
func (c *Collector) Spans(traceID string) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := slices.Clone(c.spans)
	if traceID != "" {
		spans = slices.DeleteFunc(spans, func(s Span) bool { return s.TraceID != traceID })
	}
	return spans
}
