package mcptools

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/tool"
)

// clientVersion is the protocol that hops tell of a call.
const clientVersion = "mcp"

// outgoing is the context of a call to an agent.
func outgoing(ctx context.Context) context.Context {
	return metadata.NewIncomingContext(ctx, metadata.Pairs(ext.MetadataVersion, engine.Protocol, ext.MetadataClientVersion, clientVersion))
}

var (
	// errEnough ends a stream of which nothing more is of interest.
	errEnough = errors.New("enough is known")
	errSlow   = &fault.Error{Reason: fault.Unavailable, Message: "the agent has not taken the call in time; call again", RetryAfter: time.Second}
)

// follower takes the events of one call as far as they matter to its answer, and tells
// of the others as progress.
type follower struct {
	grpc.ServerStream
	ctx      context.Context
	end      context.CancelCauseFunc
	progress func(tool.Progress)

	mu      sync.Mutex
	message *a2apb.Message
	task    *a2apb.Task // nil until it is stored
	told    float64
	late    bool
}

// Context of the call.
func (f *follower) Context() context.Context { return f.ctx }

// Send takes an event.
func (f *follower) Send(ev *a2apb.StreamResponse) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Message:
		f.message = p.Message
		return errEnough
	case *a2apb.StreamResponse_Task:
		f.task = p.Task
		f.tell("task " + p.Task.GetId() + " is " + stateName(p.Task.GetStatus().GetState()))
	case *a2apb.StreamResponse_StatusUpdate:
		if f.task == nil {
			return nil
		}
		f.task.Status = p.StatusUpdate.GetStatus()
		f.task.Metadata = p.StatusUpdate.GetMetadata()
		said := agent.Brief(f.task.GetStatus().GetMessage().GetParts(), 500)
		f.tell(strings.Join(strings.Fields(said), " "))
	case *a2apb.StreamResponse_ArtifactUpdate:
		f.tell("artifact " + p.ArtifactUpdate.GetArtifact().GetName())
	}
	if f.late || (f.task != nil && (ended(f.task) || waits(f.task))) {
		return errEnough
	}
	return nil
}

// tell reports progress: how many things were told, since nobody knows how many there
// will be.
func (f *follower) tell(what string) {
	if f.progress == nil || what == "" {
		return
	}
	f.told++
	f.progress(tool.Progress{Done: f.told, Message: what})
}

// giveUp ends the wait: now, or as soon as the task is stored.
func (f *follower) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = true
	if f.task != nil {
		f.end(errEnough)
	}
}

func ended(t *a2apb.Task) bool {
	switch t.GetStatus().GetState() {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

// waits tells whether a task waits for somebody, which may take days.
func waits(t *a2apb.Task) bool {
	switch t.GetStatus().GetState() {
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:
		return true
	case a2apb.TaskState_TASK_STATE_WORKING:
		return t.GetMetadata().GetFields()[ext.Wait] != nil
	}
	return false
}

// follow sends a message and waits for what comes of it: a message, or a task as it is
// when it has ended, waits for somebody, or was waited for long enough. When the caller
// gives the call up, its task is canceled.
func (s *Server) follow(ctx context.Context, q *a2apb.SendMessageRequest, progress func(tool.Progress)) (*a2apb.Message, *a2apb.Task, error) {
	detached := outgoing(context.WithoutCancel(ctx))
	running, end := context.WithCancelCause(detached)
	defer end(nil)
	f := &follower{ctx: running, end: end, progress: progress}
	go func() {
		select {
		case <-ctx.Done():
		case <-s.Clock.After(callWithin):
		case <-running.Done():
			return
		}
		f.giveUp()
		select {
		case <-s.Clock.After(acceptWithin):
			end(errSlow)
		case <-running.Done():
		}
	}()
	err := s.Agents.SendStreamingMessage(q, f)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.message != nil:
		return f.message, nil, nil
	case f.task == nil && errors.Is(context.Cause(running), errSlow):
		return nil, nil, errSlow
	case f.task == nil && err != nil:
		return nil, nil, err
	case f.task == nil:
		return nil, nil, errors.New("the agent ended its stream without an answer")
	case ctx.Err() != nil && !ended(f.task):
		return nil, s.cancel(detached, q.GetTenant(), f.task), nil
	}
	whole, err := s.Agents.GetTask(detached, &a2apb.GetTaskRequest{Tenant: q.GetTenant(), Id: f.task.GetId()})
	if err != nil {
		return nil, f.task, nil // it goes on all the same, and its id is known
	}
	return nil, whole, nil
}

// cancelWithin bounds how long a cancel may take to be stored.
const cancelWithin = 10 * time.Second

// cancel cancels a task whose caller has gone, and gives it as it is then.
func (s *Server) cancel(ctx context.Context, tenant string, t *a2apb.Task) *a2apb.Task {
	ctx, end := context.WithTimeout(ctx, cancelWithin)
	defer end()
	canceled, err := s.Agents.CancelTask(ctx, &a2apb.CancelTaskRequest{Tenant: tenant, Id: t.GetId()})
	if err != nil {
		s.Log.WarnContext(ctx, "the task of a canceled call of a tool cannot be canceled", "task", t.GetId(), "error", err)
		return t
	}
	return canceled
}
