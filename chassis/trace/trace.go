// Package trace carries the W3C trace context through gRPC, HTTP and NATS, and
// makes the spans of a service. Without an exporter there are no spans: a service
// then passes on the place that it was called from, and pays nothing more.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// Header and StateHeader are the keys of gRPC metadata and of NATS and HTTP headers
// (W3C Trace Context).
const (
	Header      = "traceparent"
	StateHeader = "tracestate"
)

// Context is a place in a trace: that of a span, or of a caller's.
type Context struct {
	// TraceID is 32 hex digits, SpanID 16.
	TraceID, SpanID string
	// State is the tracestate that came with the trace; it is passed on as it is.
	State   string
	Sampled bool
}

// Parse reads a traceparent (version 00). It reports false for anything else.
func Parse(s string) (Context, bool) {
	p := strings.Split(s, "-")
	if len(p) != 4 || p[0] != "00" || !isHex(p[1], 32) || !isHex(p[2], 16) || !isHex(p[3], 2) {
		return Context{}, false
	}
	if strings.Trim(p[1], "0") == "" || strings.Trim(p[2], "0") == "" {
		return Context{}, false
	}
	flags, _ := hex.DecodeString(p[3])
	return Context{TraceID: p[1], SpanID: p[2], Sampled: flags[0]&1 == 1}, true
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// String is the traceparent.
func (c Context) String() string {
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	return "00-" + c.TraceID + "-" + c.SpanID + "-" + flags
}

// New starts a trace. Who exports nothing leaves it to others whether to record it.
func New() Context {
	t := newTraceID()
	return Context{TraceID: t.String(), SpanID: newSpanID().String(), Sampled: true}
}

// newTraceID begins with the time and ends with ten random bytes: rows of audit
// that are written together then stand together in their index.
func newTraceID() (t oteltrace.TraceID) {
	_, _ = rand.Read(t[6:]) // never fails (crypto/rand since Go 1.24)
	ms := time.Now().UnixMilli()
	for i := range 6 {
		t[i] = byte(ms >> (8 * (5 - i)))
	}
	return t
}

func newSpanID() (s oteltrace.SpanID) {
	_, _ = rand.Read(s[:]) // never fails (crypto/rand since Go 1.24)
	return s
}

type key struct{}

// place is what a context knows of its trace.
type place struct {
	Context
	// from is the place that the present one was called from.
	from Context
	// tracer makes the spans below; nil makes none.
	tracer *Tracer
}

func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(key{}).(*place)
	return p
}

// With puts a place into a context. Spans below it are made as before.
func With(ctx context.Context, c Context) context.Context {
	var t *Tracer
	if p := placeOf(ctx); p != nil {
		t = p.tracer
	}
	return t.At(ctx, c)
}

// Of gives the place of a context, a new trace when there is none.
func Of(ctx context.Context) Context {
	if p := placeOf(ctx); p != nil && p.SpanID != "" {
		return p.Context
	}
	return New()
}

// Known tells whether a context has a place in a trace.
func Known(ctx context.Context) bool {
	p := placeOf(ctx)
	return p != nil && p.SpanID != ""
}

// CallerOf gives the place that a context was called from: what is stored of a task,
// because that span is recorded even if this process is killed. Where the trace
// begins here it is the place itself.
func CallerOf(ctx context.Context) Context {
	if p := placeOf(ctx); p != nil && p.from.SpanID != "" {
		return p.from
	}
	return Of(ctx)
}

// Copy gives a context the place of another.
func Copy(ctx, from context.Context) context.Context {
	p := placeOf(from)
	if p == nil {
		return ctx
	}
	if p.tracer != nil {
		ctx = oteltrace.ContextWithSpan(ctx, oteltrace.SpanFromContext(from))
	}
	return context.WithValue(ctx, key{}, p)
}
