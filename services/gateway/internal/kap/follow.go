package kap

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// Agents are the personas behind the gateway, for calls whose caller is in the context.
type Agents interface {
	SendStreamingMessage(q *a2apb.SendMessageRequest, out grpc.ServerStreamingServer[a2apb.StreamResponse]) error
	GetTask(ctx context.Context, q *a2apb.GetTaskRequest) (*a2apb.Task, error)
}

// errEnough ends a stream of which nothing more is of interest.
var errEnough = errors.New("enough is known")

// follower takes the events of one request as far as they matter to its answer.
type follower struct {
	grpc.ServerStream
	ctx context.Context
	end context.CancelCauseFunc

	mu      sync.Mutex
	message *a2apb.Message
	task    *a2apb.Task // nil until the request is stored
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
	case *a2apb.StreamResponse_StatusUpdate:
		if f.task == nil {
			return nil
		}
		f.task.Status = p.StatusUpdate.GetStatus()
		f.task.Metadata = p.StatusUpdate.GetMetadata()
	}
	if f.late || (f.task != nil && (ended(f.task) || waits(f.task))) {
		return errEnough
	}
	return nil
}

// giveUp ends the wait: now, or as soon as the request is stored.
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
		return fieldOf(t.GetMetadata(), ext.Wait) != nil
	}
	return false
}

func fieldOf(s *structpb.Struct, name string) *structpb.Value { return s.GetFields()[name] }

// follow sends a message and waits for what comes of it, at most so long once it is
// stored: a message, or a task as it is then.
func (s *Server) follow(ctx context.Context, q *a2apb.SendMessageRequest, wait time.Duration) (*a2apb.Message, *a2apb.Task, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	f := &follower{ctx: ctx, end: end}
	go func() {
		select {
		case <-s.Clock.After(wait):
			f.giveUp()
		case <-ctx.Done():
			return
		}
		select {
		case <-s.Clock.After(acceptWithin):
			end(errSlow)
		case <-ctx.Done():
		}
	}()
	err := s.Agents.SendStreamingMessage(q, f)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.message != nil:
		return f.message, nil, nil
	case f.task == nil && errors.Is(context.Cause(ctx), errSlow):
		return nil, nil, errSlow
	case f.task == nil && err != nil:
		return nil, nil, err
	case f.task == nil:
		return nil, nil, errors.New("the agent ended its stream without an answer")
	case !ended(f.task):
		return nil, f.task, nil // also when the stream broke: the task goes on
	}
	whole, err := s.Agents.GetTask(context.WithoutCancel(ctx), &a2apb.GetTaskRequest{Tenant: q.GetTenant(), Id: f.task.GetId()})
	return nil, whole, err
}

var errSlow = &fault.Error{Reason: fault.Unavailable, Message: "the agent has not taken the request in time; send it again", RetryAfter: time.Second}
