package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/trace"
)

// overGRPC is A2A 1.0 over gRPC (specification 10).
type overGRPC struct {
	*way
	conn   *grpc.ClientConn
	client a2apb.A2AServiceClient
	tenant string
}

func newGRPC(w *way, tenant string) (*overGRPC, error) {
	conn, err := w.connect()
	if err != nil {
		return nil, err
	}
	return &overGRPC{w, conn, a2apb.NewA2AServiceClient(conn), tenant}, nil
}

// connect makes a connection of gRPC through the guard. Calls on it carry credentials,
// trace and version, and their errors are an *Error.
func (w *way) connect() (*grpc.ClientConn, error) {
	port, secured := w.url.Port(), insecure.NewCredentials()
	if w.secure {
		secured = credentials.NewTLS(w.credential.TLS())
	}
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[w.secure]
	}
	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(w.url.Hostname(), port),
		grpc.WithTransportCredentials(secured), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return w.dial(ctx, address) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(w.max))),
		grpc.WithChainUnaryInterceptor(w.unary), grpc.WithChainStreamInterceptor(w.streaming),
	)
	if err != nil {
		return nil, failure(Invalid, "the interface %s of the partner's card cannot be called over gRPC", quoted(w.url.String())).because(err)
	}
	return conn, nil
}

// dial dials through the guard, and remembers whether that refuses.
func (w *way) dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := w.guard.Dial(ctx, "tcp", address)
	var refused *egress.Refused
	w.refused.Store(errors.As(err, &refused))
	return c, err
}

func (w *way) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return w.fromStatus(ctx, w.twice(ctx, func(ctx context.Context) error { return invoke(ctx, method, req, reply, cc, opts...) }))
}

func (w *way) streaming(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	var s grpc.ClientStream
	err := w.twice(ctx, func(ctx context.Context) error {
		var err error
		s, err = open(ctx, desc, cc, method, opts...)
		return err
	})
	if err != nil {
		return nil, w.fromStatus(ctx, err)
	}
	return &watched{ClientStream: s, way: w, ctx: ctx, left: int(w.max) * streamAnswers}, nil
}

// watched is a stream that is bounded as a whole.
type watched struct {
	grpc.ClientStream
	way  *way
	ctx  context.Context
	left int
}

// RecvMsg receives the next event. The error is io.EOF, an *Error or the context's.
func (s *watched) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return s.way.fromStatus(s.ctx, err)
	}
	if p, ok := m.(proto.Message); ok {
		if s.left -= proto.Size(p); s.left < 0 {
			return failure(TooLarge, "the partner's stream is longer than it may be")
		}
	}
	return nil
}

// twice makes a call, and once more where the partner does not take a token that can be renewed.
func (w *way) twice(ctx context.Context, call func(context.Context) error) error {
	for again := true; ; again = false {
		key, value, shown, err := w.credential.Metadata(ctx)
		if err != nil {
			return &Error{Kind: Credentials, Unsent: true, Message: "our credentials for the partner cannot be had: " + err.Error()}
		}
		// What the platform tells its own services is not for partners.
		out := metadata.New(nil)
		if key != "" {
			out.Set(key, value)
		}
		if v := versionOf(ctx); v != "" {
			out.Set(ext.MetadataVersion, v)
		}
		if parent, state := w.place(ctx); parent != "" {
			out.Set(trace.Header, parent)
			if state != "" {
				out.Set(trace.StateHeader, state)
			}
		}
		err = call(metadata.NewOutgoingContext(ctx, out))
		if again && status.Code(err) == codes.Unauthenticated && w.credential.Renew(shown) {
			continue
		}
		return err
	}
}

type versionKey struct{}

// inVersion has calls say the version of A2A.
func inVersion(ctx context.Context, v string) context.Context {
	return context.WithValue(ctx, versionKey{}, v)
}

func versionOf(ctx context.Context) string {
	v, _ := ctx.Value(versionKey{}).(string)
	return v
}

