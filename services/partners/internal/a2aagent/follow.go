package a2aagent

import (
	"context"
	"database/sql"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// follow goes on with a task that the partner has.
func (s *step) follow(ctx context.Context) (*agent.Outcome, error) {
	for {
		if !s.Clock.Now().Before(s.overdue()) {
			return s.late(ctx)
		}
		m, err := s.look(ctx)
		switch kind := remote.KindOf(err); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case canceling(s.run):
			return nil, nil
		case m.broken != nil:
			return nil, m.broken
		case m.settled():
			return s.settle(ctx, m, func(r gate.Result) { s.Gate.Ended(s.terms, s.caller(), s.Began, r) })
		case kind == remote.Gone, kind == remote.Invalid, kind == remote.TooLarge:
			s.Gate.Ended(s.terms, s.caller(), s.Began, gate.Invalid)
			return s.after(ctx, nil, err)
		}
		at := s.nextPoll(m.news && m.state == 0)
		wait := at.Sub(s.Clock.Now())
		if wait > brief {
			return s.park(at, nil)
		}
		select {
		case <-s.Clock.After(wait):
		case <-s.run.Nudged():
		case <-s.run.Canceling():
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// look hears how the partner's task stands: by what it has notified us of, over a stream as long as that says something,
// where the line to it was lost just now, else by asking.
func (s *step) look(ctx context.Context) (*mirror, error) {
	m := &mirror{step: s}
	if told, err := m.told(ctx); told || err != nil {
		if m.broken == nil {
			m.broken = err
		}
		return m, err
	}
	bounded, cancel := context.WithTimeout(s.run.Outgoing(ctx), max(s.overdue().Sub(s.Clock.Now()), time.Second))
	defer cancel()
	if s.line.Streams && s.Polls == 0 {
		err := s.hold(bounded, m, func(ctx context.Context) error {
			return s.line.Subscribe(ctx, s.RemoteTask, func(ev *a2apb.StreamResponse) error { return m.take(ctx, ev) })
		})
		if m.settled() || m.broken != nil || canceling(s.run) {
			return m, err
		}
	}
	req, err := s.request()
	if err != nil {
		m.broken = err
		return m, err
	}
	m = &mirror{step: s}
	err = s.hold(bounded, m, func(ctx context.Context) error {
		t, err := s.line.Get(ctx, s.RemoteTask, req)
		if err != nil {
			return err
		}
		return m.take(ctx, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}})
	})
	return m, err
}

// late ends a call whose time is up.
func (s *step) late(ctx context.Context) (*agent.Outcome, error) {
	result := gate.Failed
	if s.plansEnd() {
		result = gate.Abandoned // it has the agreement's time for it
	}
	s.Gate.Ended(s.terms, s.caller(), s.Began, result)
	why := s.timeUp()
	if report := s.stop(ctx); report != "" {
		why += "; " + report
	}
	return s.after(ctx, nil, &remote.Error{Kind: remote.Failed, Message: why})
}

// ended is what comes of a task that the partner failed or canceled by itself.
func (s *step) ended(ctx context.Context, state a2apb.TaskState, said []*a2apb.Part, rows func(context.Context, *sql.Tx) error) (*agent.Outcome, error) {
	what := "failed"
	if state == a2apb.TaskState_TASK_STATE_CANCELED {
		what = "was canceled by the partner"
	}
	why := "the partner's task " + what
	if text := agent.TextOf(said); text != "" {
		why += ": " + text
	}
	o, err := s.after(ctx, nil, &remote.Error{Kind: remote.Refused, Message: why})
	if o != nil && o.State == a2apb.TaskState_TASK_STATE_FAILED {
		// What it said goes along as it is, labels included.
		o.Message = agent.Message(append([]*a2apb.Part{agent.Text("the partner's task " + what)}, said...)...)
	}
	if o != nil {
		o.Rows = together(rows, o.Rows)
	}
	return o, err
}

// hearClient waits at a question of the partner's: for our client's answer, or for the
// partner to go on without.
func (s *step) hearClient(ctx context.Context) (*agent.Outcome, error) {
	if len(s.asked) > s.Heard {
		s.Current, s.Phase = s.Heard, ""
		s.Heard++
		return nil, nil
	}
	s.Polls = 1 // it is asked, not listened to
	m, err := s.look(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case m.broken != nil:
		return nil, m.broken
	case m.settled():
		return s.settle(ctx, m, func(gate.Result) {})
	case remote.KindOf(err) == remote.Gone:
		return s.after(ctx, nil, err)
	case m.state != 0: // it goes on
		s.Phase, s.Began, s.Polls = call.Following, s.Clock.Now(), 0
		return nil, nil
	}
	m.state = s.run.Task().GetStatus().GetState()
	if !remote.Settled(m.state) {
		m.state = a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
	}
	return s.question(m, agent.Outcome{}, nil)
}

// after says what comes after a call that has not succeeded: closed where the gate held it
// back, err where it was made.
func (s *step) after(ctx context.Context, closed *gate.Closed, err error) (*agent.Outcome, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t := gate.Trial{
		First: s.Book.Of(s.First.Partner, s.First.Skill), Now: s.terms, Tried: append([]partner.Address{s.To}, s.Tried...), Retries: s.Retries,
		Closed: closed, Deadline: s.run.Deadline(),
	}
	if t.First == nil {
		t.First = s.terms
	}
	reason := s.timeUp()
	var e *remote.Error
	if closed == nil {
		t.Again = s.RemoteTask == ""
		if e = asError(err); e != nil {
			reason = e.Message
			s.log(ctx, e)
			nothing := e.Unsent || e.Kind == remote.Credentials || e.Kind == remote.Forbidden
			if t.Again = t.Again && (e.Again() || nothing); nothing && !e.Again() {
				t.Retries = s.terms.Retries.Max // here it would be the same
			}
			if e.RetryAfter > 0 {
				t.After = s.Clock.Now().Add(e.RetryAfter)
			}
		}
	} else {
		reason = closed.Error()
	}
	s.Failure = reason
	switch next := s.Gate.Next(t, s.Jitter()); next.Do {
	case gate.Wait:
		return s.until(ctx, next.At)
	case gate.Retry:
		s.Retries++
		return s.until(ctx, next.At)
	case gate.Fallback:
		*s.Call = call.Call{Task: s.Task, First: s.First, To: next.To, Tried: t.Tried, Attempt: s.Attempt + 1, Current: s.Current, Heard: s.Heard, Failure: reason}
		return nil, s.save(ctx)
	case gate.Escalate:
		return s.escalate(ctx, reason)
	}
	o := agent.Failed(agent.Text(reason))
	o.Rows = s.Calls.End(s.Call)
	return &o, nil
}

// brief is how long a run waits for something without parking.
const brief = 2 * time.Second

// until goes on at a time.
func (s *step) until(ctx context.Context, at time.Time) (*agent.Outcome, error) {
	wait := at.Sub(s.Clock.Now())
	if wait > brief {
		return s.park(at, agent.Message(agent.Text("waits to ask "+s.To.String()+" again: "+s.Failure)))
	}
	select {
	case <-s.Clock.After(wait):
	case <-s.run.Canceling():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, nil
}
