package ledger

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/service"
)

// Name of the service and its tenant.
const Name = "ledger"

// Skills of the agent. Each takes data: work has ms, park has ms, flaky has seed.
var Skills = []string{"work", "park", "flaky", "ask"}

// Config of the agent.
type Config struct {
	service.Config `yaml:",inline"`
	// File takes one line for each execution.
	File string `yaml:"file"`
}

// New defines the service.
func New(c Config) service.Definition {
	return service.Definition{Name: Name, Config: c.Config, Build: func(_ context.Context, b *service.Base) (*service.Persona, error) {
		f, err := Open(c.File)
		if err != nil {
			return nil, err
		}
		l := &ledger{file: f}
		return &service.Persona{Unscreened: true, Close: f.f.Close, Agent: agent.Agent{
			Tenant: Name, Name: "Ledger", Description: "Writes down what it executes.", Version: b.Release,
			Skills: []agent.Skill{
				{ID: "work", Name: "Work", Description: "Takes its time.", Run: l.work},
				{ID: "park", Name: "Park", Description: "Lets go and is called again.", Run: l.park},
				{ID: "flaky", Name: "Flaky", Description: "Fails sometimes.", Run: l.flaky},
				{ID: "ask", Name: "Ask", Description: "Asks the client.", Run: l.ask},
			},
		}}, nil
	}}
}

type ledger struct{ file *File }

// enter writes an execution down and gives the step's message and its inputs.
func (l *ledger) enter(run agent.Run, skill, phase string) (message string, in map[string]*structpb.Value, err error) {
	began := time.Now()
	first := run.Task().GetHistory()[0]
	err = l.file.Append(Entry{Began: began, PID: os.Getpid(), Skill: skill, Phase: phase, Message: first.GetMessageId()})
	return first.GetMessageId(), agent.DataOf(first.GetParts()).GetStructValue().GetFields(), err
}

func (l *ledger) work(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	_, in, err := l.enter(run, "work", "")
	if err != nil {
		return agent.Outcome{}, err
	}
	select {
	case <-ctx.Done():
		return agent.Outcome{}, ctx.Err()
	case <-time.After(ms(in)):
	}
	return agent.Completed(agent.Text("done")), nil
}

func ms(in map[string]*structpb.Value) time.Duration {
	return time.Duration(in["ms"].GetNumberValue()) * time.Millisecond
}

// park lets go once. That it has is an artifact, so that a run after a kill knows.
func (l *ledger) park(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	if len(run.Task().GetArtifacts()) > 0 {
		_, _, err := l.enter(run, "park", "end")
		return agent.Completed(agent.Text("done")), err
	}
	_, in, err := l.enter(run, "park", "begin")
	if err != nil {
		return agent.Outcome{}, err
	}
	err = run.Commit(ctx, agent.Change{Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_ArtifactUpdate{
		ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{Artifact: &a2apb.Artifact{ArtifactId: "parked", Parts: []*a2apb.Part{agent.Text("parked")}}},
	}}}})
	return agent.Parked(time.Now().Add(ms(in))), err
}

// flaky fails about half of the first two calls of a step, always the same ones.
func (l *ledger) flaky(_ context.Context, run agent.Run) (agent.Outcome, error) {
	message, in, err := l.enter(run, "flaky", "")
	if err != nil {
		return agent.Outcome{}, err
	}
	_, rest, _ := strings.Cut(message, "/") // without the task's id, which no seed gives
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%v/%s", in["seed"].GetNumberValue(), rest)
	if h.Sum32()%2 == 0 && (strings.HasSuffix(rest, "/0") || strings.HasSuffix(rest, "/1")) {
		return agent.Failed(agent.Text("not this time")), nil
	}
	return agent.Completed(agent.Text("done")), nil
}

// ask waits for the client's answer, which is its output.
func (l *ledger) ask(_ context.Context, run agent.Run) (agent.Outcome, error) {
	answered := run.Request().Message.GetMessageId() != run.Task().GetHistory()[0].GetMessageId()
	if !answered {
		_, _, err := l.enter(run, "ask", "question")
		return agent.InputRequired(agent.Text("Which one?")), err
	}
	_, _, err := l.enter(run, "ask", "answer")
	return agent.Completed(run.Request().Message.GetParts()...), err
}
