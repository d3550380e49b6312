package service

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Bounds of a cancel.
const (
	maxCancels = 200
	maxReason  = 500 // characters
	// atOnce is how many tasks are canceled at a time.
	atOnce = 16
)

// CancelTasks cancels tasks of any caller.
func (a *admin) CancelTasks(ctx context.Context, req *adminv1.CancelTasksRequest) (*adminv1.CancelTasksResponse, error) {
	call, ok := identity.CallOf(ctx)
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	reason := strings.TrimSpace(req.GetReason())
	switch n := len(req.GetTaskIds()); {
	case n == 0 || n > maxCancels:
		return nil, fault.Invalid("task_ids", "must name from 1 to %d tasks", maxCancels)
	case reason == "":
		return nil, fault.Invalid("reason", "is missing; say in a sentence why")
	case utf8.RuneCountInString(reason) > maxReason:
		return nil, fault.Invalid("reason", "is longer than %d characters", maxReason)
	}
	res := &adminv1.CancelTasksResponse{Outcomes: make([]*adminv1.CancelOutcome, len(req.GetTaskIds()))}
	free := make(chan struct{}, atOnce)
	for i, id := range req.GetTaskIds() {
		free <- struct{}{}
		go func() {
			defer func() { <-free }()
			res.Outcomes[i] = a.cancel(ctx, call, id, reason)
		}()
	}
	for range atOnce {
		free <- struct{}{}
	}
	return res, nil
}

// cancel gives the outcome for one task. What is not for a caller's eyes is logged.
func (a *admin) cancel(ctx context.Context, call identity.Call, id, reason string) *adminv1.CancelOutcome {
	rec, err := a.engine.CancelFor(ctx, call, id, reason)
	if errors.Is(err, taskstore.ErrNotFound) {
		err = fault.NoTask(id)
	}
	if err == nil {
		return &adminv1.CancelOutcome{TaskId: id, State: rec.Task.GetStatus().GetState().String()}
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return &adminv1.CancelOutcome{TaskId: id, Error: known.Message}
	}
	a.log.ErrorContext(ctx, "a task was not canceled", "task_id", id, "error", err)
	return &adminv1.CancelOutcome{TaskId: id, Error: "it could not be stored; try again"}
}
