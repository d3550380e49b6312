// Package plan executes playbooks: a plan is rows in the task's own
// transaction, and the interpreter an ordinary run of a task.
package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/internal/model"
	"sabha.dev/services/planner/playbook"
)

// Synthesiser writes an answer out of passages, inside the planner.
type Synthesiser interface {
	// labels are those of the inputs; task is the plan's.
	Synthesise(ctx context.Context, task string, inputs map[string]any, labels label.Labels) (playbook.Output, error)
}

// Planner executes playbooks.
type Planner struct {
	Rows  *Rows
	Books *Books
	// General is the playbook for requests that no other takes.
	General     string
	Peers       Peers
	Synthesiser Synthesiser
	// Drafter plans what only the general playbook would take; nil for none.
	Drafter Drafter
	Clock   clock.Clock
	Logger  *slog.Logger
	// OnLine is how long a child task is waited for before the plan lets go of it and
	// hears of its end by a wake-up.
	OnLine time.Duration
	// Random gives numbers in [0,1) for the jitter of retries.
	Random func() float64
	// Counts, when nil, count for nobody.
	Counts *Counts
}

// Check refuses a request whose playbook is not known, before anything is stored.
func (p *Planner) Check(_ context.Context, req *agent.Request) error {
	name := req.Message.GetMetadata().GetFields()[ext.Playbook].GetStringValue()
	if name == "" {
		return nil
	}
	if _, err := p.Books.Find(name); err != nil {
		return fault.Invalid(`message.metadata["`+ext.Playbook+`"]`, "%s", err)
	}
	return nil
}

// Budget is that of the playbook that will take the request.
func (p *Planner) Budget(req *agent.Request) time.Duration {
	out := outputOf("", "", req.Message.GetParts())
	book, _, err := p.choose(req.Message, out.Text, out.Data)
	if err != nil {
		return 0
	}
	return book.Budget
}

// Run takes a task's plan as far as it goes.
func (p *Planner) Run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	t := run.Task()
	pl, err := (*plan)(nil), errNoPlan
	if _, begun := t.GetMetadata().GetFields()[ext.Plan]; begun { // written together with the rows
		pl, err = p.Rows.load(ctx, p.Books, t.GetId())
	}
	switch {
	case errors.Is(err, errNoPlan) && canceling(run):
		return agent.Canceled(agent.Text("Canceled. The plan had not begun.")), nil
	case errors.Is(err, errNoPlan):
		var ask *agent.Outcome
		pl, ask, err = p.begin(ctx, run)
		if ask != nil {
			return *ask, nil
		}
		if errors.Is(err, errCanceling) {
			return agent.Canceled(agent.Text("Canceled. The plan had not begun.")), nil
		}
	case errors.Is(err, errNoPlaybook):
		why := fmt.Sprintf("The plan began with playbook %s version %s, which this release of the planner cannot read.", pl.book.Name, pl.book.Version)
		if agent.TextOf(t.GetStatus().GetMessage().GetParts()) != why { // once, not at each look
			p.Logger.Warn("a plan cannot go on here", "task_id", t.GetId(), "error", err)
		}
		return agent.Elsewhere(agent.Text(why)), nil
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	pl.context = t.GetContextId()
	if pl.spend == nil {
		pl.modelled = modelledOf(t)
		pl.spend = model.NewSpend(pl.modelled.Usage)
	}
	if pl.inputLabels.IsZero() { // it began before labels were kept
		pl.inputLabels = asked(userMessages(t), run.Request().Caller)
	}
	return newInterpreter(p, run, pl, t.GetStatus()).loop(ctx)
}

// begin chooses the playbook and completes its input from what the client has
// said so far. What is missing is asked for.
func (p *Planner) begin(ctx context.Context, run agent.Run) (*plan, *agent.Outcome, error) {
	t := run.Task()
	first, text, data := said(t)
	book, open, err := p.choose(first, text, data)
	if err != nil {
		return nil, nil, err
	}
	models := modelledOf(t)
	spend := model.NewSpend(models.Usage)
	if open && p.Drafter != nil && strings.TrimSpace(text) != "" {
		var drafted *playbook.Playbook
		var ask *agent.Outcome
		if drafted, models, ask, err = p.draft(ctx, run, spend, data); err != nil || ask != nil {
			return nil, ask, err
		}
		if drafted != nil {
			book = drafted
		}
	}
	input, gaps := complete(book, t)
	if len(gaps) > 0 {
		ask := question(book, gaps)
		ask.WakeAt = p.Clock.Now().Add(askFor)
		return nil, &ask, nil
	}
	if err := p.Books.keep(ctx, book, p.Clock.Now()); err != nil {
		return nil, nil, err
	}
	return &plan{task: t.GetId(), book: book, input: input, inputLabels: asked(userMessages(t), run.Request().Caller), loops: map[string]playbook.LoopRun{}, phase: running, rows: map[rowKey]*row{}, spend: spend, modelled: models}, nil, nil
}

