package a2aagent

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/remote"
)

// stopFor bounds the cancel of something that was begun elsewhere.
const stopFor = 10 * time.Second

// cancel ends a task after a requested cancel: what it began elsewhere is canceled, and
// the report says what could not be.
func (s *step) cancel(ctx context.Context) agent.Outcome {
	report := "canceled"
	switch {
	case s.Phase == call.Confirming, s.Phase == call.Escalated:
		report = "canceled; nobody needs to decide any more"
		if why := s.stopReview(ctx); why != "" {
			report = "canceled; the review could not be: " + why
		}
	case s.RemoteTask != "":
		report = "canceled, and with it the partner's task"
		if why := s.stop(ctx); why != "" {
			report = "canceled here; " + why
		}
	case s.Phase == call.Sending && !s.Began.IsZero():
		report = "canceled; the partner had been asked, and whether it has begun is not known"
	case s.Phase == "" || s.Phase == call.Sending:
		report = "canceled before the partner was asked"
	}
	o := agent.Canceled(agent.Text(report))
	o.Rows = s.Calls.End(s.Call)
	return o
}

// stop cancels the partner's task. It reports why that could not be done, or "".
func (s *step) stop(ctx context.Context) string {
	if s.line == nil {
		p, err := s.Directory.Partner(ctx, s.To.Partner)
		if err == nil {
			s.line, err = s.Client.Line(p)
		}
		if err != nil {
			return "the partner's task could not be canceled: the partner cannot be called any more"
		}
	}
	ctx, cancel := context.WithTimeout(s.run.Outgoing(ctx), stopFor)
	defer cancel()
	t, err := s.line.Cancel(ctx, s.RemoteTask)
	switch {
	case remote.KindOf(err) == remote.Final && s.line.Tasks:
		return "the partner's task had ended, or cannot be canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "the partner's task could not be canceled: the partner did not answer"
	case err != nil:
		return "the partner's task could not be canceled: " + err.Error()
	case t.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_CANCELED:
		return ""
	case remote.Ended(t.GetStatus().GetState()):
		return "the partner's task had ended as " + t.GetStatus().GetState().String()
	}
	return "the partner was told to cancel its task, and has not yet"
}

func asError(err error) *remote.Error {
	var e *remote.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// log tells the operator what clients do not see.
func (s *step) log(ctx context.Context, e *remote.Error) {
	s.Log.WarnContext(ctx, "a call of a partner failed", "task_id", s.Task, "partner", s.To.Partner, "skill", s.To.Skill, "binding", s.Binding,
		"kind", e.Kind, "reason", e.Message, "cause", e.Cause())
}