// fromStatus is the error that a status stands for. Its details are the partner's: they
// are read where they have the form that is expected, and not passed on.
func (w *way) fromStatus(ctx context.Context, err error) error {
	var own *Error
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s := status.Convert(err)
	if at, ok := ctx.Deadline(); ok && s.Code() == codes.DeadlineExceeded && time.Until(at) < early {
		return context.DeadlineExceeded
	}
	said, reason := quote(s.Message()), fault.Reason("")
	var e *Error
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == fault.DomainA2A {
			reason = fault.Reason(info.GetReason())
		}
	}
	switch code := s.Code(); {
	case reason == fault.TaskNotFound, reason == "" && code == codes.NotFound:
		e = failure(Gone, "the partner does not know its task any more%s", said)
	case reason == fault.TaskNotCancelable, reason == fault.UnsupportedOperation:
		e = failure(Final, "the partner does not do that with its task%s", said)
	case code == codes.Unauthenticated:
		e = failure(Credentials, "the partner does not take our credentials%s; look at credentials in the agreement", said)
	case code == codes.PermissionDenied:
		e = failure(Refused, "the partner does not allow us this call%s", said)
	case code == codes.ResourceExhausted && received(s):
		e = failure(TooLarge, "the partner's answer is longer than it may be")
	case code == codes.ResourceExhausted:
		e = failure(Limited, "the partner says that we call it too often%s", said)
	case code == codes.Unavailable:
		// The text is gRPC's own where no connection came about, with addresses in it.
		if w.refused.Load() {
			return errNotPublic()
		}
		e = failure(Unreachable, "the partner cannot be reached, or cannot answer now").because(err)
	case code == codes.Internal, code == codes.Unknown, code == codes.Aborted, code == codes.DataLoss, code == codes.DeadlineExceeded, code == codes.Canceled:
		e = failure(Failed, "the partner failed (%s)%s", code, said).because(err)
	default:
		e = failure(Refused, "the partner does not take our request (%s)%s", code, said)
	}
	for _, d := range s.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			e.RetryAfter = min(max(retry.GetRetryDelay().AsDuration(), 0), maxRetryAfter)
		}
	}
	return e
}

// early is how long before its time a call may end because of it: the partner's side knows
// the deadline too, and has another clock.
const early = time.Second

// received tells whether it is this side that found a message too large.
func received(s *status.Status) bool {
	const says = "grpc: received message"
	return len(s.Message()) > len(says) && s.Message()[:len(says)] == says
}

func (c *overGRPC) close() { _ = c.conn.Close() }

func (c *overGRPC) send(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error) {
	res, err := c.client.SendMessage(inVersion(ctx, "1.0"), withTenant(req, c.tenant))
	if err != nil {
		return nil, err
	}
	switch p := res.GetPayload().(type) {
	case *a2apb.SendMessageResponse_Message:
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Message{Message: p.Message}}, nil
	case *a2apb.SendMessageResponse_Task:
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: p.Task}}, nil
	}
	return nil, nil
}

func (c *overGRPC) stream(ctx context.Context, req *a2apb.SendMessageRequest, each func(*a2apb.StreamResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.client.SendStreamingMessage(inVersion(ctx, "1.0"), withTenant(req, c.tenant))
	return receive(s, err, each)
}

func receive(s grpc.ServerStreamingClient[a2apb.StreamResponse], err error, each func(*a2apb.StreamResponse) error) error {
	for err == nil {
		var ev *a2apb.StreamResponse
		if ev, err = s.Recv(); err == nil {
			if err := each(ev); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *overGRPC) get(ctx context.Context, id string, _ *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	t, err := c.client.GetTask(inVersion(ctx, "1.0"), &a2apb.GetTaskRequest{Id: id, HistoryLength: new(int32), Tenant: c.tenant})
	return t, err
}

func (c *overGRPC) subscribe(ctx context.Context, id string, each func(*a2apb.StreamResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.client.SubscribeToTask(inVersion(ctx, "1.0"), &a2apb.SubscribeToTaskRequest{Id: id, Tenant: c.tenant})
	return receive(s, err, each)
}

func (c *overGRPC) cancel(ctx context.Context, id string) (*a2apb.Task, error) {
	t, err := c.client.CancelTask(inVersion(ctx, "1.0"), &a2apb.CancelTaskRequest{Id: id, Tenant: c.tenant})
	return t, err
}
