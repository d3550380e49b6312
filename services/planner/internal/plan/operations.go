package plan

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/planner/playbook"
)

// Operations are what operators see of plans and playbooks, and what they do with
// them. Who may call is the policy's affair; who has acted is in the audit rows.
type Operations struct {
	plannerv1.UnimplementedPlannerServiceServer
	Rows  *Rows
	Books *Books
	// Engine has the tasks. It is set before calls are served.
	Engine *engine.Engine
	// Connected tells whether an agent can be called at all.
	Connected func(agent string) bool
}

// Policy says who may call the operations.
func Policy() identity.Policy {
	edges := []string{identity.Gateway, identity.Console}
	seen := identity.Rule{Actors: edges, Scopes: []string{identity.Viewer, identity.Operator, identity.Auditor, identity.Admin}}
	done := identity.Rule{Actors: edges, Scopes: []string{identity.Operator, identity.Admin}}
	return identity.Policy{
		plannerv1.PlannerService_GetPlan_FullMethodName:       seen,
		plannerv1.PlannerService_ListPlaybooks_FullMethodName: seen,
		plannerv1.PlannerService_GetPlaybook_FullMethodName:   seen,
		plannerv1.PlannerService_RetryStep_FullMethodName:     done,
		plannerv1.PlannerService_ForkPlan_FullMethodName:      done,
	}
}

// task reads a task of any caller.
func (o *Operations) task(ctx context.Context, id string) (*taskstore.Record, error) {
	if id == "" {
		return nil, fault.Invalid("task_id", "is missing; name the task")
	}
	rec, err := o.Engine.Store.Get(ctx, id)
	if errors.Is(err, taskstore.ErrNotFound) {
		return nil, fault.NoTask(id)
	}
	return rec, err
}

// plan reads the plan of a task.
func (o *Operations) plan(ctx context.Context, rec *taskstore.Record) (*plan, error) {
	p, err := o.Rows.load(ctx, o.Books, rec.Task.GetId())
	if errors.Is(err, errNoPlan) {
		return nil, fault.New(fault.UnsupportedOperation, "task %s has no plan: its playbook has not begun", rec.Task.GetId())
	}
	if p != nil {
		p.context = rec.Task.GetContextId()
	}
	return p, err
}

