package a2aagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/remote"
)

// messageID is derived from what the message stands for: who is asked, and which of our
// client's messages it is. Sent again, by this replica or another, it is the same.
func (s *step) messageID() string {
	return fmt.Sprintf("%s/%d/%d", s.Task, s.Attempt, s.Current)
}

// prepare decides what leaves, and makes that durable with its record before anything does.
func (s *step) prepare(ctx context.Context) (*agent.Outcome, error) {
	asked := s.asked[s.Current]
	cleared, err := s.Border.Leave(ctx, s.crossing(), outbound(asked))
	if err != nil {
		return nil, err
	}
	if cleared.Refused != "" {
		o, err := s.refuse(ctx, cleared.Refused)
		if o != nil {
			o.Rows = together(cleared.Record.Rows, o.Rows)
		}
		return o, err
	}
	req := remote.Request(s.messageID(), s.To.Skill, bare(cleared.Parts))
	req.Message.TaskId, req.Message.ContextId = s.RemoteTask, s.RemoteContext
	if s.Request, err = proto.Marshal(req); err != nil {
		return nil, err
	}
	if s.Hook == "" && s.reachable() {
		s.NewHook()
	}
	s.Sealed, s.Retries, s.Binding, s.Confirmed = cleared.Sealed, 0, s.line.Binding, false
	if s.terms.Confirm || s.partner.Skill(s.To.Skill).Confirm || wantsConfirmation(asked) != "" {
		s.Phase = call.Confirming
		return s.ask(ctx, req, cleared.Record.Rows)
	}
	s.Phase = call.Sending
	return nil, s.save(ctx, cleared.Record.Rows)
}

// reachable tells whether the partner can be asked to notify us: an address of this machine
// is none for others.
func (s *step) reachable() bool {
	return s.Hooks != "" && s.line.Pushes && (!card.Plain(s.Hooks) || card.Plain(s.partner.CardURL))
}

// request is what was decided to leave.
func (s *step) request() (*a2apb.SendMessageRequest, error) {
	req := &a2apb.SendMessageRequest{}
	if err := proto.Unmarshal(s.Request, req); err != nil {
		return nil, fmt.Errorf("the request of task %s: %w", s.Task, err)
	}
	req.Configuration = &a2apb.SendMessageConfiguration{HistoryLength: new(int32)}
	if s.Hook != "" {
		req.Configuration.TaskPushNotificationConfig = &a2apb.TaskPushNotificationConfig{Url: s.Hooks + s.Hook, Token: cmp.Or(s.Token, s.Hook)}
	}
	return req, nil
}

// send asks the partner and hears the answer.
func (s *step) send(ctx context.Context) (*agent.Outcome, error) {
	req, err := s.request()
	if err != nil {
		return nil, err
	}
	pass, err := s.Gate.Enter(ctx, s.terms)
	if err != nil {
		var closed *gate.Closed
		if !errors.As(err, &closed) {
			return nil, err
		}
		return s.after(ctx, closed, err)
	}
	defer pass.Done(gate.Abandoned)
	s.Began, pass.Caller = pass.Began, s.caller()
	bounded, cancel := pass.Context(s.run.Outgoing(ctx))
	defer cancel()
	m := &mirror{step: s}
	if s.line.Streams {
		err = s.hold(bounded, m, func(ctx context.Context) error {
			return s.line.Stream(ctx, req, func(ev *a2apb.StreamResponse) error { return m.take(ctx, ev) })
		})
	} else {
		// The partner is not to keep us waiting: what takes time is a task, which is asked for.
		req.Configuration.ReturnImmediately = true
		err = s.hold(bounded, m, func(ctx context.Context) error {
			res, err := s.line.Send(ctx, req)
			if err == nil {
				err = m.take(ctx, res)
			}
			return err
		})
	}
	if s.Hook != "" && s.RemoteTask == "" && remote.KindOf(err) == remote.Refused {
		// It may be the webhook that it does not take: it is asked once more without one.
		s.Hook, s.Token = "", ""
		return nil, s.save(ctx)
	}
	return s.heard(ctx, m, pass, err)
}

// heard makes of what was heard of the partner what comes next. err is how the line ended.
func (s *step) heard(ctx context.Context, m *mirror, pass *gate.Pass, err error) (*agent.Outcome, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case canceling(s.run):
		return nil, nil
	case m.broken != nil: // ours: the task is another's, or the database is away
		return nil, m.broken
	case m.settled():
		return s.settle(ctx, m, pass.Done)
	}
	kind := remote.KindOf(err)
	bad := kind == remote.Invalid || kind == remote.TooLarge
	if s.RemoteTask != "" && !bad {
		// The partner's task goes on without this line.
		pass.Leave()
		return s.park(s.nextPoll(m.news), nil)
	}
	switch {
	case bad:
		pass.Done(gate.Invalid)
	case kind == remote.Limited:
		pass.Done(gate.Throttled)
	default:
		pass.Done(gate.Failed)
	}
	return s.after(ctx, nil, err)
}

// holdFor is how long a partner that works on a task may be silent before its line is
// let go of.
const holdFor = 30 * time.Second

// hold does something with the partner on the line until it is done, the task is canceled,
// or, once the partner has a task, the line has been silent for long.
func (s *step) hold(ctx context.Context, m *mirror, on func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.spoke = make(chan struct{}, 1)
	m.begun.Store(s.RemoteTask != "")
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-s.run.Canceling():
				cancel()
				return
			case <-s.Clock.After(holdFor):
				if m.begun.Load() {
					cancel()
					return
				}
			case <-m.spoke:
			case <-done:
				return
			}
		}
	}()
	return on(ctx)
}

// spoken is shared with whoever watches the line.
type spoken struct {
	spoke chan struct{}
	begun atomic.Bool
}

func (s *spoken) say() {
	select {
	case s.spoke <- struct{}{}:
	default:
	}
}

// Polling of a partner's task: at once, then less and less often, parked in between.
const (
	firstPoll  = 100 * time.Millisecond
	lastPoll   = 2 * time.Minute
	pushedPoll = 5 * time.Minute // of one that notifies us
)

// nextPoll is when the partner's task is looked at again.
func (s *step) nextPoll(news bool) time.Time {
	if news {
		s.Polls = 0
	}
	s.Polls++
	pause := min(firstPoll<<min(s.Polls, 20), lastPoll)
	if s.Hook != "" && s.Polls > 1 {
		pause = pushedPoll
	}
	at := s.Clock.Now().Add(pause)
	if late := s.overdue(); at.After(late) {
		return late
	}
	return at
}

// park frees the replica until a time, or until something happens.
func (s *step) park(at time.Time, m *a2apb.Message) (*agent.Outcome, error) {
	o := agent.Parked(at)
	o.Message, o.Rows = m, s.rows()
	return &o, nil
}
