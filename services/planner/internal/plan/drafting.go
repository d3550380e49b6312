package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/services/planner/internal/draft"
	"sabha.dev/services/planner/internal/model"
	"sabha.dev/services/planner/playbook"
)

// Drafter has a model plan a request that no playbook takes.
type Drafter interface {
	Draft(ctx context.Context, req draft.Request) (draft.Draft, error)
}

// modelled is what models did for a plan. The zero value is nothing.
type modelled struct {
	// Drafted says that a model wrote the plan, Model which, Repairs how often it was sent
	// back.
	Drafted bool
	Model   string
	Repairs int
	// Note says why the built-in plan is used though a model is there.
	Note  string
	Usage model.Usage
}

// draft has a model plan the request of a task. Without a book the built-in plan is used,
// which the note explains, unless the client has to answer something first.
func (p *Planner) draft(ctx context.Context, run agent.Run, spend *model.Spend, data map[string]any) (*playbook.Playbook, modelled, *agent.Outcome, error) {
	ctx, done := uncancelled(ctx, run)
	defer done()
	if err := run.Working(saying("A model drafts the plan.")); err != nil {
		return nil, modelled{}, nil, err
	}
	t := run.Task()
	req := draft.Request{Data: data, Labels: asked(userMessages(t), run.Request().Caller), Task: t.GetId()}
	for _, m := range userMessages(t) {
		if text := agent.TextOf(m.GetParts()); text != "" {
			req.Texts = append(req.Texts, text)
		}
	}
	d, err := p.Drafter.Draft(model.WithSpend(ctx, spend), req)
	if ctx.Err() != nil {
		return nil, modelled{}, nil, context.Cause(ctx)
	}
	if err != nil {
		m := modelled{Usage: spend.Used(), Note: fmt.Sprintf("The built-in plan is used: %s.", err)}
		p.Logger.Warn("no plan was drafted", "task_id", t.GetId(), "error", err)
		return nil, m, nil, run.Working(saying(m.Note))
	}
	m := modelled{Drafted: true, Model: d.Model, Repairs: d.Repairs}
	if d.Question != "" {
		ask := agent.InputRequired(agent.Text(storable(d.Question)))
		ask.WakeAt = p.Clock.Now().Add(askFor)
		m.Usage = spend.Used()
		return nil, m, &ask, run.Note(agent.Change{Metadata: map[string]*structpb.Value{ext.Models: m.value()}})
	}
	return d.Book, m, nil, nil
}

func saying(text string) *a2apb.Message {
	return &a2apb.Message{MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{agent.Text(storable(text))}}
}

var errCanceling = errors.New("the task is being cancelled")

// uncancelled ends with errCanceling when a cancel is requested.
func uncancelled(ctx context.Context, run agent.Run) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	go func() {
		select {
		case <-run.Canceling():
			cancel(errCanceling)
		case <-stop:
		}
	}()
	return ctx, func() {
		close(stop)
		cancel(nil)
	}
}

// models is what models did for the plan, with what they have used by now.
func (p *plan) models() modelled {
	m := p.modelled
	if p.spend != nil {
		m.Usage = p.spend.Used()
	}
	return m
}

// modelledOf is what a task says that models did for it.
func modelledOf(t *a2apb.Task) modelled {
	f := t.GetMetadata().GetFields()[ext.Models].GetStructValue().GetFields()
	n := func(name string) int64 { return int64(f[name].GetNumberValue()) }
	return modelled{
		Drafted: f["drafted"].GetBoolValue(), Model: f["model"].GetStringValue(), Repairs: int(n("repairs")), Note: f["note"].GetStringValue(),
		Usage: model.Usage{
			Calls: n("calls"), InputTokens: n("input_tokens"), OutputTokens: n("output_tokens"),
			Cost: f["cost"].GetNumberValue(), Currency: f["currency"].GetStringValue(),
		},
	}
}

// value is what a task says of it.
func (m modelled) value() *structpb.Value {
	f := map[string]*structpb.Value{}
	for name, text := range map[string]string{"model": m.Model, "note": m.Note, "currency": m.Usage.Currency} {
		if text != "" {
			f[name] = structpb.NewStringValue(text)
		}
	}
	for name, n := range map[string]float64{
		"repairs": float64(m.Repairs), "calls": float64(m.Usage.Calls), "cost": m.Usage.Cost,
		"input_tokens": float64(m.Usage.InputTokens), "output_tokens": float64(m.Usage.OutputTokens),
	} {
		if n != 0 {
			f[name] = structpb.NewNumberValue(n)
		}
	}
	if m.Drafted {
		f["drafted"] = structpb.NewBoolValue(true)
	}
	return object(f)
}