// choose gives the playbook of a request. An open one is taken by none but the general.
func (p *Planner) choose(first *a2apb.Message, text string, data map[string]any) (book *playbook.Playbook, open bool, err error) {
	if name := first.GetMetadata().GetFields()[ext.Playbook].GetStringValue(); name != "" {
		book, err := p.Books.Find(name)
		if err != nil {
			return nil, false, fault.Invalid(`message.metadata["`+ext.Playbook+`"]`, "%s", err)
		}
		return book, false, nil
	}
	skill := first.GetMetadata().GetFields()[ext.Skill].GetStringValue()
	found, problems := p.Books.Match(playbook.Request{Text: text, Skill: skill, Data: data})
	for _, err := range problems {
		p.Logger.Warn("a matcher failed on a request", "error", err)
	}
	if found == nil {
		book, err = p.Books.Find(p.General)
		return book, true, err
	}
	return found, false, nil
}

// said gathers what the client has sent: the first message, its text, and the
// data of all messages merged in order.
func said(t *a2apb.Task) (first *a2apb.Message, text string, data map[string]any) {
	data = map[string]any{}
	for _, m := range t.GetHistory() {
		if m.GetRole() != a2apb.Role_ROLE_USER {
			continue
		}
		if first == nil {
			first, text = m, agent.TextOf(m.GetParts())
		}
		for k, v := range outputOf("", "", m.GetParts()).Data {
			data[k] = v
		}
	}
	return first, text, data
}

// complete makes the input of a plan. A follow-up in plain text answers the one
// thing that was missing or wrong before it.
func complete(book *playbook.Playbook, t *a2apb.Task) (map[string]any, []playbook.Gap) {
	text, data := "", map[string]any{}
	seen := false
	for _, m := range t.GetHistory() {
		if m.GetRole() != a2apb.Role_ROLE_USER {
			continue
		}
		out := outputOf("", "", m.GetParts())
		for k, v := range out.Data {
			data[k] = v
		}
		if !seen {
			text, seen = out.Text, true
			continue
		}
		if out.Text == "" {
			continue
		}
		if gaps := book.Input.Check(book.Input.Prepare(text, data)); len(gaps) == 1 && strings.Count(gaps[0].Path, "/") == 1 {
			name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(gaps[0].Path, "/"))
			data[name] = spoken(book, data, name, out.Text)
		}
	}
	input := book.Input.Prepare(text, data)
	return input, book.Input.Check(input)
}

// spoken is what a text means for a property: the text, unless only the value that
// it writes as JSON fits the schema, as "12" does where a number is asked for.
func spoken(book *playbook.Playbook, data map[string]any, name, text string) any {
	fits := func(v any) bool {
		with := maps.Clone(data)
		with[name] = v
		return !slices.ContainsFunc(book.Input.Check(book.Input.Prepare("", with)), func(g playbook.Gap) bool { return !g.Missing })
	}
	var v any
	if !fits(text) && json.Unmarshal([]byte(text), &v) == nil && fits(v) {
		return v
	}
	return text
}

// question turns gaps into a question to the client.
func question(book *playbook.Playbook, gaps []playbook.Gap) agent.Outcome {
	var b strings.Builder
	fmt.Fprintf(&b, "Playbook %s needs more to begin:", book.Name)
	var fields []map[string]any
	for _, g := range gaps {
		fmt.Fprintf(&b, "\n- %s", g.Message)
		if g.Description != "" {
			fmt.Fprintf(&b, " (%s)", g.Description)
		}
		fields = append(fields, map[string]any{"path": g.Path, "missing": g.Missing, "problem": g.Message, "description": g.Description})
	}
	b.WriteString("\nSend it in a message to this task: as a data part, or as text when it is one thing.")
	parts := []*a2apb.Part{agent.Text(b.String())}
	if data, err := agent.Data(map[string]any{"needs": fields, "schema": book.Input.Schema}); err == nil {
		parts = append(parts, data)
	}
	return agent.InputRequired(parts...)
}
