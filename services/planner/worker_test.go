package planner_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/service"
)

// worker is an agent whose behaviour a test drives, step by step.
type worker struct {
	tb testing.TB

	mu     sync.Mutex
	script map[string]act
	log    []string // what was executed, "step" or "undo step", in order
	said   map[string][]string
	places []string // context ids
	last   map[string]*a2apb.Message
	// hold, if any, keeps direct answers until it is closed.
	hold chan struct{}
}

// act is what a step does; n counts its executions from 1.
type act func(ctx context.Context, run agent.Run, n int) (agent.Outcome, error)

func newWorker(tb testing.TB) *worker {
	return &worker{tb: tb, script: map[string]act{}, said: map[string][]string{}, last: map[string]*a2apb.Message{}}
}

// on sets what a step does, by its id; "undo ID" is its compensation.
func (w *worker) on(step string, do act) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.script[step] = do
}

// did counts the executions of a step.
func (w *worker) did(step string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.log {
		if s == step {
			n++
		}
	}
	return n
}

func (w *worker) history() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// heard are the texts of the messages that a step's runs answered, in order.
func (w *worker) heard(step string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.said[step])
}

// sent is the newest message of a step.
func (w *worker) sent(step string) *a2apb.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[step]
}

func (w *worker) begin(step string, m *a2apb.Message) (act, int) {
	w.mu.Lock()
	w.log = append(w.log, step)
	w.said[step] = append(w.said[step], agent.TextOf(m.GetParts()))
	w.last[step] = m
	w.places = append(w.places, m.GetContextId())
	do := w.script[step]
	w.mu.Unlock()
	return do, w.did(step)
}

func stepOf(m *a2apb.Message) string {
	return m.GetMetadata().GetFields()[ext.Step].GetStringValue()
}

func (w *worker) run(prefix string) func(context.Context, agent.Run) (agent.Outcome, error) {
	return func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		step := prefix + stepOf(run.Task().GetHistory()[0])
		do, n := w.begin(step, run.Request().Message)
		if do == nil {
			return w.answer(run, nil)
		}
		return do(ctx, run, n)
	}
}

// answer completes a step with its inputs and more as its output. It is made of them, so
// it has their labels.
func (w *worker) answer(run agent.Run, more map[string]any) (agent.Outcome, error) {
	first := run.Task().GetHistory()[0]
	data := map[string]any{"step": stepOf(first)}
	if in, ok := agent.DataOf(first.GetParts()).AsInterface().(map[string]any); ok {
		for k, v := range in {
			data[k] = v
		}
	}
	for k, v := range more {
		data[k] = v
	}
	part, err := agent.Data(data)
	if err != nil {
		return agent.Outcome{}, err
	}
	labels := label.Of(first.GetParts()...)
	if err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{labels.Put(agent.Text("did " + stepOf(first))), labels.Put(part)}}); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(), nil
}

// gives completes with more data.
func (w *worker) gives(more map[string]any) act {
	return func(_ context.Context, run agent.Run, _ int) (agent.Outcome, error) { return w.answer(run, more) }
}

// fails fails the first n executions.
func (w *worker) fails(n int, reason string) act {
	return func(_ context.Context, run agent.Run, k int) (agent.Outcome, error) {
		if k <= n {
			return agent.Failed(agent.Text(reason)), nil
		}
		return w.answer(run, nil)
	}
}

// hangs works until it is stopped.
func (w *worker) hangs(ctx context.Context, _ agent.Run, _ int) (agent.Outcome, error) {
	<-ctx.Done()
	return agent.Outcome{}, ctx.Err()
}

// gated completes when the gate opens.
func (w *worker) gated(gate <-chan struct{}) act {
	return func(ctx context.Context, run agent.Run, _ int) (agent.Outcome, error) {
		select {
		case <-gate:
			return w.answer(run, nil)
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
	}
}

// asks needs the client's input once, then completes with what was answered.
func (w *worker) asks(question string) act {
	return func(_ context.Context, run agent.Run, n int) (agent.Outcome, error) {
		if len(run.Task().GetHistory()) == 1 {
			return agent.InputRequired(agent.Text(question)), nil
		}
		return w.answer(run, map[string]any{"heard": agent.TextOf(run.Request().Message.GetParts())})
	}
}

// definition of a service that is this worker.
func (w *worker) definition(name string, c service.Config) service.Definition {
	return service.Definition{Name: name, Config: c, Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Unscreened: true, Agent: agent.Agent{
			Tenant: name, Name: name, Version: "1",
			Skills: []agent.Skill{
				{ID: "do", Run: w.run(""), Check: func(_ context.Context, req *agent.Request) error {
					if in, ok := agent.DataOf(req.Message.GetParts()).AsInterface().(map[string]any); ok && in["bad"] != nil {
						w.begin(stepOf(req.Message), req.Message)
						return fault.Invalid("message.parts[0].data.bad", "is not taken")
					}
					return nil
				}},
				{ID: "undo", Run: w.run("undo ")},
				{ID: "careful", Compensates: true, Run: w.run("")},
				{ID: "say", Answer: func(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
					w.begin(stepOf(req.Message), req.Message)
					if w.hold != nil {
						select {
						case <-w.hold:
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
					return agent.Message(agent.Text("said " + strings.ToUpper(stepOf(req.Message)))), nil
				}},
			},
		}}, nil
	}}
}
