package push

import (
	"context"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/trace"
)

// span begins the span of an attempt, in the trace of its task.
func (d *Deliverer) span(ctx context.Context, j job) (context.Context, *trace.Span) {
	if d.Tracer == nil { // the place is passed on as it is
		return ctx, nil
	}
	place, ok := trace.Parse(j.traceparent)
	if !ok {
		return ctx, nil
	}
	ctx, span := trace.Start(d.Tracer.At(ctx, place), trace.Client, http.MethodPost)
	if span != nil {
		span.Set(
			attribute.String("http.request.method", http.MethodPost), attribute.String("sabha.task.id", j.key.TaskID),
			attribute.String("sabha.push.config", j.key.ID),
		)
		if u, err := url.Parse(j.config.GetUrl()); err == nil { // the path may be a secret
			span.Set(attribute.String("server.address", u.Hostname()))
		}
	}
	return ctx, span
}

// tell says in the span what came of the attempt.
func (r *result) tell(span *trace.Span) {
	if span == nil {
		return
	}
	span.Set(attribute.String("sabha.outcome", r.outcome))
	if r.status != 0 {
		span.Set(attribute.Int("http.response.status_code", r.status))
	}
	if r.outcome != delivered {
		span.Fail(r.outcome)
	}
	span.End()
}
