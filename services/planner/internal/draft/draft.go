// Package draft has a model plan an open request: which agents find or work out what the
// answer needs. What the model writes becomes a playbook, by the same checks as a file. Who
// writes the answer, checks it and asks people is not the model's choice: that is as in the
// built-in plan.
package draft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/internal/model"
	"sabha.dev/services/planner/playbook"
)

// Name of the playbooks that models draft. No file has it.
const Name = "drafted"

// Bounds of a draft.
const (
	MaxSteps = 8
	// repairs is how often a model may put its plan right.
	repairs = 2
	// questions is how often in a row the requester is asked for what is missing.
	questions = 2
	// longestRequest bounds what a prompt shows of the request, in bytes.
	longestRequest = 8000
	planTokens     = 2000
)

// ErrBadPlan says that what the model wrote cannot be carried out. It is wrapped with the
// reasons, which name steps and inputs.
var ErrBadPlan = errors.New("the model's plan cannot be carried out")

// Drafter drafts plans. It is safe for concurrent use.
type Drafter struct {
	model   model.Model
	frame   frame
	catalog playbook.Catalog
	skills  []Skill
	system  string
}

// New makes a drafter whose plans may use some skills, and are else as the general
// playbook is.
func New(m model.Model, general *playbook.Playbook, catalog playbook.Catalog, skills []Skill) (*Drafter, error) {
	f, err := frameOf(general)
	if err != nil {
		return nil, err
	}
	skills = slices.Clone(skills)
	slices.SortFunc(skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	d := &Drafter{model: m, frame: f, catalog: catalog, skills: skills, system: system(skills)}
	if _, wrong := d.book(plan{Steps: []step{{ID: "probe", Skill: "research/investigate", Inputs: map[string]any{"query": "= input.query"}}}}); len(wrong) > 0 {
		return nil, fmt.Errorf("no plan can be drafted around the playbook %s, whose other steps may read only %q of those that find: %s", general.Name, writing, strings.Join(wrong, "; "))
	}
	return d, nil
}

// Request is what a client wants.
type Request struct {
	Texts []string       // what the client has said, in order
	Data  map[string]any // that it sent along
	// Labels of all of it, and the task that asks, for what leaves to a model.
	Labels label.Labels
	Task   string
}

// Draft is a plan, or a question that the requester has to answer first.
type Draft struct {
	Book     *playbook.Playbook // nil with a question
	Question string
	Model    string // that wrote it, as the endpoint reports it
	Repairs  int    // how often it was sent back
}

// Draft has the model plan a request. Errors are those of the model, and ErrBadPlan.
func (d *Drafter) Draft(ctx context.Context, req Request) (Draft, error) {
	ask := d.prompt(req)
	var wrong []string
	for n := 0; ; n++ {
		prompt := ask
		if n > 0 {
			prompt += again(wrong)
		}
		resp, err := d.model.Complete(ctx, model.Request{System: d.system, Prompt: prompt, MaxTokens: planTokens, Schema: schema(d.skills), Labels: req.Labels, Task: req.Task})
		if err != nil {
			return Draft{}, err
		}
		out := Draft{Model: resp.Model, Repairs: n}
		var p plan
		if p, wrong = d.read(resp.Text); len(wrong) == 0 && p.Question != "" {
			if len(req.Texts) <= questions {
				out.Question = p.Question
				return out, nil
			}
			wrong = []string{"question: enough has been asked; plan with what there is"}
		} else if len(wrong) == 0 {
			if out.Book, wrong = d.book(p); len(wrong) == 0 {
				return out, nil
			}
		}
		if n == repairs {
			return Draft{}, fmt.Errorf("%w: %s", ErrBadPlan, strings.Join(wrong, "; "))
		}
	}
}

// book makes a playbook of a plan and checks it as any other.
func (d *Drafter) book(p plan) (*playbook.Playbook, []string) {
	text, err := d.frame.with(p.Steps)
	if err != nil {
		return nil, []string{err.Error()}
	}
	book, err := playbook.Parse(Name, text, d.catalog)
	var problems playbook.Problems
	if errors.As(err, &problems) {
		wrong := make([]string, len(problems))
		for i, one := range problems {
			wrong[i] = one.Path + ": " + one.Message
		}
		return nil, wrong
	}
	if err != nil {
		return nil, []string{err.Error()}
	}
	return book, nil
}
