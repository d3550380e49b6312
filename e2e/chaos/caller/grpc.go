package caller

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/ext"
)

type overGRPC struct {
	client a2apb.A2AServiceClient
	key    string
}

// GRPC connects to the gRPC port of a gateway.
func GRPC(address, key string) (Caller, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return overGRPC{a2apb.NewA2AServiceClient(conn), key}, nil
}

func (c overGRPC) ctx(ctx context.Context, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append([]string{ext.MetadataVersion, "1.0", "x-api-key", c.key}, more...)...)
}

func (c overGRPC) Send(ctx context.Context, m *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	res, err := c.client.SendMessage(c.ctx(ctx), m)
	if err != nil {
		return nil, refusal(err)
	}
	return taskOf(res)
}

func (c overGRPC) Get(ctx context.Context, task string) (*a2apb.Task, error) {
	t, err := c.client.GetTask(c.ctx(ctx), &a2apb.GetTaskRequest{Id: task})
	return t, refusal(err)
}

func (c overGRPC) Cancel(ctx context.Context, task string) (*a2apb.Task, error) {
	t, err := c.client.CancelTask(c.ctx(ctx), &a2apb.CancelTaskRequest{Id: task})
	return t, refusal(err)
}

func (c overGRPC) Stream(ctx context.Context, m *a2apb.SendMessageRequest) (Events, error) {
	s, err := c.client.SendStreamingMessage(c.ctx(ctx), m)
	return received{s}, refusal(err)
}

func (c overGRPC) Subscribe(ctx context.Context, task, cursor string) (Events, error) {
	var more []string
	if cursor != "" {
		more = []string{ext.MetadataCursor, cursor}
	}
	s, err := c.client.SubscribeToTask(c.ctx(ctx, more...), &a2apb.SubscribeToTaskRequest{Id: task})
	return received{s}, refusal(err)
}

type received struct {
	stream grpc.ServerStreamingClient[a2apb.StreamResponse]
}

func (r received) Next() (*a2apb.StreamResponse, error) {
	ev, err := r.stream.Recv()
	return ev, refusal(err)
}

// refusal makes of an error what the platform said, if it was the platform.
func refusal(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return &Refused{Reason: info.GetReason(), Text: s.Message()}
		}
	}
	if s.Code() == codes.Internal {
		return &Refused{Reason: internal, Text: s.Message()}
	}
	return err
}
