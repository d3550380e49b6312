package a2aagent

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// step is one run of a task.
type step struct {
	*Agent
	run agent.Run
	*call.Call
	terms   *agreement.Terms
	partner *partner.Partner
	line    *remote.Line
	// asked are our client's messages.
	asked []*a2apb.Message
}

// run takes a call from where it is stored to its next outcome.
func (a *Agent) run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	s := &step{Agent: a, run: run}
	for _, m := range run.Task().GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			s.asked = append(s.asked, m)
		}
	}
	var err error
	if s.Call, err = a.Calls.Get(ctx, run.Task().GetId()); err != nil {
		return agent.Outcome{}, err
	}
	if s.Call == nil {
		to, ok := partner.ParseAddress(run.Request().Skill)
		if !ok {
			return agent.Outcome{}, errors.New("a task of a skill that is no address")
		}
		s.Call = &call.Call{Task: run.Task().GetId(), To: to, First: to, Heard: 1}
	}
	if canceling(run) {
		return s.cancel(ctx), nil
	}
	for {
		o, err := s.next(ctx)
		if canceling(run) && err == nil && (o == nil || !remote.Ended(o.State)) {
			return s.cancel(ctx), nil
		}
		if err != nil || o != nil {
			if o == nil {
				return agent.Outcome{}, err
			}
			return *o, err
		}
	}
}

func canceling(run agent.Run) bool {
	select {
	case <-run.Canceling():
		return true
	default:
		return false
	}
}

// next does what the phase of the call asks for. Without an outcome the phase is another.
func (s *step) next(ctx context.Context) (*agent.Outcome, error) {
	switch s.Phase {
	case call.Confirming, call.Escalated:
		return s.hearReview(ctx)
	}
	why, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return s.refuse(ctx, why)
	}
	switch s.Phase {
	case "":
		return s.prepare(ctx)
	case call.Sending:
		return s.send(ctx)
	case call.Following:
		return s.follow(ctx)
	default:
		return s.hearClient(ctx)
	}
}

// find looks up whom the call is to, and whether it may be called. The second result says
// why not, and what to do about it.
func (s *step) find(ctx context.Context) (why string, err error) {
	s.partner, s.terms, why, err = s.lookUp(ctx, s.To)
	if err != nil || why != "" {
		return why, err
	}
	if s.line, err = s.Client.Line(s.partner); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// lookUp looks up a skill of a partner and whether it may be called.
func (a *Agent) lookUp(ctx context.Context, to partner.Address) (*partner.Partner, *agreement.Terms, string, error) {
	t := a.Book.Of(to.Partner, to.Skill)
	if t == nil {
		return nil, nil, "no agreement allows " + to.String() + "; whoever runs the platform adds the skill to the partner's agreement", nil
	}
	p, err := a.Directory.Partner(ctx, to.Partner)
	switch f := fault.As(err); {
	case f != nil && f.Reason != fault.Unavailable:
		return nil, nil, "partner " + to.Partner + " is not registered; register its card first", nil
	case err != nil:
		return nil, nil, "", err
	case !p.Ready():
		state := string(p.State)
		if p.State == partner.Approved {
			state = "approved, but not callable"
		}
		return nil, nil, "partner " + to.Partner + " is " + state + "; an administrator approves it and makes it callable", nil
	case p.Skill(to.Skill) == nil:
		return nil, nil, "the card of partner " + to.Partner + " has no skill " + to.Skill + " any more", nil
	}
	return p, t, "", nil
}

// refuse ends a task that may not go on.
func (s *step) refuse(ctx context.Context, why string) (*agent.Outcome, error) {
	if s.RemoteTask != "" {
		// It was begun when it was allowed.
		if report := s.stop(ctx); report != "" {
			why += "; " + report
		}
	}
	o := agent.Rejected(agent.Text(why))
	o.Rows = s.Calls.End(s.Call)
	return &o, nil
}

// crossing is what the border is told. What a client answers is for what it first asked for.
func (s *step) crossing() Crossing {
	r := s.run.Request()
	return Crossing{
		Terms: s.terms, Partner: s.partner, TaskID: s.Task, RootTaskID: r.RootTaskID, TraceID: r.TraceID, Principal: r.Principal,
		Purpose: disclosure.PurposeOf(s.asked[0]), Message: s.messageID(),
	}
}

// caller is on whose behalf the call is made.
func (s *step) caller() string { return s.run.Request().Principal.Key() }

// save makes the call durable as it is now, with further rows.
func (s *step) save(ctx context.Context, rows ...func(context.Context, *sql.Tx) error) error {
	return s.run.Commit(ctx, agent.Change{Rows: s.rows(rows...)})
}

func (s *step) rows(more ...func(context.Context, *sql.Tx) error) func(context.Context, *sql.Tx) error {
	return together(append(more, s.Calls.Put(s.Call))...)
}

// together are rows in order; those that are nil are none.
func together(all ...func(context.Context, *sql.Tx) error) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		for _, rows := range all {
			if rows == nil {
				continue
			}
			if err := rows(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// plansEnd tells whether the time of the plan's step is up before that of the agreement.
func (s *step) plansEnd() bool {
	return s.run.Deadline().Before(s.Began.Add(s.terms.Budget))
}

// timeUp says whose time it is that the call has used up: the lesser one.
func (s *step) timeUp() string {
	if s.plansEnd() {
		return "the partner has not finished within the time that its caller had left, which is less than the " + s.terms.Budget.String() + " of the agreement"
	}
	return "the partner has not finished within the " + s.terms.Budget.String() + " that the agreement gives a call"
}

// overdue is when the partner's time for the call is up.
func (s *step) overdue() time.Time {
	at := s.Began.Add(s.terms.Budget)
	if d := s.run.Deadline(); d.Before(at) {
		return d
	}
	return at
}
