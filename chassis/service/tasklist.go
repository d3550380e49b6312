package service

import (
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// PlanFilter is what a list of tasks asks about the plans behind them. Zero fields
// ask nothing.
type PlanFilter struct {
	// Playbook by its name.
	Playbook string
	// Agent that a step calls.
	Agent string
	// Retrying asks for a step that waits for its next try.
	Retrying bool
	// FailedStep is a step that has failed; * stands for any.
	FailedStep string
}

// Bounds of a page of tasks.
const (
	defaultTasks = 50
	maxTasks     = 100
	maxQuery     = 200
	maxWords     = 10
)

// ListTasks lists tasks of every caller, the newest first.
func (a *admin) ListTasks(ctx context.Context, req *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	if id := req.GetTaskId(); id != "" {
		rec, err := a.record(ctx, id)
		if err != nil {
			return nil, err
		}
		return &adminv1.ListTasksResponse{Tasks: []*adminv1.TaskSummary{summary(rec)}}, nil
	}
	q, err := a.search(ctx, req)
	if err != nil {
		return nil, err
	}
	page, err := a.store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	counts, err := a.store.CountsWith(ctx, q, page)
	if err != nil {
		return nil, err
	}
	res := &adminv1.ListTasksResponse{Counts: byName(counts.ByState), CountsMore: counts.More, NextPageToken: page.Next}
	for _, r := range page.Tasks {
		res.Tasks = append(res.Tasks, summary(r))
	}
	return res, nil
}

func byName(counts map[a2apb.TaskState]int64) map[string]int64 {
	named := make(map[string]int64, len(counts))
	for st, n := range counts {
		named[st.String()] = n
	}
	return named
}

// search reads what a list asks for.
func (a *admin) search(ctx context.Context, req *adminv1.ListTasksRequest) (taskstore.Search, error) {
	q := taskstore.Search{Owner: req.GetPrincipal(), ContextID: req.GetContextId(), OlderThan: req.GetPageToken(), Limit: int(req.GetPageSize())}
	for field, value := range map[string]string{
		"principal": req.GetPrincipal(), "context_id": req.GetContextId(), "page_token": req.GetPageToken(),
		"playbook": req.GetPlaybook(), "agent": req.GetAgent(), "failed_step": req.GetFailedStep(),
	} {
		if strings.ContainsRune(value, 0) { // nothing that a database takes
			return q, fault.Invalid(field, "must not hold a NUL character")
		}
	}
	if q.Limit == 0 {
		q.Limit = defaultTasks
	}
	if q.Limit < 1 || q.Limit > maxTasks {
		return q, fault.Invalid("page_size", "must be from 1 to %d", maxTasks)
	}
	for _, name := range req.GetStates() {
		st, ok := a2apb.TaskState_value[name]
		if !ok {
			return q, fault.Invalid("states", "%q is not a task state", name)
		}
		q.States = append(q.States, a2apb.TaskState(st))
	}
	if t := req.GetCreatedAfter(); t != nil {
		if t.CheckValid() != nil {
			return q, fault.Invalid("created_after", "is not a time stamp")
		}
		q.After = t.AsTime()
	}
	if t := req.GetCreatedBefore(); t != nil {
		if t.CheckValid() != nil {
			return q, fault.Invalid("created_before", "is not a time stamp")
		}
		q.Before = t.AsTime()
	}
	if len(req.GetQuery()) > maxQuery {
		return q, fault.Invalid("query", "is longer than %d bytes; fewer words find as much", maxQuery)
	}
	if q.Words = strings.Fields(strings.ToLower(req.GetQuery())); len(q.Words) > maxWords {
		return q, fault.Invalid("query", "has more than %d words; fewer find as much", maxWords)
	}
	if q.OlderThan != "" {
		_, err := a.store.Get(ctx, q.OlderThan)
		if errors.Is(err, taskstore.ErrNotFound) {
			return q, fault.Invalid("page_token", "is not a token of this list; begin without one")
		}
		if err != nil {
			return q, err
		}
	}
	plans := PlanFilter{Playbook: req.GetPlaybook(), Agent: req.GetAgent(), Retrying: req.GetRetrying(), FailedStep: req.GetFailedStep()}
	switch {
	case plans == PlanFilter{}:
	case a.plans == nil:
		q.Facts.None = true
	default:
		q.Facts = a.plans(plans)
	}
	return q, nil
}
