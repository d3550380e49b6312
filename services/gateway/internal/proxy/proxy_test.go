package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/gateway/internal/proxy"
)

// backend is an agent that does what a test says.
type backend struct {
	a2apb.UnimplementedA2AServiceServer
	get       func(context.Context) (*a2apb.Task, error)
	subscribe func(grpc.ServerStreamingServer[a2apb.StreamResponse]) error
}

func (b *backend) GetTask(ctx context.Context, _ *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	return b.get(ctx)
}

func (b *backend) SubscribeToTask(_ *a2apb.SubscribeToTaskRequest, s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	return b.subscribe(s)
}

type asIs struct{}

func (asIs) Complete(_ string, c *a2apb.AgentCard) *a2apb.AgentCard { return c }

// before puts a proxy before a backend and serves it to callers who are known.
func before(t *testing.T, b *backend) (*proxy.Proxy, a2apb.A2AServiceClient) {
	t.Helper()
	p := proxy.New(map[string]grpc.ClientConnInterface{proxy.Front: serve(t, b)}, asIs{})
	known := identity.Call{Actor: identity.Gateway}
	conn := serve(t, p,
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			res, err := next(identity.WithCall(ctx, known), req)
			return res, fault.Status(err).Err()
		}),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return fault.Status(next(srv, knownStream{ss, identity.WithCall(ss.Context(), known)})).Err()
		}))
	return p, a2apb.NewA2AServiceClient(conn)
}

type knownStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s knownStream) Context() context.Context { return s.ctx }

func serve(t *testing.T, srv a2apb.A2AServiceServer, opts ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(64 << 10)
	s := grpc.NewServer(opts...)
	a2apb.RegisterA2AServiceServer(s, srv)
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); s.Stop() })
	return conn
}

func TestErrorsOfAgentsPassAndThoseOfTransportsDoNot(t *testing.T) {
	detailed, err := status.New(codes.AlreadyExists, "used before").WithDetails(
		&errdetails.ErrorInfo{Reason: "MESSAGE_ID_CONFLICT", Domain: "sabha", Metadata: map[string]string{"taskId": "t1"}},
		&errdetails.Help{Links: []*errdetails.Help_Link{{Url: "https://example.com"}}})
	if err != nil {
		t.Fatal(err)
	}
	drained := fault.Status(fault.New(fault.Unavailable, "this replica is stopping"))
	for _, c := range []struct {
		name string
		said error
		want *status.Status
	}{
		{"with details", detailed.Err(), detailed},
		{"unavailable, by the agent", drained.Err(), drained},
		{"without details", status.Error(codes.NotFound, "no such thing"), status.New(codes.NotFound, "no such thing")},
		{"unavailable, by the transport", status.Error(codes.Unavailable, "dial tcp 10.0.0.1:9100: refused"), fault.Status(func() error {
			e := fault.New(fault.Unavailable, "the agent cannot be reached at the moment; try again later")
			e.RetryAfter = 1e9
			return e
		}())},
		{
			"too large", status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 4)"),
			fault.Status(fault.New(fault.TooLarge, "the request or its answer is larger than the agent takes; send large content by reference")),
		},
		{"internal", status.Error(codes.Internal, "stream terminated by RST_STREAM at 10.0.0.1"), fault.Status(errors.New("x"))},
		{"not offered", status.Error(codes.Unimplemented, "unknown method GetTask"), fault.Status(fault.New(fault.UnsupportedOperation, "the agent does not offer the operation"))},
	} {
		_, client := before(t, &backend{get: func(context.Context) (*a2apb.Task, error) { return nil, c.said }})
		_, err := client.GetTask(t.Context(), &a2apb.GetTaskRequest{Id: "t1"})
		if got := status.Convert(err); !proto.Equal(got.Proto(), c.want.Proto()) {
			t.Errorf("%s: %v, want %v", c.name, got.Proto(), c.want.Proto())
		}
	}
}

func TestOnlyServiceParametersGoOn(t *testing.T) {
	var got metadata.MD
	_, client := before(t, &backend{get: func(ctx context.Context) (*a2apb.Task, error) {
		got, _ = metadata.FromIncomingContext(ctx)
		return &a2apb.Task{}, nil
	}})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "a2a-cursor", "1.2", "a2a-extensions", "urn:x", "a2a-extensions", "urn:y",
		"sabha-deadline", "1", "sabha-token", "x", "authorization", "Bearer sk-1", "x-api-key", "sk-1", "cookie", "c")
	if _, err := client.GetTask(ctx, &a2apb.GetTaskRequest{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a2a-version": "1.0", "a2a-cursor": "1.2", "a2a-extensions": "urn:x,urn:y",
		"sabha-deadline": "", "sabha-token": "", "authorization": "", "x-api-key": "", "cookie": "",
	} {
		if v := strings.Join(got.Get(name), ","); v != want {
			t.Errorf("%s is %q at the agent, want %q", name, v, want)
		}
	}
}

func TestADisconnectEndsTheStreamBehind(t *testing.T) {
	ended := make(chan error, 1)
	_, client := before(t, &backend{subscribe: func(s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
		_ = s.Send(&a2apb.StreamResponse{})
		<-s.Context().Done()
		ended <- s.Context().Err()
		return s.Context().Err()
	}})
	ctx, leave := context.WithCancel(t.Context())
	stream, err := client.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: "t1"})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the agent's stream ends with %v, want it canceled", err)
	}
}

// A reader that stops reading stops the agent, after what the connections
// themselves hold; nothing piles up in between.
func TestAReaderThatStopsReadingStopsTheAgent(t *testing.T) {
	const events, size = 1024, 64 << 10 // 64 MiB in all
	finished := make(chan struct{})
	_, client := before(t, &backend{subscribe: func(s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
		defer close(finished)
		event := &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Message{Message: &a2apb.Message{MessageId: strings.Repeat("x", size)}}}
		for range events {
			if err := s.Send(event); err != nil {
				return err
			}
		}
		return nil
	}})
	stream, err := client.SubscribeToTask(t.Context(), &a2apb.SubscribeToTaskRequest{Id: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 1 {
			select {
			case <-finished:
				t.Fatalf("the agent sent all %d events to a reader that has read one", events)
			case <-time.After(500 * time.Millisecond): // time enough to send them if nothing stops it
			}
		}
	}
	if read != events {
		t.Errorf("%d events arrived, want %d", read, events)
	}
}

func TestEndingCallsTellsWhoWaits(t *testing.T) {
	waits := make(chan struct{})
	p, client := before(t, &backend{get: func(ctx context.Context) (*a2apb.Task, error) {
		close(waits)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	go func() { <-waits; p.EndStreams(); p.EndCalls() }()
	_, err := client.GetTask(t.Context(), &a2apb.GetTaskRequest{Id: "t1"})
	if e := fault.FromStatus(err); e == nil || e.Reason != fault.Unavailable || e.Message != "the gateway is stopping; tasks go on, ask again for them" {
		t.Errorf("got %v, want UNAVAILABLE because of the stop", err)
	}
}
