package plan

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/trace"
	"sabha.dev/services/planner/playbook"
)

// stepSpan begins the span of one call of a step. A step that is called again, or
// looked at after its plan was resumed, has several.
func stepSpan(ctx context.Context, what string, r *row) (context.Context, *trace.Span) {
	ctx, span := trace.Start(ctx, trace.Internal, what)
	if span != nil {
		span.Name(what + " " + r.Step)
		span.Set(
			attribute.String("sabha.step", r.Step), attribute.Int("sabha.step.round", r.Round), attribute.Int("sabha.step.attempt", r.Attempt),
			attribute.String("sabha.agent", r.Agent), attribute.String("sabha.skill", r.Skill),
		)
	}
	return ctx, span
}

// ended says in the span what the call came to.
func ended(span *trace.Span, rep report) {
	if span == nil {
		return
	}
	span.Set(attribute.String("sabha.outcome", string(rep.state)))
	if rep.child != "" {
		span.Set(attribute.String("sabha.child.id", rep.child))
	}
	switch {
	case rep.lost:
		span.Fail("agent not heard")
	case rep.state == playbook.Failed:
		span.Fail(string(rep.state))
	}
	span.End()
}
