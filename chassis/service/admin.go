package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// admin serves what operators and auditors may see of a persona.
type admin struct {
	adminv1.UnimplementedAdminServiceServer
	store  *taskstore.Store
	engine *engine.Engine
	agent  string
	card   *a2apb.AgentCard
	plans  func(PlanFilter) taskstore.Facts
	// watches begin to watch what is no task, by kind.
	watches map[string]func() (*eventlog.Watcher, error)
	clock   clock.Clock
	log     *slog.Logger
}

// record reads a task of any caller.
func (a *admin) record(ctx context.Context, id string) (*taskstore.Record, error) {
	if id == "" {
		return nil, fault.Invalid("task_id", "is missing; name the task")
	}
	if strings.ContainsRune(id, 0) {
		return nil, fault.NoTask(id)
	}
	rec, err := a.store.Get(ctx, id)
	if errors.Is(err, taskstore.ErrNotFound) {
		return nil, fault.NoTask(id)
	}
	return rec, err
}

func summary(r *taskstore.Record) *adminv1.TaskSummary {
	s := &adminv1.TaskSummary{
		Id: r.Task.GetId(), ContextId: r.Task.GetContextId(), Agent: r.Agent, Skill: r.Skill, State: r.Task.GetStatus().GetState().String(),
		Note: agent.TextOf(r.Task.GetStatus().GetMessage().GetParts()), Principal: r.Info.Principal.Key(), Caller: r.Info.Caller,
		CreatedAt: timestamppb.New(r.CreatedAt), StatusAt: r.Task.GetStatus().GetTimestamp(), Version: r.Version, Owner: r.RunOwner,
		TraceId: r.Info.TraceID, ParentTaskId: r.Info.ParentTask, RootTaskId: r.RootTask,
		Plan:   r.Task.GetMetadata().GetFields()[ext.Plan].GetStructValue(),
		Models: r.Task.GetMetadata().GetFields()[ext.Models].GetStructValue(),
	}
	if h := r.Task.GetHistory(); len(h) > 0 {
		s.Request = agent.Brief(h[0].GetParts(), shortened)
	}
	return s
}

// shortened is how much of a request a list shows, bytes.
const shortened = 200

// ListHops returns the audit rows of one request in this service.
func (a *admin) ListHops(ctx context.Context, req *adminv1.ListHopsRequest) (*adminv1.ListHopsResponse, error) {
	if req.GetTaskId() == "" && req.GetTraceId() == "" {
		return nil, fault.Invalid("task_id", "is missing; name a task or a trace")
	}
	root := req.GetTaskId()
	if root != "" { // a child names the request that it belongs to
		rec, err := a.store.Get(ctx, root)
		switch {
		case err == nil:
			root = rec.RootTask
		case !errors.Is(err, taskstore.ErrNotFound):
			return nil, err
		}
	}
	hops, err := a.store.Hops(ctx, root, req.GetTraceId())
	if err != nil {
		return nil, err
	}
	res := &adminv1.ListHopsResponse{}
	for _, h := range hops {
		hop := &adminv1.Hop{
			TaskId: h.TaskID, RootTaskId: h.RootTaskID, ParentTaskId: h.ParentTaskID, TraceId: h.TraceID, Caller: h.Caller, Principal: h.Principal,
			Agent: h.Agent, AgentVersion: h.AgentVersion, Skill: h.Skill, ProtocolVersion: h.Protocol, StartedAt: timestamppb.New(h.StartedAt),
			Outcome: h.Outcome, Reason: h.Reason, RequestDigest: h.RequestDigest, ResponseDigest: h.ResponseDigest, Admission: h.Admission,
		}
		if h.EndedAt.After(time.Time{}) {
			hop.EndedAt = timestamppb.New(h.EndedAt)
		}
		res.Hops = append(res.Hops, hop)
	}
	return res, nil
}

// GetCard returns the persona's card for publication.
func (a *admin) GetCard(context.Context, *adminv1.GetCardRequest) (*adminv1.GetCardResponse, error) {
	raw, err := proto.Marshal(a.card)
	if err != nil {
		return nil, err
	}
	return &adminv1.GetCardResponse{Card: raw}, nil
}
