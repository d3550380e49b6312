package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// How often a lost stream is taken up again: attempts that all fail in a row,
// with a wait that doubles up to a bound; all in all about a minute.
const (
	attempts = 10
	firstGap = 500 * time.Millisecond
	mostGap  = 10 * time.Second
)

type stream = grpc.ServerStreamingClient[a2apb.StreamResponse]

// Ask sends a message and yields what comes of it: one Message, or the events
// of a task until it ends or waits for input. When the stream is lost, the task
// goes on and so does the sequence, from where it was.
func (c *Client) Ask(ctx context.Context, m *a2apb.Message) iter.Seq2[*a2apb.StreamResponse, error] {
	req := &a2apb.SendMessageRequest{Tenant: c.tenant, Message: m}
	return c.follow(ctx, position{task: m.GetTaskId()}, func(ctx context.Context) (stream, error) {
		return c.agent.SendStreamingMessage(c.outgoing(ctx), req)
	})
}

// Watch yields a task as it is and then its events until it ends. The sequence
// of a task that has ended is the task alone.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[*a2apb.StreamResponse, error] {
	p := position{task: id, watching: true}
	return c.follow(ctx, p, func(ctx context.Context) (stream, error) { return c.subscribe(ctx, p) })
}

func (c *Client) subscribe(ctx context.Context, p position) (stream, error) {
	var more []string
	if p.cursor != "" {
		more = []string{ext.MetadataCursor, p.cursor}
	}
	return c.agent.SubscribeToTask(c.outgoing(ctx, more...), &a2apb.SubscribeToTaskRequest{Tenant: c.tenant, Id: p.task})
}

// position is how far a reader has come.
type position struct {
	task, cursor string
	began        bool // something has arrived
	watching     bool // nothing was sent
	state        a2apb.TaskState
	message      bool // a direct answer, after which nothing comes
}

// over tells whether nothing more is to come on a send stream.
func (p position) over() bool {
	return p.message || ended(p.state) || p.state == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
}

// ended tells whether a state is final (specification 4.1.3).
func ended(s a2apb.TaskState) bool {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED,
		a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

func (p *position) pass(e *a2apb.StreamResponse) {
	p.began = true
	var md *structpb.Struct
	switch e := e.GetPayload().(type) {
	case *a2apb.StreamResponse_Message:
		p.message = true
	case *a2apb.StreamResponse_Task:
		p.task, p.state, md = e.Task.GetId(), e.Task.GetStatus().GetState(), e.Task.GetMetadata()
	case *a2apb.StreamResponse_StatusUpdate:
		p.task, p.state, md = e.StatusUpdate.GetTaskId(), e.StatusUpdate.GetStatus().GetState(), e.StatusUpdate.GetMetadata()
	case *a2apb.StreamResponse_ArtifactUpdate:
		p.task, md = e.ArtifactUpdate.GetTaskId(), e.ArtifactUpdate.GetMetadata()
	}
	if cursor := md.GetFields()[ext.Cursor].GetStringValue(); cursor != "" {
		p.cursor = cursor
	}
}

type opener func(context.Context) (stream, error)

func (c *Client) follow(ctx context.Context, p position, open opener) iter.Seq2[*a2apb.StreamResponse, error] {
	return func(yield func(*a2apb.StreamResponse, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		gap := firstGap
		for failed := 0; ; {
			before := p.cursor
			err := drain(ctx, &p, open, func(e *a2apb.StreamResponse) bool { return yield(e, nil) })
			switch {
			case errors.Is(err, errStopped), err == nil && p.over():
				return
			case err == nil:
				err = errShort
			}
			switch {
			case fault.Is(reasoned(err), fault.UnsupportedOperation) && p.task != "":
				// A task that has ended has no stream any more.
				c.last(ctx, p, err, yield)
				return
			case !p.began, err != nil && !lost(err), ctx.Err() != nil:
				yield(nil, c.fault(err))
				return
			}
			if p.cursor != before {
				failed, gap = 0, firstGap
			}
			if failed++; failed > attempts {
				yield(nil, c.fault(err))
				return
			}
			if failed == 1 {
				c.notice("The connection was lost; the task goes on. Trying to take it up again.")
			}
			select {
			case <-c.clock.After(gap):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			gap = min(2*gap, mostGap)
			open = func(ctx context.Context) (stream, error) { return c.subscribe(ctx, p) }
		}
	}
}

// errStopped says that the reader wants no more.
var errStopped = errors.New("stopped")

// errShort says that a stream ended in good order before its task did.
var errShort = status.Error(codes.Unavailable, "the stream ended before the task")

// drain reads one stream to its end. An ordinary end is nil.
func drain(ctx context.Context, p *position, open opener, deliver func(*a2apb.StreamResponse) bool) error {
	s, err := open(ctx)
	if err != nil {
		return err
	}
	for {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.pass(e)
		if !deliver(e) {
			return errStopped
		}
	}
}

// last yields the final state of a task. A message to a finished task is
// refused for the same reason as a subscription; then the refusal is the answer.
func (c *Client) last(ctx context.Context, p position, refusal error, yield func(*a2apb.StreamResponse, error) bool) {
	if !p.began && !p.watching {
		yield(nil, refusal)
		return
	}
	t, err := c.Get(ctx, p.task)
	if err != nil {
		yield(nil, err)
		return
	}
	yield(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}}, nil)
}

// lost tells whether a stream broke although the server may well be fine again.
func lost(err error) bool {
	return status.Code(err) == codes.Unavailable
}

// reasoned is the client-visible error in a status; nil as an error if there is none.
func reasoned(err error) error {
	if e := fault.FromStatus(err); e != nil {
		return e
	}
	return nil
}
