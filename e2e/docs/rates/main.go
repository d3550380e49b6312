// Command rates is the persona of the agent author's guide: it converts amounts.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/service"
)

// Config is what every service is told, and what one euro is in other currencies.
type Config struct {
	service.Config `yaml:",inline"`
	Rates          map[string]float64 `yaml:"rates"`
}

func main() { os.Exit(service.Main(os.Args, New)) }

// New defines the service. Nothing is started yet.
func New(c Config) service.Definition {
	return service.Definition{Name: "rates", Config: c.Config, Build: func(_ context.Context, b *service.Base) (*service.Persona, error) {
		return &service.Persona{Agent: agent.Agent{
			Tenant: "rates", Name: "Rates", Description: "Converts amounts in euro.", Version: b.Release,
			Skills: []agent.Skill{
				{
					ID: "convert", Name: "Convert", Description: "Takes data {amount, to}.", Budget: 10 * time.Second, Run: c.convert,
					// A bad order is refused before a task is stored for it.
					Check: func(_ context.Context, req *agent.Request) error { _, err := c.read(req.Message); return err },
				},
				{ID: "list", Name: "List", Description: "Lists the rates.", Anonymous: true, Answer: c.list},
			},
		}}, nil
	}}
}

type order struct {
	Amount float64 `json:"amount"`
	To     string  `json:"to"`
}

// read is strict: what it refuses, the client is told with the place of the fault.
func (c Config) read(m *a2apb.Message) (o order, err error) {
	given, err := agent.Decode(m.GetParts(), &o)
	switch {
	case err != nil:
		return o, err
	case !given:
		return o, fault.Invalid("message.parts", "needs a data part with amount and to")
	case c.Rates[o.To] == 0:
		return o, fault.Invalid("message.parts[0].data.to", "there is no rate for %q", o.To)
	}
	return o, nil
}

// convert is the run of a task. After a kill it runs again from its beginning.
func (c Config) convert(_ context.Context, run agent.Run) (agent.Outcome, error) {
	o, err := c.read(run.Request().Message)
	if err != nil {
		return agent.Outcome{}, err
	}
	data, err := agent.Data(map[string]any{"amount": o.Amount * c.Rates[o.To], "currency": o.To})
	if err != nil {
		return agent.Outcome{}, err
	}
	if err := run.Artifact(&a2apb.Artifact{ArtifactId: "amount", Name: "Amount", Parts: []*a2apb.Part{data}}); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(agent.Text(fmt.Sprintf("%.2f %s", o.Amount*c.Rates[o.To], o.To))), nil
}

// list is a direct answer: no task is made for it.
func (c Config) list(context.Context, *agent.Request) (*a2apb.Message, error) {
	return agent.Message(agent.Text(fmt.Sprint(c.Rates))), nil
}
