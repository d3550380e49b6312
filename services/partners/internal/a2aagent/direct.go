package a2aagent

import (
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// answer passes a question on to a partner whose agreement says that the skill is a direct
// one, and the answer back: every check, and the record, without a task. The record joins
// the next commit and is not waited for. What fails is not tried again: the caller has no
// task that could wait, and asks again itself.
func (a *Agent) answer(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	to, _ := partner.ParseAddress(req.Skill)
	p, t, why, err := a.lookUp(ctx, to)
	if err != nil {
		return nil, err
	}
	if why == "" && (p.Skill(to.Skill).Confirm || wantsConfirmation(req.Message) != "") {
		why = "a person must allow calls of " + to.String() + ", and a direct skill makes no task that could wait; remove direct from the agreement"
	}
	if why != "" {
		return nil, fault.New(fault.PermissionDenied, "%s", why)
	}
	line, err := a.Client.Line(p)
	if err != nil {
		return nil, unavailable(err)
	}
	// Ids in the order of time: records are found, and written, beside each other.
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	c := Crossing{
		Terms: t, Partner: p, RootTaskID: req.RootTaskID, TraceID: req.TraceID, Principal: req.Principal, Purpose: disclosure.PurposeOf(req.Message), Message: id.String(),
	}
	cleared, err := a.Border.Leave(ctx, c, outbound(req.Message))
	if err != nil {
		return nil, err
	}
	if err := cleared.Record.Later(); err != nil {
		return nil, err
	}
	if cleared.Refused != "" {
		return nil, fault.New(fault.PermissionDenied, "%s", cleared.Refused)
	}
	pass, err := a.Gate.Enter(ctx, t)
	var closed *gate.Closed
	if errors.As(err, &closed) {
		f := fault.New(fault.Unavailable, "%s", closed.Error())
		if closed.Why == gate.Rate || closed.Why == gate.Busy {
			f = fault.New(fault.RateLimited, "%s", closed.Error())
		}
		f.RetryAfter = max(closed.RetryAt.Sub(a.Clock.Now()), 0)
		return nil, f
	}
	if err != nil {
		return nil, err
	}
	pass.Caller = req.Principal.Key()
	defer pass.Done(gate.Abandoned)
	bounded, cancel := pass.Context(ctx)
	defer cancel()
	parts, result, err := a.exchange(bounded, line, remote.Request(c.Message, to.Skill, bare(cleared.Parts)))
	if ctx.Err() != nil {
		return nil, ctx.Err() // the caller has left
	}
	pass.Done(result)
	if err != nil {
		return nil, err
	}
	parts, record, err := a.Border.Arrive(ctx, c, cleared.Sealed, bare(parts))
	if err != nil {
		return nil, err
	}
	if err := record.Later(); err != nil {
		return nil, err
	}
	return agent.Message(labelled(parts, foreign(req.Message))...), nil
}

// exchange asks, and gives the parts of an answer that is there at once.
func (a *Agent) exchange(ctx context.Context, line *remote.Line, req *a2apb.SendMessageRequest) ([]*a2apb.Part, gate.Result, error) {
	res, err := line.Send(ctx, req)
	if err != nil {
		switch remote.KindOf(err) {
		case remote.Limited:
			return nil, gate.Throttled, unavailable(err)
		case remote.Invalid, remote.TooLarge:
			return nil, gate.Invalid, unavailable(err)
		}
		return nil, gate.Failed, unavailable(err)
	}
	if m := res.GetMessage(); m != nil {
		return m.GetParts(), gate.OK, nil
	}
	t := res.GetTask()
	if t.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_COMPLETED {
		var parts []*a2apb.Part
		for _, x := range t.GetArtifacts() {
			parts = append(parts, x.GetParts()...)
		}
		if len(parts) == 0 {
			parts = t.GetStatus().GetMessage().GetParts()
		}
		if len(parts) > 0 {
			return parts, gate.OK, nil
		}
	}
	if !remote.Ended(t.GetStatus().GetState()) {
		_, _ = line.Cancel(ctx, t.GetId())
	}
	state := strings.ToLower(strings.TrimPrefix(t.GetStatus().GetState().String(), "TASK_STATE_"))
	return nil, gate.Invalid, fault.New(fault.InvalidAgentResponse,
		"the partner answered with a task that is %s, and not at once; remove direct from the agreement, so that its tasks are followed", state)
}

// unavailable is what a caller is told of a call that failed.
func unavailable(err error) error {
	e := asError(err)
	if e == nil {
		return fault.New(fault.Unavailable, "the partner did not answer in time").Because(err)
	}
	reason := fault.Unavailable
	switch e.Kind {
	case remote.Limited:
		reason = fault.RateLimited
	case remote.Invalid, remote.TooLarge:
		reason = fault.InvalidAgentResponse
	case remote.Refused, remote.Forbidden:
		reason = fault.PermissionDenied
	}
	f := fault.New(reason, "%s", e.Message)
	f.RetryAfter = e.RetryAfter
	if e.Cause() != nil {
		return f.Because(e.Cause())
	}
	return f
}
