package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// GetTask gives a task of any caller whole.
func (a *admin) GetTask(ctx context.Context, req *adminv1.GetTaskRequest) (*adminv1.GetTaskResponse, error) {
	rec, err := a.record(ctx, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	raw, err := proto.Marshal(rec.Task)
	if err != nil {
		return nil, err
	}
	return &adminv1.GetTaskResponse{Summary: summary(rec), Task: raw}, nil
}

// Bounds of a page of events.
const (
	defaultEvents = 200
	maxEvents     = 1000
)

// ListEvents gives the events of a task that the event log still holds.
func (a *admin) ListEvents(ctx context.Context, req *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultEvents
	}
	if size < 1 || size > maxEvents {
		return nil, fault.Invalid("page_size", "must be from 1 to %d", maxEvents)
	}
	if req.GetAfter() < 0 {
		return nil, fault.Invalid("after", "must be a version, or 0 to begin")
	}
	rec, err := a.record(ctx, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	held, err := a.engine.History(ctx, rec)
	if err != nil {
		return nil, errLog(err)
	}
	res := &adminv1.ListEventsResponse{Newest: rec.Version}
	for _, ev := range held {
		if ev.Version <= req.GetAfter() {
			continue
		}
		if len(res.GetEvents()) == size {
			res.More = true
			break
		}
		raw, err := proto.Marshal(ev.Event)
		if err != nil {
			return nil, err
		}
		res.Events = append(res.Events, &adminv1.TaskEvent{Version: ev.Version, At: engine.Happened(ev), StreamResponse: raw})
	}
	return res, nil
}

// errLog says that the event log is away, if it is.
func errLog(err error) error {
	if errors.Is(err, eventlog.ErrAway) {
		return fault.New(fault.Unavailable, "the event log cannot be reached; what is stored can be read meanwhile, try again later").Because(err)
	}
	return err
}

// Watch tells what changes until the caller leaves or the replica stops.
func (a *admin) Watch(req *adminv1.WatchRequest, stream grpc.ServerStreamingServer[adminv1.WatchResponse]) error {
	begin := a.watches[req.GetKind()]
	switch {
	case req.GetKind() == "":
		begin = a.engine.Watch
	case begin == nil:
		return fault.Invalid("kind", "is nothing that %s tells changes of; leave it out to watch tasks", a.agent)
	}
	w, err := begin()
	if err != nil {
		return errLog(err)
	}
	defer w.Close()
	if err := stream.Send(&adminv1.WatchResponse{Kind: req.GetKind()}); err != nil {
		return err
	}
	return w.Tell(stream.Context(), a.engine.Draining(), func(ids []string, more bool) error {
		return stream.Send(&adminv1.WatchResponse{Ids: ids, More: more})
	})
}

// maxStates bounds how many tasks are asked for at once.
const maxStates = 500

// GetStates gives the states of tasks that the calling service has started.
func (a *admin) GetStates(ctx context.Context, req *adminv1.GetStatesRequest) (*adminv1.GetStatesResponse, error) {
	if n := len(req.GetTaskIds()); n > maxStates {
		return nil, fault.Invalid("task_ids", "there are %d; at most %d are looked up at once", n, maxStates)
	}
	for n, id := range req.GetTaskIds() {
		if strings.ContainsRune(id, 0) {
			return nil, fault.Invalid(fmt.Sprintf("task_ids[%d]", n), "must not contain the character U+0000")
		}
	}
	call, _ := identity.CallOf(ctx)
	states, err := a.store.States(ctx, taskstore.Key(identity.Call{Actor: call.Actor}), req.GetTaskIds())
	if err != nil {
		return nil, err
	}
	res := &adminv1.GetStatesResponse{States: make(map[string]string, len(states))}
	for id, state := range states {
		res.States[id] = state.String()
	}
	return res, nil
}
