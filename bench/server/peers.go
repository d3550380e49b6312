package server

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net"

	"github.com/a2aproject/a2a-go/v2/a2a"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
)

// executor does on the Go SDK's server what Agent's task does on ours.
type executor struct{}

// Execute emits the task, a working update, one artifact and the end.
func (executor) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, ev := range []a2a.Event{
			a2a.NewSubmittedTask(ec, ec.Message),
			a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil),
			a2a.NewArtifactEvent(ec, a2a.NewTextPart(Reply)),
			a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil),
		} {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Cancel emits the end of a canceled task.
func (executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// SDK serves the same tasks with the Go SDK's server and its store in memory.
func SDK(ctx context.Context, address string, ready func()) error {
	handler := a2asrv.NewHandler(executor{}, a2asrv.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	s := grpc.NewServer()
	grpcv1.NewHandler(handler).RegisterWith(s)
	return serve(ctx, s, address, ready)
}

// echo answers every message with a message, and does nothing else.
type echo struct {
	a2apb.UnimplementedA2AServiceServer
}

// SendMessage answers.
func (echo) SendMessage(context.Context, *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{Message: &a2apb.Message{
		MessageId: "reply", Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: Reply}}},
	}}}, nil
}

// Echo serves the raw gRPC echo.
func Echo(ctx context.Context, address string, ready func()) error {
	s := grpc.NewServer()
	a2apb.RegisterA2AServiceServer(s, echo{})
	return serve(ctx, s, address, ready)
}

func serve(ctx context.Context, s *grpc.Server, address string, ready func()) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, s.Stop)
	defer stop()
	ready()
	return s.Serve(l)
}
