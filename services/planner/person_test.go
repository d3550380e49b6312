package planner_test

import (
	"context"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/service"
)

// people are a review agent whose decisions a test takes.
type people struct {
	tb testing.TB

	mu    sync.Mutex
	items []item
	// word is what people have decided or asked; it is closed and made anew when that changes.
	word     chan struct{}
	decision map[string]any
	question string
}

// item is what people were asked to decide on.
type item struct {
	Task    string
	Inputs  map[string]any
	Stopped bool
}

func newPeople(tb testing.TB) *people { return &people{tb: tb, word: make(chan struct{})} }

// decide takes the decision on everything that waits or comes.
func (p *people) decide(output map[string]any) { p.say(output, "") }

// ask asks the requester.
func (p *people) ask(question string) { p.say(nil, question) }

func (p *people) say(output map[string]any, question string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decision, p.question = output, question
	close(p.word)
	p.word = make(chan struct{})
}

// asked are the items there are.
func (p *people) asked() []item {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]item(nil), p.items...)
}

func (p *people) open(run agent.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, it := range p.items {
		if it.Task == run.Task().GetId() {
			return
		}
	}
	in, _ := agent.DataOf(run.Task().GetHistory()[0].GetParts()).AsInterface().(map[string]any)
	p.items = append(p.items, item{Task: run.Task().GetId(), Inputs: in})
}

func (p *people) heard() (map[string]any, string, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.decision, p.question, p.word
}

func (p *people) run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	p.open(run)
	wait := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"for": structpb.NewStringValue("person"), "queue": structpb.NewStringValue("answers"), "due": structpb.NewStringValue("2030-01-02T10:00:00Z"),
	}})
	md := map[string]*structpb.Value{ext.Wait: wait}
	err := run.Commit(ctx, agent.Change{Metadata: md, Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_StatusUpdate{
		StatusUpdate: &a2apb.TaskStatusUpdateEvent{
			Status: &a2apb.TaskStatus{State: working}, Metadata: &structpb.Struct{Fields: md},
		},
	}}}})
	if err != nil {
		return agent.Outcome{}, err
	}
	for {
		decision, question, word := p.heard()
		switch {
		case decision != nil:
			part, err := agent.Data(decision)
			if err != nil {
				return agent.Outcome{}, err
			}
			return agent.Completed(), run.Artifact(&a2apb.Artifact{Name: "decision", Parts: []*a2apb.Part{part}})
		case question != "" && len(run.Task().GetHistory()) == 1:
			return agent.InputRequired(agent.Text(question)), nil
		}
		select {
		case <-word:
		case <-ctx.Done():
			p.mu.Lock()
			for n := range p.items {
				p.items[n].Stopped = p.items[n].Stopped || p.items[n].Task == run.Task().GetId()
			}
			p.mu.Unlock()
			return agent.Outcome{}, ctx.Err()
		}
	}
}

func (p *people) definition(c service.Config) service.Definition {
	return service.Definition{Name: "review", Config: c, Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Unscreened: true, Agent: agent.Agent{
			Tenant: "review", Name: "review", Version: "1", Skills: []agent.Skill{{ID: "review", Run: p.run}},
		}}, nil
	}}
}