// GetPlan gives a plan with its steps.
func (o *Operations) GetPlan(ctx context.Context, req *plannerv1.GetPlanRequest) (*plannerv1.GetPlanResponse, error) {
	rec, err := o.task(ctx, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	p, err := o.plan(ctx, rec)
	known := !errors.Is(err, errNoPlaybook)
	if err != nil && known {
		return nil, err
	}
	view, err := p.view()
	if err != nil {
		return nil, err
	}
	if rec.Ended() {
		view.Phase, view.MayFork = "ended", known && rec.Info.ParentTask == ""
		for _, step := range view.GetSteps() {
			if step.GetState() == string(playbook.Pending) {
				step.State, step.Reason = string(playbook.Skipped), "the plan ended without it"
			}
		}
	}
	return &plannerv1.GetPlanResponse{Plan: view}, nil
}

// hop is the audit row of what an operator does to a task.
func (o *Operations) hop(ctx context.Context, rec *taskstore.Record, taskID, outcome, reason string) taskstore.Rows {
	call, _ := identity.CallOf(ctx)
	now := o.Engine.Clock.Now()
	h := taskstore.Hop{
		TaskID: taskID, RootTaskID: rec.RootTask, ParentTaskID: rec.Info.ParentTask, TraceID: rec.Info.TraceID, Caller: call.Actor,
		Principal: call.Principal.Key(), Agent: rec.Agent, Skill: rec.Skill, Protocol: engine.Protocol,
		StartedAt: now, EndedAt: now, Outcome: outcome, Reason: reason,
	}
	if taskID != rec.Task.GetId() {
		h.RootTaskID, h.ParentTaskID = taskID, ""
	}
	return o.Engine.Store.Note(h)
}

// RetryStep makes a step that waits for its next try run now.
func (o *Operations) RetryStep(ctx context.Context, req *plannerv1.RetryStepRequest) (*plannerv1.RetryStepResponse, error) {
	rec, err := o.task(ctx, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	if req.GetStep() == "" {
		return nil, fault.Invalid("step", "is missing; name the step")
	}
	retry := o.Rows.retryNow(rec.Task.GetId(), req.GetStep(), o.Engine.Clock.Now())
	note := o.hop(ctx, rec, rec.Task.GetId(), taskstore.StepRetried, "step "+req.GetStep())
	err = o.Engine.Resume(ctx, rec.Task.GetId(), func(ctx context.Context, tx *sql.Tx) error {
		if err := retry(ctx, tx); err != nil {
			return err
		}
		return note(ctx, tx)
	})
	switch {
	case errors.Is(err, errNotRetrying):
		return nil, o.notRetrying(ctx, rec, req.GetStep())
	case errors.Is(err, taskstore.ErrEnded):
		return nil, fault.New(fault.UnsupportedOperation, "task %s has ended; begin again at step %q with a fork", rec.Task.GetId(), req.GetStep())
	case errors.Is(err, taskstore.ErrCanceling):
		return nil, fault.New(fault.UnsupportedOperation, "task %s is being canceled", rec.Task.GetId())
	case err != nil:
		return nil, err
	}
	return &plannerv1.RetryStepResponse{}, nil
}

// notRetrying says how a step stands that does not wait for its next try.
func (o *Operations) notRetrying(ctx context.Context, rec *taskstore.Record, step string) error {
	p, err := o.plan(ctx, rec)
	if err != nil && !errors.Is(err, errNoPlaybook) {
		return err
	}
	s := p.book.Step(step)
	if s == nil {
		return fault.Invalid("step", "%q is no step of the plan; its steps: %s", step, strings.Join(p.book.IDs(), ", "))
	}
	state := playbook.Pending
	if r := p.current(s); r != nil {
		state = r.State
	}
	if state == playbook.Running {
		return fault.New(fault.UnsupportedOperation, "step %q is at work; only one that waits for its next try can be hurried", step)
	}
	return fault.New(fault.UnsupportedOperation, "step %q does not wait for its next try: it is %s", step, state)
}

// ForkPlan makes a new request out of an ended one. It is the same principal's, so
// that the client finds it beside the former; the audit rows of both say who did it.
func (o *Operations) ForkPlan(ctx context.Context, req *plannerv1.ForkPlanRequest) (*plannerv1.ForkPlanResponse, error) {
	rec, err := o.task(ctx, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	id := rec.Task.GetId()
	if !rec.Ended() {
		return nil, fault.New(fault.UnsupportedOperation, "task %s has not ended; wait for its end, or cancel it, and then begin again", id)
	}
	p, err := o.plan(ctx, rec)
	switch {
	case errors.Is(err, errNoPlaybook):
		return nil, fault.New(fault.UnsupportedOperation, "task %s began with %s@%s, which this release of the planner cannot read", id, p.book.Name, p.book.Version)
	case err != nil:
		return nil, err
	case rec.Info.ParentTask != "":
		return nil, fault.New(fault.UnsupportedOperation, "task %s is part of task %s; begin that one again", id, rec.RootTask)
	case p.book.Step(req.GetStep()) == nil:
		return nil, fault.Invalid("step", "%q is no step of the plan; its steps: %s", req.GetStep(), strings.Join(p.book.IDs(), ", "))
	}
	if err := o.Books.keep(ctx, p.book, o.Engine.Clock.Now()); err != nil {
		return nil, err
	}
	fork := p.fork(req.GetStep())
	md := fork.metadata()
	md[ext.Forked] = object(map[string]*structpb.Value{"from": structpb.NewStringValue(id), "step": structpb.NewStringValue(req.GetStep())})
	var failed error
	made, err := o.Engine.Repeat(ctx, rec, md, func(newID string) []taskstore.Rows {
		fork.task = newID
		create, err := o.Rows.create(fork)
		if failed = err; err != nil {
			create = func(context.Context, *sql.Tx) error { return err }
		}
		return []taskstore.Rows{
			create,
			o.hop(ctx, rec, id, taskstore.Forked, "at step "+req.GetStep()+" as task "+newID),
			o.hop(ctx, rec, newID, taskstore.Forked, "at step "+req.GetStep()+" from task "+id),
		}
	})
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	return &plannerv1.ForkPlanResponse{TaskId: made}, nil
}
