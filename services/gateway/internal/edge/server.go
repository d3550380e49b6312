package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/trace"
)

// Bounds of what comes in.
const (
	// MaxRequest is the size of a request as a client sends it, bytes, on every binding.
	MaxRequest = 4 << 20
	// maxMessage is what the transport takes, bytes. Above it gRPC refuses by itself,
	// in words of its own; between the two the guard does. Behind HTTP there is
	// nothing in between, since numbers grow when they become Protobuf.
	maxMessage = 16 << 20
	maxHeaders = 64 << 10
	// maxStreams of one connection.
	maxStreams = 1024
)

// Public makes the server of the public gRPC port.
func (g *Guard) Public(transport credentials.TransportCredentials) *grpc.Server {
	return g.server(entrance{origin: peerAddress, maxRequest: MaxRequest},
		grpc.Creds(transport),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 15 * time.Minute, MaxConnectionAge: time.Hour, MaxConnectionAgeGrace: 5 * time.Minute, Time: 30 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
}

// Inner makes the server behind the HTTP bindings. It believes what Dial says
// about where a call comes from, so it must be reached in memory only.
func (g *Guard) Inner() *grpc.Server {
	return g.server(entrance{origin: declared, maxRequest: maxMessage, declared: []string{ext.MetadataClientVersion}})
}

func (g *Guard) server(e entrance, more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more,
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders),
		grpc.ChainUnaryInterceptor(trace.Unary, fault.Unary(g.log), g.unary(e)),
		grpc.ChainStreamInterceptor(trace.Stream, fault.Stream(g.log), g.stream(e)),
	)...)
}

type originKey struct{}

// originHeader carries the client's address from the HTTP side to Inner. Public never reads it.
const originHeader = "sabha-client"

// WithOrigin notes the address of an HTTP client for calls over a Dial connection.
func WithOrigin(r *http.Request) *http.Request {
	return r.WithContext(from(r.Context(), r.RemoteAddr))
}

func from(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, originKey{}, address)
}

// Dial gives the options of the connection to Inner.
func Dial() []grpc.DialOption {
	declare := func(ctx context.Context) context.Context {
		address, _ := ctx.Value(originKey{}).(string)
		return metadata.AppendToOutgoingContext(ctx, originHeader, address)
	}
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(declare(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(declare(ctx), desc, cc, method, opts...)
		}),
	}
}

func declared(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(md.Get(originHeader), ",")
}
