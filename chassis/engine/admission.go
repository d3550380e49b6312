package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
)

// admit screens a task that came from outside before it runs. It returns the
// outcome of a refusal. While screening cannot be reached the task waits; when
// its budget for that is spent it is rejected.
func (r *run) admit(ctx context.Context) (*agent.Outcome, error) {
	if r.info.Admission != taskstore.Pending {
		return nil, nil
	}
	asked := r.e.Clock.Now()
	verdict, err := r.screen(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.e.count(verdict, err, asked)
	if err != nil {
		r.e.Logger.Warn("screening could not be reached", "task_id", r.id, "error", err)
		verdict = Verdict{Reason: "the request could not be screened in time; send it again later", PolicyVersion: "none"}
	}
	decision := "allowed"
	if !verdict.Allowed {
		decision = "refused"
	}
	record := fmt.Sprintf("%s by policy %s", decision, verdict.PolicyVersion)
	r.info.Admission = record
	err = r.h.Note(func(rec *taskstore.Record) (taskstore.Change, error) {
		rec.Info.Admission = record
		return taskstore.Change{}, nil
	})
	if err != nil || verdict.Allowed {
		return nil, err
	}
	refusal := agent.Rejected(agent.Text(verdict.Reason))
	return &refusal, nil
}

// screen asks until there is a verdict or the budget for screening is spent.
func (r *run) screen(ctx context.Context) (Verdict, error) {
	until := r.e.Clock.Now().Add(r.e.ScreeningBudget)
	pause := 100 * time.Millisecond
	for {
		verdict, err := r.e.Screener.Screen(r.Outgoing(ctx), r.req.Message)
		if err == nil || ctx.Err() != nil {
			return verdict, err
		}
		if r.e.Clock.Now().Add(pause).After(until) {
			return Verdict{}, err
		}
		select {
		case <-r.e.Clock.After(pause):
		case <-ctx.Done():
			return Verdict{}, ctx.Err()
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// screenNow judges a message that makes no task: a direct question or a follow-up.
func (e *Engine) screenNow(ctx context.Context, c identity.Call, m *a2apb.Message) (Verdict, error) {
	if !c.Edge || e.Screener == nil {
		return Verdict{Allowed: true, PolicyVersion: "none"}, nil
	}
	asked := e.Clock.Now()
	v, err := e.Screener.Screen(identity.WithOutgoing(ctx, c), m)
	e.count(v, err, asked)
	if err != nil {
		e.Logger.Warn("screening could not be reached", "error", err)
		return v, fault.New(fault.Unavailable, "the message could not be screened; send it again in a moment")
	}
	if !v.Allowed {
		return v, fault.New(fault.PermissionDenied, "%s", v.Reason).With("policyVersion", v.PolicyVersion)
	}
	return v, nil
}

// count counts a screened message.
func (e *Engine) count(v Verdict, err error, asked time.Time) {
	e.Metrics.AdmissionSeconds.Observe(e.Clock.Now().Sub(asked).Seconds())
	verdict := "refused"
	switch {
	case err != nil:
		verdict = "unreachable"
	case v.Allowed:
		verdict = "allowed"
	}
	e.Metrics.Admissions.WithLabelValues(verdict).Inc()
}
