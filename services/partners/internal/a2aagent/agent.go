// Package a2aagent is the partners persona as an A2A agent. Each skill of a partner that
// an agreement allows is a skill of ours, whose id is the partner's address: a task of it
// is a call of the partner, with everything around that makes the call a governed one.
package a2aagent

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// Directory knows the partners.
type Directory interface {
	// Partner gives a partner. The error of one that is not there is a fault.
	Partner(ctx context.Context, id string) (*partner.Partner, error)
	// Partners gives all that may be listed, in order of their ids.
	Partners(ctx context.Context) ([]*partner.Partner, error)
}

// Book knows the agreements in force.
type Book interface {
	// Of gives the terms of a skill; nil: it is not allowed.
	Of(partner, skill string) *agreement.Terms
}

// Gate lets calls through.
type Gate interface {
	// Enter gives a pass, or a *gate.Closed.
	Enter(context.Context, *agreement.Terms) (*gate.Pass, error)
	// Ended tells of a call whose pass was left.
	Ended(t *agreement.Terms, caller string, began time.Time, r gate.Result)
	// Next says what comes after a call that has not succeeded.
	Next(t gate.Trial, jitter float64) gate.Step
}

// Crossing is what goes over the border with a call, and for whom.
type Crossing struct {
	Terms   *agreement.Terms
	Partner *partner.Partner
	// TaskID is ours, "" for a direct answer; RootTaskID the one that the client started.
	TaskID, RootTaskID, TraceID string
	Principal                   identity.Principal
	// Purpose is what our client says that the data is used for.
	Purpose disclosure.Purpose
	// Message is the id under which the partner has it.
	Message string
}

// Cleared is what may leave.
type Cleared struct {
	// Parts in the form in which they leave.
	Parts []*a2apb.Part
	// Refused says why nothing leaves, in a sentence; empty: the parts may.
	Refused string
	// Sealed is what Arrive needs to resolve tokens in the answer; nil: there are none.
	Sealed []byte
	// Record is that of the crossing, also of a refusal.
	Record Record
}

// Record is what is kept of a crossing. One of its methods is called.
type Record interface {
	// Rows writes it with the change of a task, before anything is sent. It may be called
	// again.
	Rows(context.Context, *sql.Tx) error
	// Later has it written with the next commit, for a call that makes no task, and does not
	// wait for it. The error, a fault, says that it cannot be: then nothing may leave.
	Later() error
}

// Border decides what may leave, and keeps the record of what crosses.
type Border interface {
	Leave(ctx context.Context, c Crossing, parts []*a2apb.Part) (Cleared, error)
	// Open gives how many bytes at the end of a text may be the beginning of a token, so that
	// what comes in pieces is resolved when it is whole.
	Open(text string) int
	// Arrive resolves in an answer the tokens of what was sealed.
	Arrive(ctx context.Context, c Crossing, sealed []byte, parts []*a2apb.Part) ([]*a2apb.Part, Record, error)
}

// Config of the agent. Everything must be set but what says that it may not be.
type Config struct {
	Directory Directory
	Book      Book
	Gate      Gate
	Border    Border
	Client    *remote.Client
	Calls     *call.Store
	// Review is the connection to the review agent.
	Review func() (grpc.ClientConnInterface, error)
	// Hooks is the URL under which partners notify us, without the secret; empty: they are
	// not asked to.
	Hooks string
	Clock clock.Clock
	Log   *slog.Logger
	// Jitter spreads retries: a number from 0 to 1, anew for each call.
	Jitter func() float64
}

// Agent is the executor.
type Agent struct{ Config }

// New makes it.
func New(c Config) *Agent { return &Agent{c} }

// graceAfterBudget is how much longer than the calls that it makes a task may take: for
// waiting at the gate, and for retries and fallbacks.
const graceAfterBudget = 10 * time.Minute

// Lookup finds the skill of an address. It knows every address: whether it may be called
// is decided when it is, and a refusal is an answer that is recorded.
func (a *Agent) Lookup(id string) *agent.Skill {
	to, ok := partner.ParseAddress(id)
	if !ok {
		return nil
	}
	s := &agent.Skill{
		ID: id, Name: id, Internal: true, Compensates: true, Budget: graceAfterBudget, InputModes: []string{"*/*"}, Run: a.run,
	}
	if t := a.Book.Of(to.Partner, to.Skill); t != nil {
		s.Budget += t.Budget * time.Duration(1+t.Retries.Max)
		if t.Direct && !t.Confirm {
			s.Answer = a.answer
		}
	}
	return s
}

// Extended lists the skills that may be called now.
func (a *Agent) Extended(ctx context.Context, _ identity.Principal, card *a2apb.AgentCard) error {
	all, err := a.Directory.Partners(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		for _, s := range p.Skills {
			if !p.Ready() || a.Book.Of(p.ID, s.ID) == nil {
				continue
			}
			card.Skills = append(card.Skills, &a2apb.AgentSkill{
				Id: partner.Address{Partner: p.ID, Skill: s.ID}.String(), Name: s.Name, Description: s.Description, Tags: s.Tags,
			})
		}
	}
	return nil
}
