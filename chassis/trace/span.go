package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Kinds of spans (OpenTelemetry specification, SpanKind).
const (
	Internal = oteltrace.SpanKindInternal
	Server   = oteltrace.SpanKindServer
	Client   = oteltrace.SpanKindClient
	Producer = oteltrace.SpanKindProducer
	Consumer = oteltrace.SpanKindConsumer
)

// Tracer makes the spans of one service. A nil one makes none.
type Tracer struct {
	otel oteltrace.Tracer
	stop func(context.Context) error
}

// At puts a place into a context, and has the tracer make the spans below it. A
// place without a span id begins its trace with the next span; without a trace id
// too, that is a new trace.
func (t *Tracer) At(ctx context.Context, c Context) context.Context {
	if t != nil {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, c.otel())
	} else if c.SpanID == "" { // nobody else will
		begin := New()
		c.SpanID, c.Sampled = begin.SpanID, true
		if c.TraceID == "" {
			c.TraceID = begin.TraceID
		}
	}
	return context.WithValue(ctx, key{}, &place{Context: c, from: c, tracer: t})
}

// otel is the place as the SDK knows it; the zero one where no span is.
func (c Context) otel() oteltrace.SpanContext {
	var conf oteltrace.SpanContextConfig
	var err error
	if conf.SpanID, err = oteltrace.SpanIDFromHex(c.SpanID); err != nil {
		return oteltrace.SpanContext{}
	}
	if conf.TraceID, err = oteltrace.TraceIDFromHex(c.TraceID); err != nil {
		return oteltrace.SpanContext{}
	}
	conf.TraceState, _ = oteltrace.ParseTraceState(c.State) // a broken one is dropped (W3C 3.3.1.1)
	if c.Sampled {
		conf.TraceFlags = oteltrace.FlagsSampled
	}
	conf.Remote = true
	return oteltrace.NewSpanContext(conf)
}

// Span is a part of the work of a request. A nil one is not recorded.
type Span struct{ otel oteltrace.Span }

// Start begins a span below the place of the context. Without a tracer, and in a
// trace that is not recorded, the span is nil and the context unchanged.
func Start(ctx context.Context, kind oteltrace.SpanKind, name string) (context.Context, *Span) {
	p := placeOf(ctx)
	if p == nil || p.tracer == nil || (p.SpanID != "" && !p.Sampled) {
		return ctx, nil
	}
	ctx, s := p.tracer.otel.Start(ctx, name, oteltrace.WithSpanKind(kind))
	sc := s.SpanContext()
	here := Context{TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(), State: p.State, Sampled: sc.IsSampled()}
	ctx = context.WithValue(ctx, key{}, &place{Context: here, from: p.from, tracer: p.tracer})
	if !s.IsRecording() {
		return ctx, nil
	}
	return ctx, &Span{s}
}

// Set adds attributes. They never hold what messages say.
func (s *Span) Set(attributes ...attribute.KeyValue) {
	if s != nil {
		s.otel.SetAttributes(attributes...)
	}
}

// Name changes the span's name: what it is about was not known before.
func (s *Span) Name(name string) {
	if s != nil {
		s.otel.SetName(name)
	}
}

// Fail marks the span as failed. kind is a class of errors, not a sentence.
func (s *Span) Fail(kind string) {
	if s != nil {
		s.otel.SetAttributes(attribute.String("error.type", kind))
		s.otel.SetStatus(codes.Error, "")
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.otel.End()
	}
}
