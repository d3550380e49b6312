package legacy

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/trace"
)

// handler is the SDK's RequestHandler over the A2A service of the gateway, which
// the calls reach with all that their clients sent to be known by.
type handler struct {
	client a2apb.A2AServiceClient
	log    *slog.Logger
}

// forwarded is what goes on of a call's metadata, by the name that it has there.
var forwarded = map[string]string{
	"authorization": "authorization", "x-api-key": "x-api-key",
	ext.MetadataExtensions: ext.MetadataExtensions, "x-a2a-extensions": ext.MetadataExtensions,
}

func outgoing(ctx context.Context) context.Context {
	in, _ := metadata.FromIncomingContext(ctx)
	out := metadata.Pairs(ext.MetadataVersion, "1.0", ext.MetadataClientVersion, Version)
	for from, to := range forwarded {
		out.Append(to, in.Get(from)...)
	}
	return trace.Outgoing(metadata.NewOutgoingContext(ctx, out))
}

// call makes one call: the request translated, the answer translated back. Its
// errors are statuses, which the SDK leaves as they are.
func call[Q, PQ, PR, R any](ctx context.Context, h handler, q Q, to func(Q) (PQ, error), do func(context.Context, PQ, ...grpc.CallOption) (PR, error), from func(PR) (R, error)) (R, error) {
	var none R
	if err := checkVersion(ctx); err != nil {
		return none, fault.Status(err).Err()
	}
	request, err := translated(to(q))
	if err != nil {
		return none, fault.Status(err).Err()
	}
	answer, err := do(outgoing(ctx), request)
	if err != nil {
		return none, inOldCode(ctx, err)
	}
	r, err := from(answer)
	return r, h.untold(ctx, err)
}

// untold is the error of an answer that cannot be told in 0.3.
func (h handler) untold(ctx context.Context, err error) error {
	if err != nil {
		h.log.ErrorContext(ctx, "an agent's answer cannot be translated", "version", Version, "trace_id", trace.Of(ctx).TraceID, "error", err)
	}
	return fault.Status(err).Err()
}

// follow makes one call whose answer is a stream.
func follow[Q, PQ any](ctx context.Context, h handler, q Q, to func(Q) (PQ, error), open func(context.Context, PQ, ...grpc.CallOption) (grpc.ServerStreamingClient[a2apb.StreamResponse], error)) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := call(ctx, h, q, to, open, same)
		for err == nil {
			var m *a2apb.StreamResponse
			if m, err = stream.Recv(); errors.Is(err, io.EOF) {
				return
			}
			var e a2a.Event
			if err == nil {
				e, err = fromEvent(m)
				err = h.untold(ctx, err)
			}
			if err == nil && !yield(e, nil) {
				return
			}
		}
		yield(nil, inOldCode(ctx, err))
	}
}

func same[T any](v T) (T, error) { return v, nil }

// GetTask implements a2asrv.RequestHandler, as the others do.
func (h handler) GetTask(ctx context.Context, q *a2a.GetTaskRequest) (*a2a.Task, error) {
	return call(ctx, h, q, pbconv.ToProtoGetTaskRequest, h.client.GetTask, fromTask)
}

func fromTask(t *a2apb.Task) (*a2a.Task, error) {
	wrapData(t)
	return pbconv.FromProtoTask(t)
}

// ListTasks implements a2asrv.RequestHandler.
func (h handler) ListTasks(ctx context.Context, q *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return call(ctx, h, q, pbconv.ToProtoListTasksRequest, h.client.ListTasks, func(l *a2apb.ListTasksResponse) (*a2a.ListTasksResponse, error) {
		for _, t := range l.GetTasks() {
			wrapData(t)
		}
		return pbconv.FromProtoListTasksResponse(l)
	})
}

// CancelTask implements a2asrv.RequestHandler.
func (h handler) CancelTask(ctx context.Context, q *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return call(ctx, h, q, pbconv.ToProtoCancelTaskRequest, h.client.CancelTask, fromTask)
}

// SendMessage implements a2asrv.RequestHandler.
func (h handler) SendMessage(ctx context.Context, q *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return call(ctx, h, q, pbconv.ToProtoSendMessageRequest, h.client.SendMessage, func(m *a2apb.SendMessageResponse) (a2a.SendMessageResult, error) {
		wrapData(m.GetTask(), m.GetMessage())
		return pbconv.FromProtoSendMessageResponse(m)
	})
}

// SubscribeToTask implements a2asrv.RequestHandler.
func (h handler) SubscribeToTask(ctx context.Context, q *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return follow(ctx, h, q, pbconv.ToProtoSubscribeToTaskRequest, h.client.SubscribeToTask)
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (h handler) SendStreamingMessage(ctx context.Context, q *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return follow(ctx, h, q, pbconv.ToProtoSendMessageRequest, h.client.SendStreamingMessage)
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (h handler) GetTaskPushConfig(ctx context.Context, q *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	if q.ID == "" {
		q.ID = string(q.TaskID)
	}
	return call(ctx, h, q, pbconv.ToProtoGetTaskPushConfigRequest, h.client.GetTaskPushNotificationConfig, pbconv.FromProtoTaskPushConfig)
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (h handler) ListTaskPushConfigs(ctx context.Context, q *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return call(ctx, h, q, pbconv.ToProtoListTaskPushConfigRequest, h.client.ListTaskPushNotificationConfigs, pbconv.FromProtoListTaskPushConfigResponse)
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (h handler) CreateTaskPushConfig(ctx context.Context, q *a2a.PushConfig) (*a2a.PushConfig, error) {
	if q.ID == "" {
		q.ID = string(q.TaskID)
	}
	return call(ctx, h, q, pbconv.ToProtoTaskPushConfig, h.client.CreateTaskPushNotificationConfig, pbconv.FromProtoTaskPushConfig)
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (h handler) DeleteTaskPushConfig(ctx context.Context, q *a2a.DeleteTaskPushConfigRequest) error {
	_, err := call(ctx, h, q, pbconv.ToProtoDeleteTaskPushConfigRequest, h.client.DeleteTaskPushNotificationConfig, same)
	return err
}

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (h handler) GetExtendedAgentCard(ctx context.Context, q *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return call(ctx, h, q, pbconv.ToProtoGetExtendedAgentCardRequest, h.client.GetExtendedAgentCard, func(c *a2apb.AgentCard) (*a2a.AgentCard, error) {
		for _, s := range c.GetSkills() {
			if len(s.GetTags()) == 0 { // which the conversion refuses
				s.Tags = []string{s.GetId()}
			}
		}
		return pbconv.FromProtoAgentCard(c)
	})
}
