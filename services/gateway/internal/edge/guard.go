// Package edge is the gateway's outer skin: who may call which method how
// often, and what of a call reaches the inside.
package edge

import (
	"context"
	"crypto/tls"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/trace"
)

// Config of a guard.
type Config struct {
	Keys Keys
	// Tokens of other issuers; nil when there are none.
	Tokens Tokens
	// Certificates of clients; nil when none are asked for.
	Certificates Certificates
	Granter      Granter
	Clock        clock.Clock
	Log          *slog.Logger
	// Tracer makes the spans of requests; nil makes none.
	Tracer *trace.Tracer
	// Metrics is where requests are counted.
	Metrics prometheus.Registerer
	// Caller bounds each principal, Anonymous each address without credentials.
	Caller, Anonymous Limit
}

// Guard admits calls from outside.
type Guard struct {
	authenticator *authenticator
	log           *slog.Logger
	tracer        *trace.Tracer
	clock         clock.Clock
	counts        *counts
	callers       *buckets
	strangers     *buckets
}

// NewGuard makes a guard.
func NewGuard(c Config) (*Guard, error) {
	counts, err := newCounts(c.Metrics)
	if err != nil {
		return nil, err
	}
	return &Guard{
		clock: c.Clock, counts: counts,
		authenticator: &authenticator{keys: c.Keys, tokens: c.Tokens, certificates: c.Certificates, granter: c.Granter, grants: map[string]string{}},
		log:           c.Log, tracer: c.Tracer, callers: newBuckets(c.Caller, c.Clock), strangers: newBuckets(c.Anonymous, c.Clock),
	}, nil
}

// serviceParameters of A2A are all that handlers see of a call's metadata.
// Credentials end here, and names that services of the platform trust never get in.
var serviceParameters = []string{ext.MetadataVersion, ext.MetadataExtensions, ext.MetadataCursor}

// admission is a call that may go on.
type admission struct {
	ctx context.Context
	// credential that the call was made with, if any.
	credential credential
}

// admit decides on a call of a method through an entrance.
func (g *Guard) admit(ctx context.Context, method string, e entrance) (admission, error) {
	r, ok := policy[method]
	if !ok {
		return admission{}, fault.New(fault.PermissionDenied, "no policy allows this method")
	}
	origin := e.origin(ctx)
	if r.relayed {
		return admission{ctx: from(ctx, origin)}, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	inner := metadata.MD{}
	for _, names := range [...][]string{serviceParameters, e.declared} {
		for _, name := range names {
			if v := md.Get(name); len(v) > 0 {
				inner[name] = v
			}
		}
	}
	ctx = metadata.NewIncomingContext(ctx, inner)
	if r.open {
		return admission{ctx: ctx}, nil
	}
	call, by, err := g.identify(ctx, given{md.Get("x-api-key"), md.Get("authorization"), origin.chain}, origin.address)
	if err != nil {
		return admission{}, err
	}
	if err := r.allows(call.Principal); err != nil {
		return admission{}, err
	}
	if r.a2a {
		if err := engine.CheckVersion(ctx); err != nil {
			return admission{}, err
		}
	}
	return admission{ctx: identity.WithCall(ctx, call), credential: by}, nil
}

// identify gives the call that credentials make, counted against its limit.
// Credentials that are not good count against the address.
func (g *Guard) identify(ctx context.Context, by given, address string) (identity.Call, credential, error) {
	if g.authenticator.certificates == nil {
		by.chain = nil
	}
	c, err := by.credential()
	if err == nil && c.empty() {
		return identity.Call{Actor: identity.Gateway}, c, g.take(g.strangers, ClientName(address))
	}
	var call identity.Call
	if err == nil {
		call, err = g.authenticator.known(ctx, c)
	}
	if fault.Is(err, fault.Unauthenticated) {
		if over := g.take(g.strangers, ClientName(address)); over != nil {
			return identity.Call{}, credential{}, over
		}
	}
	if err != nil {
		return identity.Call{}, credential{}, err
	}
	return call, c, g.take(g.callers, call.Principal.Key())
}

// take takes a token and counts the lack of one.
func (g *Guard) take(b *buckets, name string) error {
	err := b.take(name)
	if err != nil {
		limit := "caller"
		if b == g.strangers {
			limit = "anonymous"
		}
		g.counts.limited.WithLabelValues(limit).Inc()
	}
	return err
}

func (r rule) allows(p identity.Principal) error {
	if len(r.scopes) == 0 || slices.ContainsFunc(r.scopes, p.Has) {
		return nil
	}
	if p.Anonymous() {
		return fault.New(fault.Unauthenticated, "this needs a caller who is known; send an API key or a token")
	}
	return fault.New(fault.PermissionDenied, "this needs one of the scopes %v; your credentials have none of them", r.scopes)
}

// origin is where a call comes from: the address of its client, and the certificates
// (DER) that the client has shown there.
type origin struct {
	address string
	chain   [][]byte
}

// entrance is a way in: how the origin of a call is known there, and how large a
// request may be, bytes.
type entrance struct {
	origin     func(context.Context) origin
	maxRequest int
	// declared names the metadata that is believed of those who come in here, and
	// dropped elsewhere.
	declared []string
}

// peerOrigin is that of a client with a connection of its own.
func peerOrigin(ctx context.Context) origin {
	var o origin
	p, ok := peer.FromContext(ctx)
	if !ok {
		return o
	}
	if p.Addr != nil {
		o.address = p.Addr.String()
	}
	if secured, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		o.chain = shown(&secured.State)
	}
	return o
}

// maxChain bounds what certificates are passed on, bytes; a longer chain is left with
// the client's own, which an authority alone may still vouch for.
const maxChain = 16 << 10

// shown gives the certificates of the other side of a connection.
func shown(s *tls.ConnectionState) [][]byte {
	if s == nil {
		return nil
	}
	var (
		chain [][]byte
		size  int
	)
	for _, c := range s.PeerCertificates {
		if size += len(c.Raw); size > maxChain && len(chain) > 0 {
			return chain[:1]
		}
		chain = append(chain, c.Raw)
	}
	return chain
}

// fits refuses a request that is too large, after its caller is known.
func (e entrance) fits(request any) error {
	if m, ok := request.(proto.Message); ok && proto.Size(m) > e.maxRequest {
		return fault.New(fault.TooLarge, "the request is larger than %d MiB; send large content by reference", MaxRequest>>20)
	}
	return nil
}

func (g *Guard) unary(e entrance) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		a, err := g.admit(ctx, info.FullMethod, e)
		if err == nil {
			err = e.fits(req)
		}
		if err != nil {
			return nil, err
		}
		return next(a.ctx, req)
	}
}

func (g *Guard) stream(e entrance) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		a, err := g.admit(ss.Context(), info.FullMethod, e)
		if err != nil {
			return err
		}
		return next(srv, &admittedStream{ss, g, a, e})
	}
}

// admittedStream is a stream of a caller who must stay known while it lasts.
type admittedStream struct {
	grpc.ServerStream
	guard     *Guard
	admission admission
	entrance  entrance
}

// Context is the stream's context with its caller.
func (s *admittedStream) Context() context.Context { return s.admission.ctx }

// RecvMsg receives the request.
func (s *admittedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.entrance.fits(m)
}

// SendMsg sends an event, unless the key was revoked since.
func (s *admittedStream) SendMsg(m any) error {
	if c := s.admission.credential; !c.empty() {
		if _, err := s.guard.authenticator.known(s.admission.ctx, c); fault.Is(err, fault.Unauthenticated) {
			return err
		}
	}
	return s.ServerStream.SendMsg(m)
}
