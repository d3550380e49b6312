package legacy

import (
	"context"
	"log/slog"
	"strings"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// service is the SDK's binding of 0.3 to gRPC, with what it leaves out.
type service struct{ *a2agrpc.Handler }

// Register registers the A2A service of 0.3 with a server. Its calls are made on
// conn, with the credentials that they came with.
func Register(s *grpc.Server, conn grpc.ClientConnInterface, log *slog.Logger) {
	oldpb.RegisterA2AServiceServer(s, service{a2agrpc.NewHandler(handler{a2apb.NewA2AServiceClient(conn), log})})
}

// checkVersion refuses a call that says it is of another version.
func checkVersion(ctx context.Context) error {
	v := strings.Join(metadata.ValueFromIncomingContext(ctx, ext.MetadataVersion), ",")
	if v == "" || v == Version || strings.HasPrefix(v, Version+".") {
		return nil
	}
	return fault.New(fault.VersionNotSupported, "this is the service of A2A %s, and a2a-version says %q; that of 1.0 is %s",
		Version, v, a2apb.A2AService_ServiceDesc.ServiceName)
}

// inOldCode gives an error the code that gRPC of 0.3 had for it, by which alone the
// clients of that time know it. Newer ones, which state the version they speak, go by
// the reason, and mind that the code is the one it has in 1.0.
func inOldCode(ctx context.Context, err error) error {
	if len(metadata.ValueFromIncomingContext(ctx, ext.MetadataVersion)) > 0 {
		return err
	}
	e := fault.FromStatus(err)
	if e == nil || (e.Reason != fault.UnsupportedOperation && e.Reason != fault.PushNotSupported) {
		return err
	}
	p := status.Convert(err).Proto()
	p.Code = int32(codes.Unimplemented)
	return status.ErrorProto(p)
}

// SendMessage sends a message.
func (s service) SendMessage(ctx context.Context, q *oldpb.SendMessageRequest) (*oldpb.SendMessageResponse, error) {
	if err := prepare(q); err != nil {
		return nil, err
	}
	return s.Handler.SendMessage(ctx, q)
}

// SendStreamingMessage sends a message and streams what comes of it.
func (s service) SendStreamingMessage(q *oldpb.SendMessageRequest, out grpc.ServerStreamingServer[oldpb.StreamResponse]) error {
	if err := prepare(q); err != nil {
		return err
	}
	return s.Handler.SendStreamingMessage(q, finalStream{out})
}

// TaskSubscription streams what happens to a task.
func (s service) TaskSubscription(q *oldpb.TaskSubscriptionRequest, out grpc.ServerStreamingServer[oldpb.StreamResponse]) error {
	return s.Handler.TaskSubscription(q, finalStream{out})
}

// finalStream sets the flag that tells clients of 0.3 that a stream is at its end.
type finalStream struct {
	grpc.ServerStreamingServer[oldpb.StreamResponse]
}

// Send sends an event.
func (s finalStream) Send(m *oldpb.StreamResponse) error {
	if u := m.GetStatusUpdate(); u != nil {
		switch u.GetStatus().GetState() {
		case oldpb.TaskState_TASK_STATE_COMPLETED, oldpb.TaskState_TASK_STATE_FAILED, oldpb.TaskState_TASK_STATE_CANCELLED,
			oldpb.TaskState_TASK_STATE_REJECTED, oldpb.TaskState_TASK_STATE_INPUT_REQUIRED:
			u.Final = true
		}
	}
	return s.ServerStreamingServer.Send(m)
}
