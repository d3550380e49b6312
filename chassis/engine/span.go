package engine

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// span begins the span of one run of a task. A task that is taken over, woken or
// answered runs again, each time in a span below the one that asked for the task.
func (r *run) span(ctx context.Context) (context.Context, *trace.Span) {
	ctx = r.e.Tracer.At(ctx, r.info.Place())
	if r.e.Tracer == nil {
		return ctx, nil
	}
	ctx, span := trace.Start(ctx, trace.Internal, "run "+r.e.Agent.Tenant+"/"+r.req.Skill)
	if span == nil {
		return ctx, nil
	}
	var epoch int64
	r.h.View(func(rec *taskstore.Record) { epoch = rec.RunEpoch })
	span.Set(
		attribute.String("sabha.agent", r.e.Agent.Tenant), attribute.String("sabha.skill", r.req.Skill),
		attribute.String("sabha.task.id", r.id), attribute.String("sabha.task.root_id", r.root),
		attribute.Int("sabha.task.attempt", r.attempt), attribute.Int64("sabha.task.run", epoch),
		attribute.String("sabha.caller", r.info.Caller),
	)
	return ctx, span
}

// report says in the span what the run came to.
func (r *run) report(span *trace.Span) {
	if span == nil {
		return
	}
	state := a2apb.TaskState_TASK_STATE_UNSPECIFIED
	r.h.View(func(rec *taskstore.Record) { state = rec.Task.GetStatus().GetState() })
	span.Set(attribute.String("sabha.outcome", state.String()))
	if state == a2apb.TaskState_TASK_STATE_FAILED {
		span.Fail(state.String())
	}
}
