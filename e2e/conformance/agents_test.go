package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
)

// requiredExtension is what the agent "strict" wants its clients to name.
const requiredExtension = "https://example.com/ext/strict/v1"

// agents are those behind the gateway; teller has no skill but tell. Skills of the one at the root:
//
//   - complete: an artifact, then completed
//   - chunks: one artifact in three pieces, then completed
//   - ask: asks for input, then completes with it
//   - authorise: waits for an authorisation until authorised is called
//   - hold: works until it is let go
//   - fail, reject: end so
//   - text: takes only text/plain
//   - tell: a direct answer, to anybody
//   - mute: a direct answer with nothing in it
//   - refuse: a direct answer that is the error which the message names
type agents struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

func newAgents() *agents { return &agents{held: map[string]chan struct{}{}} }

// gate is what tasks of hold and authorise wait for, by the text of their message.
func (a *agents) gate(name string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[name] == nil {
		a.held[name] = make(chan struct{})
	}
	return a.held[name]
}

// let lets the tasks go on that wait under a name.
func (a *agents) let(name string) { close(a.gate(name)) }

func (a *agents) build(name string) func(context.Context, *service.Base) (*service.Persona, error) {
	return func(context.Context, *service.Base) (*service.Persona, error) {
		p := &service.Persona{Unscreened: true, Agent: agent.Agent{
			Tenant: name, Name: name, Description: "An agent that tests talk to.", Version: "1.2.3", Skills: a.skills(),
		}}
		switch name {
		case "planner":
			p.Agent.Extended = func(_ context.Context, who identity.Principal, card *a2apb.AgentCard) error {
				card.Description = "For " + who.Subject
				return nil
			}
		case "strict":
			p.Agent.Extensions = []*a2apb.AgentExtension{{Uri: requiredExtension, Required: true}}
		case "teller":
			p.Agent.Skills = []agent.Skill{tell}
		case "bare":
			p.ExtendedCard = true
		}
		return p, nil
	}
}

func (a *agents) skills() []agent.Skill {
	return []agent.Skill{
		{ID: "complete", Name: "Complete", Description: "Completes.", Run: complete},
		{ID: "chunks", Name: "Chunks", Description: "Streams.", Run: chunks},
		{ID: "ask", Name: "Ask", Description: "Asks.", Run: ask},
		{ID: "authorise", Name: "Authorise", Description: "Waits for an authorisation.", Run: a.authorise},
		{ID: "hold", Name: "Hold", Description: "Holds.", Run: a.hold},
		{ID: "fail", Name: "Fail", Description: "Fails.", Run: func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Failed(agent.Text("it did not work")), nil
		}},
		{ID: "reject", Name: "Reject", Description: "Rejects.", Run: func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Rejected(agent.Text("against the rules")), nil
		}},
		{ID: "text", Name: "Text", Description: "Takes text.", InputModes: []string{"text/plain"}, Run: complete},
		tell,
		{ID: "mute", Name: "Mute", Description: "Says nothing.", Answer: func(context.Context, *agent.Request) (*a2apb.Message, error) {
			return &a2apb.Message{}, nil
		}},
		{ID: "refuse", Name: "Refuse", Description: "Refuses.", Answer: refuse},
	}
}

var tell = agent.Skill{ID: "tell", Name: "Tell", Description: "Tells.", Anonymous: true, Answer: func(_ context.Context, r *agent.Request) (*a2apb.Message, error) {
	return agent.Message(agent.Text("told " + r.Principal.Subject)), nil
}}

func complete(_ context.Context, run agent.Run) (agent.Outcome, error) {
	err := run.Artifact(&a2apb.Artifact{ArtifactId: "a", Name: "answer", Parts: []*a2apb.Part{agent.Text("42")}})
	return agent.Completed(agent.Text("done")), err
}

func chunks(_ context.Context, run agent.Run) (agent.Outcome, error) {
	for i := range 3 {
		chunk := &a2apb.Artifact{ArtifactId: "c", Parts: []*a2apb.Part{agent.Text(fmt.Sprint(i))}}
		put := func() error { return run.Append(chunk, i == 2) }
		if i == 0 {
			put = func() error { return run.Artifact(chunk) }
		}
		if err := put(); err != nil {
			return agent.Outcome{}, err
		}
	}
	return agent.Completed(), nil
}

func ask(_ context.Context, run agent.Run) (agent.Outcome, error) {
	if len(run.Task().GetHistory()) == 1 {
		return agent.InputRequired(agent.Text("which one?")), nil
	}
	return agent.Completed(agent.Text("the " + agent.TextOf(run.Request().Message.GetParts()))), nil
}

func (a *agents) authorise(_ context.Context, run agent.Run) (agent.Outcome, error) {
	select {
	case <-a.gate(agent.TextOf(run.Request().Message.GetParts())):
		return agent.Completed(agent.Text("authorised")), nil
	default:
		return agent.AuthRequired(time.Now().Add(50*time.Millisecond), agent.Text("grant access at https://example.com/grant")), nil
	}
}

func (a *agents) hold(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	if err := run.Working(agent.Message(agent.Text("holding"))); err != nil {
		return agent.Outcome{}, err
	}
	select {
	case <-a.gate(agent.TextOf(run.Request().Message.GetParts())):
		return agent.Completed(agent.Text("let go")), nil
	case <-ctx.Done():
		return agent.Outcome{}, ctx.Err()
	}
}

// retryAfter is what refuse tells those over a limit.
const retryAfter = 7 * time.Second

func refuse(_ context.Context, r *agent.Request) (*a2apb.Message, error) {
	reason := fault.Reason(agent.TextOf(r.Message.GetParts()))
	e := fault.New(reason, "refused")
	if reason == fault.RateLimited {
		e.RetryAfter = retryAfter
	}
	return nil, e
}
