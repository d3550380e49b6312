package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/planner/playbook"
)

// ListPlaybooks lists the playbooks in force.
func (o *Operations) ListPlaybooks(ctx context.Context, _ *plannerv1.ListPlaybooksRequest) (*plannerv1.ListPlaybooksResponse, error) {
	runs, err := o.Rows.runs(ctx)
	if err != nil {
		return nil, err
	}
	res := &plannerv1.ListPlaybooksResponse{}
	for _, name := range o.Books.Names() {
		if book, ok := o.Books.Latest(name); ok {
			res.Playbooks = append(res.Playbooks, summary(book, runs[name]))
		}
	}
	return res, nil
}

// GetPlaybook gives a playbook with its graph and source.
func (o *Operations) GetPlaybook(ctx context.Context, req *plannerv1.GetPlaybookRequest) (*plannerv1.GetPlaybookResponse, error) {
	ref, path := req.GetName(), "name"
	if req.GetVersion() != "" {
		ref, path = ref+"@"+req.GetVersion(), "version"
	}
	book, err := o.Books.find(ctx, ref, path)
	if err != nil {
		return nil, err
	}
	runs, err := o.Rows.runs(ctx)
	if err != nil {
		return nil, err
	}
	versions, err := o.Books.versions(ctx, book.Name)
	if err != nil {
		return nil, err
	}
	problems := o.problems(book)
	changed, err := o.Books.changed(ctx, book)
	if err != nil {
		return nil, err
	}
	if changed {
		problems = append(problems, fmt.Sprintf("%s: plans have begun with another text of version %s; raise the version when the playbook changes", book.File, book.Version))
	}
	res := &plannerv1.GetPlaybookResponse{Summary: summary(book, runs[book.Name]), Source: string(book.Source), Problems: problems}
	for _, v := range versions {
		res.Versions = append(res.Versions, string(v))
	}
	for _, s := range book.Steps {
		res.Steps = append(res.Steps, stepOf(book, s))
	}
	return res, nil
}

// problems are what stands in the way of a playbook here. What is wrong with the
// file itself the planner has refused when it started.
func (o *Operations) problems(book *playbook.Playbook) []string {
	var list []string
	for _, s := range book.Steps {
		if !s.Local() && !o.Connected(s.Agent) {
			list = append(list, fmt.Sprintf("%s:%d: step %q: agent %s is not connected to this planner", book.File, s.Line, s.ID, s.Agent))
		}
	}
	return list
}

func summary(book *playbook.Playbook, runs *Runs) *plannerv1.PlaybookSummary {
	s := &plannerv1.PlaybookSummary{
		Name: book.Name, Version: string(book.Version), Description: book.Description, Product: book.Product, Risk: string(book.Risk),
		Steps: int32(len(book.Steps)), Runs: map[string]int64{},
	}
	for _, step := range book.Steps {
		if step.Agent != playbook.ReviewAgent {
			s.Budgets = append(s.Budgets, &plannerv1.StepBudget{Step: step.ID, Agent: step.Agent, Skill: step.Skill, Seconds: step.Budget.Seconds()})
		}
	}
	if runs == nil {
		return s
	}
	for state, n := range runs.States {
		if n > 0 {
			s.Runs[a2apb.TaskState(state).String()] = n
		}
	}
	if id, err := uuid.Parse(runs.Newest); err == nil { // ids begin with their time
		sec, nsec := id.Time().UnixTime()
		s.LastRunAt = timestamppb.New(time.Unix(sec, nsec))
	}
	return s
}
