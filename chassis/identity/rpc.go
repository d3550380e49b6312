package identity

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"sabha.dev/chassis/fault"
)

// tokenHeader carries the service token. Edges never forward it from clients.
const tokenHeader = "sabha-token"

type outgoingKey struct{}

// WithOutgoing sets on whose behalf calls made with the context are.
func WithOutgoing(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, outgoingKey{}, c)
}

func (s *Signer) attach(ctx context.Context, audience string) (context.Context, error) {
	c, _ := ctx.Value(outgoingKey{}).(Call)
	token, err := s.Token(audience, c)
	if err != nil {
		return ctx, err
	}
	return metadata.AppendToOutgoingContext(ctx, tokenHeader, token), nil
}

// Dial gives the options of a connection to a service: every call carries a token
// signed for it.
func (s *Signer) Dial(audience string) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			ctx, err := s.attach(ctx, audience)
			if err != nil {
				return err
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, err := s.attach(ctx, audience)
			if err != nil {
				return nil, err
			}
			return stream(ctx, desc, cc, method, opts...)
		}),
	}
}

// Rule says which services may call a method, and on whose behalf.
type Rule struct {
	// Open methods need no token.
	Open bool
	// Actors may call; empty means every service whose token verifies.
	Actors []string
	// Scopes, one of which the principal needs; empty means that a service may call
	// on behalf of anybody, and of nobody.
	Scopes []string
}

// admits tells a call on the rule's method from one that it refuses.
func (r Rule) admits(c Call) error {
	if len(r.Actors) > 0 && !slices.Contains(r.Actors, c.Actor) {
		return fault.New(fault.PermissionDenied, "service %s may not call this method", c.Actor)
	}
	if len(r.Scopes) == 0 || slices.ContainsFunc(r.Scopes, c.Principal.Has) {
		return nil
	}
	if c.Principal.Anonymous() {
		return fault.New(fault.Unauthenticated, "this is done on behalf of a person only; sign in, or send an API key")
	}
	return fault.New(fault.PermissionDenied, "this needs one of the roles %s, and %s has none of them; an administrator can give it",
		strings.Join(r.Scopes, ", "), c.Principal.Subject)
}

// Policy names the methods that may be called, by full gRPC name. What it does
// not name is refused.
type Policy map[string]Rule

// Guard authenticates calls between services and enforces the policy. On a
// connection with a certificate, a token is good only from the service that the
// certificate names: one that was read elsewhere is worth nothing.
type Guard struct {
	Verifier *Verifier
	Policy   Policy
	Log      *slog.Logger
}

func (g *Guard) admit(ctx context.Context, method string) (context.Context, error) {
	rule, ok := g.Policy[method]
	if !ok {
		return nil, fault.New(fault.PermissionDenied, "no policy allows this method")
	}
	if rule.Open {
		return ctx, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	tokens := md.Get(tokenHeader)
	if len(tokens) != 1 {
		return nil, fault.New(fault.Unauthenticated, "this port serves the platform's own services; call the gateway")
	}
	call, err := g.Verifier.Verify(tokens[0])
	if err != nil {
		g.Log.Warn("service token refused", "method", method, "error", err)
		return nil, fault.New(fault.Unauthenticated, "the service token does not verify")
	}
	if name, certified := certifiedName(ctx); certified && name != call.Actor {
		g.Log.Warn("a token came with the certificate of another", "method", method, "actor", call.Actor, "certificate", name)
		return nil, fault.New(fault.PermissionDenied, "the token is that of %s, the certificate that of %s; a service calls with both of its own", call.Actor, name)
	}
	if err := rule.admits(call); err != nil {
		return nil, err
	}
	return WithCall(ctx, call), nil
}

// certified is the transport of a caller that has shown a certificate.
type certified interface{ CertifiedName() string }

// certifiedName is whom the certificate of the call's connection names, if one was shown.
func certifiedName(ctx context.Context) (string, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", false
	}
	c, ok := p.AuthInfo.(certified)
	if !ok {
		return "", false
	}
	return c.CertifiedName(), true
}

// Unary is the interceptor for unary calls.
func (g *Guard) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := g.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(ctx, req)
}

// Stream is the interceptor for streams.
func (g *Guard) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := g.admit(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(srv, &guarded{ss, ctx})
}

type guarded struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is the stream's context with its verified call.
func (g *guarded) Context() context.Context { return g.ctx }
