// Package trace carries the W3C trace context through gRPC and NATS. Every hop
// has its own span id; the trace id stays that of the request.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Header is the key of gRPC metadata and of NATS and HTTP headers (W3C Trace Context).
const Header = "traceparent"

// Context is the place of a call in its trace.
type Context struct {
	// TraceID is 32 hex digits, SpanID 16.
	TraceID, SpanID string
	Sampled         bool
}

// Parse reads a traceparent (version 00). It reports false for anything else.
func Parse(s string) (Context, bool) {
	p := strings.Split(s, "-")
	if len(p) != 4 || p[0] != "00" || !isHex(p[1], 32) || !isHex(p[2], 16) || !isHex(p[3], 2) {
		return Context{}, false
	}
	if strings.Trim(p[1], "0") == "" || strings.Trim(p[2], "0") == "" {
		return Context{}, false
	}
	flags, _ := hex.DecodeString(p[3])
	return Context{TraceID: p[1], SpanID: p[2], Sampled: flags[0]&1 == 1}, true
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// String is the traceparent.
func (c Context) String() string {
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	return "00-" + c.TraceID + "-" + c.SpanID + "-" + flags
}

// New starts a trace. Its id begins with the time and ends with ten random bytes:
// rows of audit that are written together then stand together in their index.
func New() Context {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails (crypto/rand since Go 1.24)
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	return Context{TraceID: hex.EncodeToString(b[:]), SpanID: id(8), Sampled: true}
}

// Child is a further span of the trace.
func (c Context) Child() Context {
	c.SpanID = id(8)
	return c
}

func id(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand since Go 1.24)
	return hex.EncodeToString(b)
}

type key struct{}

// With puts a place into a context.
func With(ctx context.Context, c Context) context.Context { return context.WithValue(ctx, key{}, c) }

// Of gives the place of a context, a new trace when there is none.
func Of(ctx context.Context) Context {
	if c, ok := ctx.Value(key{}).(Context); ok {
		return c
	}
	return New()
}

// incoming continues the caller's trace or starts one.
func incoming(ctx context.Context) context.Context {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if v := md.Get(Header); len(v) == 1 {
			if c, ok := Parse(v[0]); ok {
				return With(ctx, c.Child())
			}
		}
	}
	return With(ctx, New())
}

// Unary is the server's interceptor for unary calls.
func Unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return next(incoming(ctx), req)
}

// Stream is the server's interceptor for streams.
func Stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, &traced{ss, incoming(ss.Context())})
}

type traced struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is the stream's context with its place in the trace.
func (t *traced) Context() context.Context { return t.ctx }

// Outgoing adds the place of a context to the metadata of a call.
func Outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, Header, Of(ctx).String())
}

// Dial gives the options of a connection that passes the trace on.
func Dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(Outgoing(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return stream(Outgoing(ctx), desc, cc, method, opts...)
		}),
	}
}
