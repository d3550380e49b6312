package legacy_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/gateway/internal/legacy"
)

// service is an A2A service that does what a test says.
type service struct {
	a2apb.UnimplementedA2AServiceServer
	err  error
	task *a2apb.Task
	seen metadata.MD
	log  bytes.Buffer
}

func (s *service) GetTask(ctx context.Context, _ *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	s.seen, _ = metadata.FromIncomingContext(ctx)
	return s.task, s.err
}

// dial serves what register registers and connects to it.
func dial(t *testing.T, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	l, s := bufconn.Listen(64<<10), grpc.NewServer()
	register(s)
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); s.Stop() })
	return conn
}

// before puts the service of 0.3 before one of 1.0.
func before(t *testing.T, s *service) oldpb.A2AServiceClient {
	t.Helper()
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	behind := dial(t, func(srv *grpc.Server) { a2apb.RegisterA2AServiceServer(srv, s) })
	return oldpb.NewA2AServiceClient(dial(t, func(srv *grpc.Server) { legacy.Register(srv, behind, log) }))
}

func TestOldClientsGetTheCodesOfTheirTime(t *testing.T) {
	for _, c := range []struct {
		reason     fault.Reason
		old, today codes.Code
	}{
		{fault.TaskNotFound, codes.NotFound, codes.NotFound},
		{fault.TaskNotCancelable, codes.FailedPrecondition, codes.FailedPrecondition},
		{fault.UnsupportedOperation, codes.Unimplemented, codes.FailedPrecondition},
		{fault.PushNotSupported, codes.Unimplemented, codes.FailedPrecondition},
		{fault.ContentTypeNotSupported, codes.InvalidArgument, codes.InvalidArgument},
		{fault.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		{fault.Unavailable, codes.Unavailable, codes.Unavailable},
	} {
		client := before(t, &service{err: fault.Status(fault.New(c.reason, "because")).Err()})
		for version, want := range map[string]codes.Code{"": c.old, "0.3": c.today} {
			ctx := t.Context()
			if version != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "a2a-version", version)
			}
			_, err := client.GetTask(ctx, &oldpb.GetTaskRequest{Name: "tasks/t"})
			if s := status.Convert(err); s.Code() != want || s.Message() != "because" || fault.FromStatus(err) == nil || fault.FromStatus(err).Reason != c.reason {
				t.Errorf("%s with version %q: %v, want %v", c.reason, version, err, want)
			}
		}
	}
}

func TestAnAnswerThatCannotBeTranslatedRevealsNothing(t *testing.T) {
	srv := &service{task: &a2apb.Task{Id: "t", ContextId: "c"}}
	_, err := before(t, srv).GetTask(t.Context(), &oldpb.GetTaskRequest{Name: "tasks/t"})
	if s := status.Convert(err); s.Code() != codes.Internal || s.Message() != "internal error; the operator finds it in the log by trace id" {
		t.Errorf("a task without a status: %v", err)
	}
	if !strings.Contains(srv.log.String(), "invalid status") {
		t.Errorf("the log does not say why: %s", srv.log.String())
	}
}

func TestOnlyWhatACallIsKnownByGoesOn(t *testing.T) {
	s := &service{err: status.Error(codes.NotFound, "x")}
	client := before(t, s)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "0.3", "authorization", "Bearer a", "x-api-key", "b", "x-a2a-extensions", "urn:x", "a2a-extensions", "urn:y",
		"cookie", "c", "sabha-token", "d", "sabha-client", "e", "sabha-client-version", "9")
	_, _ = client.GetTask(ctx, &oldpb.GetTaskRequest{Name: "tasks/t"})
	for name, want := range map[string][]string{
		"a2a-version": {"1.0"}, "sabha-client-version": {"0.3"}, "authorization": {"Bearer a"}, "x-api-key": {"b"}, "cookie": nil, "sabha-token": nil, "sabha-client": nil,
	} {
		got := s.seen.Get(name)
		if len(got) != len(want) || (len(want) == 1 && got[0] != want[0]) {
			t.Errorf("%s is %q behind, want %q", name, got, want)
		}
	}
	if got := s.seen.Get("a2a-extensions"); len(got) != 2 {
		t.Errorf("extensions are %q behind, want both", got)
	}
}
