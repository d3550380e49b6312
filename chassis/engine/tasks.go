package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
)

// GetTask reads a task of the caller (specification 3.1.3).
func (e *Engine) GetTask(ctx context.Context, req *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	rec, err := e.read(ctx, req.GetId(), req.HistoryLength)
	if err != nil {
		return nil, err
	}
	if err := e.pushHealth(ctx, rec); err != nil {
		return nil, err
	}
	t := e.present(rec)
	trim(t, req.HistoryLength)
	return t, nil
}

func (e *Engine) read(ctx context.Context, id string, history *int32) (*taskstore.Record, error) {
	call, err := e.call(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkHistory(history); err != nil {
		return nil, err
	}
	return e.owned(ctx, call, id)
}

// ListTasks lists the caller's tasks, newest status first (specification 3.1.4).
func (e *Engine) ListTasks(ctx context.Context, req *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
	res, err := e.list(ctx, req)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Bounds of a page (specification 3.1.4).
const (
	defaultPage = 50
	maxPage     = 100
)

func (e *Engine) list(ctx context.Context, req *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
	call, err := e.call(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkHistory(req.HistoryLength); err != nil {
		return nil, err
	}
	size := int32(defaultPage)
	if req.PageSize != nil {
		size = req.GetPageSize()
	}
	if size < 1 || size > maxPage {
		return nil, fault.Invalid("pageSize", "must be from 1 to %d", maxPage)
	}
	key := taskstore.Key(call)
	res := &a2apb.ListTasksResponse{Tasks: []*a2apb.Task{}, PageSize: size}
	f := taskstore.Filter{Owner: &key, Agent: e.Agent.Tenant, ContextID: req.GetContextId(), Limit: int(size) + 1}
	if req.GetStatus() != a2apb.TaskState_TASK_STATE_UNSPECIFIED {
		if _, ok := a2apb.TaskState_name[int32(req.GetStatus())]; !ok {
			return nil, fault.Invalid("status", "is not a task state")
		}
		f.States = []a2apb.TaskState{req.GetStatus()}
	}
	if t := req.GetStatusTimestampAfter(); t != nil {
		if err := t.CheckValid(); err != nil {
			return nil, fault.Invalid("statusTimestampAfter", "is not a time stamp")
		}
		f.StatusAfter = t.AsTime()
	}
	if req.GetPageToken() != "" {
		if f.Before, f.BeforeID, err = readToken(req.GetPageToken()); err != nil {
			return nil, err
		}
	}
	if key == "" {
		return res, nil
	}
	list, total, err := e.Store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	res.TotalSize = int32(min(total, 1<<31-1))
	if len(list) > int(size) {
		list = list[:size]
		last := list[size-1].Task
		res.NextPageToken = writeToken(last.GetStatus().GetTimestamp().AsTime(), last.GetId())
	}
	for _, rec := range list {
		t := e.present(rec)
		trim(t, req.HistoryLength)
		if !req.GetIncludeArtifacts() {
			t.Artifacts = nil
		}
		res.Tasks = append(res.Tasks, t)
	}
	return res, nil
}

func writeToken(t time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(t.UnixNano(), 36) + " " + id))
}

func readToken(token string) (time.Time, string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	at, id, ok := strings.Cut(string(raw), " ")
	nanos, nerr := strconv.ParseInt(at, 36, 64)
	if err != nil || nerr != nil || !ok || id == "" {
		return time.Time{}, "", fault.Invalid("pageToken", "is not a token of this list; begin without one")
	}
	return time.Unix(0, nanos).UTC(), id, nil
}

// CancelTask cancels a task of the caller (specification 3.1.5). A task that is
// canceled already is answered as it is; one that compensates goes on WORKING
// until its report is there.
func (e *Engine) CancelTask(ctx context.Context, req *a2apb.CancelTaskRequest) (*a2apb.Task, error) {
	rec, err := e.cancel(ctx, req)
	if err != nil {
		return nil, err
	}
	return e.present(rec), nil
}

func (e *Engine) cancel(ctx context.Context, req *a2apb.CancelTaskRequest) (*taskstore.Record, error) {
	call, err := e.call(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := e.owned(ctx, call, req.GetId()); err != nil {
		return nil, err
	}
	return e.stop(ctx, req.GetId(), stopping{ended: "canceled by the client", ending: "cancelling"})
}

// stopping is how a task is canceled: what its status says, at once or while it
// compensates, an operator's reason, and the rows that are written with it.
type stopping struct {
	ended, ending string
	reason        string
	rows          func(*taskstore.Record) taskstore.Rows
}

// stop cancels a task, whoever may. One that has been canceled, or is being, is
// given as it is.
func (e *Engine) stop(ctx context.Context, id string, how stopping) (*taskstore.Record, error) {
	claimed := false
	rec, err := e.Store.Update(ctx, id, func(rec *taskstore.Record) (taskstore.Change, error) {
		claimed = false
		if rec.Ended() || rec.CancelRequested {
			return taskstore.Change{}, errAsItIs
		}
		ch := taskstore.Change{}
		if how.rows != nil {
			ch.Rows = how.rows(rec)
		}
		if how.reason != "" {
			rec.SetMetadata(map[string]*structpb.Value{ext.Canceled: structpb.NewStringValue(how.reason)})
		}
		skill := e.skill(rec.Skill)
		if skill == nil || !skill.Compensates || rec.Info.Admission == taskstore.Pending {
			ch.Events = []*a2apb.StreamResponse{e.status(a2apb.TaskState_TASK_STATE_CANCELED, agent.Message(agent.Text(how.ended)))}
			return ch, nil
		}
		rec.CancelRequested = true
		if rec.RunOwner == "" {
			rec.RunOwner, rec.RunEpoch, rec.WakeAt = e.Store.Replica(), rec.RunEpoch+1, time.Time{}
			if interrupted(rec.Task.GetStatus().GetState()) {
				rec.Deadline = e.Clock.Now().Add(rec.Info.Left)
			}
			claimed = true
		}
		ch.Events = []*a2apb.StreamResponse{e.status(a2apb.TaskState_TASK_STATE_WORKING, agent.Message(agent.Text(how.ending)))}
		return ch, nil
	})
	if errors.Is(err, errAsItIs) {
		return e.afterEnd(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	copied := *rec
	copied.Task = proto.CloneOf(rec.Task)
	if claimed {
		e.launch(e.Store.Adopt(rec))
		return &copied, nil
	}
	e.look(id)
	e.wake(e.Agent.Tenant, id, changed)
	return &copied, nil
}

var errAsItIs = errors.New("nothing to change")

// afterEnd answers the cancel of a task that has ended or is being canceled.
func (e *Engine) afterEnd(ctx context.Context, id string) (*taskstore.Record, error) {
	rec, err := e.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if state := rec.Task.GetStatus().GetState(); rec.Ended() && state != a2apb.TaskState_TASK_STATE_CANCELED {
		return nil, fault.New(fault.TaskNotCancelable, "task %s has ended as %s", id, state).With("taskId", id)
	}
	return rec, nil
}

// GetExtendedAgentCard gives the card with what only callers who are known see
// (specification 3.1.11).
func (e *Engine) GetExtendedAgentCard(ctx context.Context, _ *a2apb.GetExtendedAgentCardRequest) (*a2apb.AgentCard, error) {
	card, err := e.extendedCard(ctx)
	if err != nil {
		return nil, err
	}
	return card, nil
}

func (e *Engine) extendedCard(ctx context.Context) (*a2apb.AgentCard, error) {
	call, err := e.call(ctx)
	if err != nil {
		return nil, err
	}
	if !e.Card.GetCapabilities().GetExtendedAgentCard() {
		return nil, fault.New(fault.UnsupportedOperation, "the agent has no extended card; its card says so")
	}
	if e.Agent.Extended == nil {
		return nil, fault.New(fault.ExtendedCardNotConfigured, "the extended card is declared but not configured")
	}
	if call.Principal.Anonymous() && call.Edge {
		return nil, fault.New(fault.Unauthenticated, "the extended card is for callers who are known; send an API key or a token")
	}
	card := proto.CloneOf(e.Card)
	return card, e.Agent.Extended(ctx, call.Principal, card)
}
