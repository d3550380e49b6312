package trace

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// caller is the place that a gRPC call comes from.
func caller(ctx context.Context) (Context, bool) {
	return FromHeaders(func(name string) []string { return metadata.ValueFromIncomingContext(ctx, name) })
}

// incoming continues the caller's trace, or starts one. begins says that traces
// begin here; elsewhere a call that belongs to none, such as a look at somebody's
// health, is not worth a span.
func (t *Tracer) incoming(ctx context.Context, method string, begins bool) (context.Context, *Span) {
	c, ok := caller(ctx)
	switch {
	case t == nil && ok:
		return t.At(ctx, c), nil
	case t == nil, !ok && !begins, strings.HasPrefix(method, "/grpc.health."):
		return With(ctx, New()), nil
	}
	ctx, s := Start(t.At(ctx, c), Server, method[1:])
	if s != nil {
		s.Set(attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", method[1:]))
	}
	return ctx, s
}

// answered ends the span of a call. fails says which codes are failures.
func (s *Span) answered(err error, fails func(codes.Code) bool) {
	if s == nil {
		return
	}
	code := status.Code(err)
	text := strings.ToUpper(snake(code.String()))
	s.Set(attribute.String("rpc.response.status_code", text))
	if fails(code) {
		s.Fail(text)
	}
	s.End()
}

// snake turns the name of a code in Go into that of the specification of gRPC.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' && (name[i-1] < 'A' || name[i-1] > 'Z') {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// serverFailed tells the codes that are a server's own failures
// (OpenTelemetry semantic conventions for gRPC).
func serverFailed(c codes.Code) bool {
	switch c {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	}
	return false
}

func clientFailed(c codes.Code) bool { return c != codes.OK }

// Server gives the interceptors of a gRPC server. Put them before the others.
// begins says that calls without a trace begin one with their span: at an edge.
func (t *Tracer) Server(begins bool) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	unary := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, s := t.incoming(ctx, info.FullMethod, begins)
		res, err := next(ctx, req)
		s.answered(err, serverFailed)
		return res, err
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, s := t.incoming(ss.Context(), info.FullMethod, begins)
		err := next(srv, &traced{ss, ctx})
		s.answered(err, serverFailed)
		return err
	}
	return unary, stream
}

// Inner gives the interceptors of a server that stands behind another one in the
// same process, which makes the span.
func (t *Tracer) Inner() (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	here := func(ctx context.Context) context.Context {
		c, ok := caller(ctx)
		if !ok {
			c = New()
		}
		return t.At(ctx, c)
	}
	unary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(here(ctx), req)
	}
	stream := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, &traced{ss, here(ss.Context())})
	}
	return unary, stream
}

type traced struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is the stream's context with its place in the trace.
func (t *traced) Context() context.Context { return t.ctx }

// outgoing begins the span of a call that belongs to a trace, and sends its place along.
func outgoing(ctx context.Context, method string) (context.Context, *Span) {
	if !Known(ctx) {
		return ctx, nil
	}
	ctx, s := Start(ctx, Client, method[1:])
	if s != nil {
		s.Set(attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", method[1:]))
	}
	return Outgoing(ctx), s
}

// Outgoing adds the place of a context to the metadata of a call, for connections
// that do not do it themselves.
func Outgoing(ctx context.Context) context.Context {
	if !Known(ctx) {
		return ctx
	}
	c := Of(ctx)
	if c.State != "" {
		return metadata.AppendToOutgoingContext(ctx, Header, c.String(), StateHeader, c.State)
	}
	return metadata.AppendToOutgoingContext(ctx, Header, c.String())
}

// Dial gives the options of a connection that passes the trace on.
func Dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			ctx, s := outgoing(ctx, method)
			err := invoke(ctx, method, req, reply, cc, opts...)
			s.answered(err, clientFailed)
			return err
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, s := outgoing(ctx, method)
			if s == nil {
				return stream(ctx, desc, cc, method, opts...)
			}
			cs, err := stream(ctx, desc, cc, method, append(opts, grpc.OnFinish(func(err error) { s.answered(err, clientFailed) }))...)
			if err != nil {
				s.answered(err, clientFailed) // a span ends once
			}
			return cs, err
		}),
	}
}
