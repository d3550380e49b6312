package edge

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
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
	unary, stream := g.tracer.Server(true)
	return g.server(entrance{origin: peerOrigin, maxRequest: MaxRequest}, unary, stream, append(g.counted(),
		grpc.Creds(transport),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 15 * time.Minute, MaxConnectionAge: time.Hour, MaxConnectionAgeGrace: 5 * time.Minute, Time: 30 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)...)
}

// Inner makes the server behind the HTTP bindings. It believes what Dial says
// about where a call comes from, so it must be reached in memory only. The span of
// a request is made on the HTTP side.
func (g *Guard) Inner() *grpc.Server {
	unary, stream := g.tracer.Inner()
	return g.server(entrance{origin: declared, maxRequest: maxMessage, declared: []string{ext.MetadataClientVersion, ext.MetadataConfirm, ext.MetadataIntegrity}}, unary, stream)
}

func (g *Guard) server(e entrance, unary grpc.UnaryServerInterceptor, stream grpc.StreamServerInterceptor, more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more,
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders),
		grpc.ChainUnaryInterceptor(unary, fault.Unary(g.log), g.unary(e)),
		grpc.ChainStreamInterceptor(stream, fault.Stream(g.log), g.stream(e)),
	)...)
}

// Headers that carry the client's address and its certificates from the HTTP side to
// Inner. Public never reads them.
const (
	originHeader       = "sabha-client"
	certificatesHeader = "sabha-client-certificates-bin"
)

func from(ctx context.Context, o origin) context.Context {
	return context.WithValue(ctx, requestKey{}, &Request{origin: o})
}

// Dial gives the options of the connection to Inner.
func Dial() []grpc.DialOption {
	declare := func(ctx context.Context, method string) (context.Context, *Request) {
		r := requestOf(ctx)
		r.calls(ctx, method)
		ctx = metadata.AppendToOutgoingContext(ctx, originHeader, r.address)
		for _, c := range r.chain {
			ctx = metadata.AppendToOutgoingContext(ctx, certificatesHeader, string(c))
		}
		return ctx, r
	}
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			ctx, r := declare(ctx, method)
			err := invoke(ctx, method, req, reply, cc, opts...)
			r.answered(err)
			return err
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, r := declare(ctx, method)
			stream, err := open(ctx, desc, cc, method, append(opts, grpc.OnFinish(r.answered))...)
			if err != nil {
				r.answered(err)
			}
			return stream, err
		}),
	}
}

func declared(ctx context.Context) origin {
	md, _ := metadata.FromIncomingContext(ctx)
	o := origin{address: strings.Join(md.Get(originHeader), ",")}
	for _, c := range md.Get(certificatesHeader) {
		o.chain = append(o.chain, []byte(c))
	}
	return o
}
