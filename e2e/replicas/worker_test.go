package replicas

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/service"
)

const workerName = "worker"

// What the worker can be told to do.
const (
	quick = "quick" // complete at once
	hold  = "hold"  // work until the gate is open
	ask   = "ask"   // need the client's answer
	count = "count" // make pieces of an artifact, one by one
)

// pieces that count makes.
const pieces = 60

// worker is an agent whose executions are written down in a folder that all nodes
// share, and whose gate is a file there.
type worker struct {
	dir  string
	node int
}

func (w worker) definition(c service.Config) service.Definition {
	return service.Definition{Name: workerName, Config: c, Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Agent: agent.Agent{
			Tenant: workerName, Name: workerName, Version: "1", Skills: []agent.Skill{{ID: "do", Run: w.do}},
		}}, nil
	}}
}

// do begins anew from what is stored.
func (w worker) do(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	first := run.Task().GetHistory()[0]
	verb := agent.DataOf(first.GetParts()).GetStructValue().GetFields()["do"].GetStringValue()
	if err := w.note(fmt.Sprintf("%d %s %s", w.node, verb, first.GetMessageId())); err != nil {
		return agent.Outcome{}, err
	}
	switch verb {
	case ask:
		if len(run.Task().GetHistory()) == 1 {
			return agent.InputRequired(agent.Text("which one?")), nil
		}
		return agent.Completed(agent.Text("you said " + agent.TextOf(run.Request().Message.GetParts()))), nil
	case hold:
		for !w.open() {
			if err := pause(ctx, 5*time.Millisecond); err != nil {
				return agent.Outcome{}, err
			}
		}
	case count:
		done := 0
		if list := run.Task().GetArtifacts(); len(list) > 0 {
			done = len(list[0].GetParts())
		}
		for ; done < pieces; done++ {
			if err := run.Append(&a2apb.Artifact{ArtifactId: "x", Parts: []*a2apb.Part{agent.Text(fmt.Sprint(done))}}, false); err != nil {
				return agent.Outcome{}, err
			}
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return agent.Outcome{}, err
			}
		}
	}
	return agent.Completed(agent.Text("done")), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w worker) note(line string) error {
	f, err := os.OpenFile(filepath.Join(w.dir, "work"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (w worker) open() bool {
	_, err := os.Stat(filepath.Join(w.dir, "gate"))
	return err == nil
}

// executions lists who executed what, oldest first: node, verb, message id.
func executions(dir string) [][]string {
	raw, _ := os.ReadFile(filepath.Join(dir, "work"))
	var list [][]string
	for line := range strings.Lines(string(raw)) {
		list = append(list, strings.Fields(line))
	}
	return list
}
