// Package gateway is the inbound edge of the platform: it knows the callers,
// bounds them, publishes the agents' cards and passes A2A calls of every binding
// on to the persona that they name.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/gateway/internal/callers"
	"sabha.dev/services/gateway/internal/cards"
	"sabha.dev/services/gateway/internal/clientcerts"
	"sabha.dev/services/gateway/internal/edge"
	"sabha.dev/services/gateway/internal/legacy"
	"sabha.dev/services/gateway/internal/oversight"
	"sabha.dev/services/gateway/internal/people"
	"sabha.dev/services/gateway/internal/proxy"
	"sabha.dev/services/gateway/internal/tokens"
	"sabha.dev/services/gateway/migrations"
)

// finishWithin is how long calls that wait for an agent may go on after a stop
// has begun; streams end at once.
const finishWithin = 3 * time.Second

// Running is a started gateway.
type Running struct {
	base   *service.Base
	db     *sqldb.DB
	keys   *callers.Store
	proxy  *proxy.Proxy
	health *health.Server

	publicTLS  *certs.Folder         // nil for plain text
	clients    *clientcerts.Verifier // nil when clients are asked for no certificate
	publicGRPC *grpc.Server
	innerGRPC  *grpc.Server
	innerConn  *grpc.ClientConn
	web        []*http.Server
	// people are the services behind that serve them.
	people []people.Service

	grpcAddr, httpAddr net.Addr
	address            cards.Address
	failed             chan error

	closers []func()
	stop    sync.Once
	stopped error
}

// Start starts the gateway and returns when it serves both ports.
func Start(ctx context.Context, c Config, env service.Env) (_ *Running, err error) {
	r := &Running{failed: make(chan error, 4)}
	defer func() {
		if err != nil {
			r.release()
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	if err := c.wrong(); err != nil {
		return nil, err
	}
	db, err := openDB(ctx, c, env.CheckSchema)
	if err != nil {
		return nil, err
	}
	r.db, r.closers = db, append(r.closers, func() { _ = db.Close() })
	// The database is opened here, because the chassis would put task tables into it.
	own := c.Config
	own.Database = ""
	base, closeBase, err := service.OpenBase(ctx, service.Definition{Name: name, Config: own}, env)
	if err != nil {
		return nil, err
	}
	r.base, r.closers = base, append(r.closers, closeBase)
	r.keys = callers.New(db, base.Clock, base.Log)

	grpcListener, err := r.listen("public_grpc", c.PublicGRPC)
	if err != nil {
		return nil, err
	}
	httpListener, err := r.listen("public_http", c.PublicHTTP)
	if err != nil {
		return nil, err
	}
	if c.PublicTLS != "" {
		if r.publicTLS, err = certs.OpenPublic(c.PublicTLS, base.Clock, base.Log); err != nil {
			return nil, fmt.Errorf("public_tls: %w", err)
		}
	}
	if len(c.ClientCertificates) > 0 {
		if r.clients, err = clientcerts.New(c.ClientCertificates, base.Clock, base.Log); err != nil {
			return nil, err
		}
	}
	r.grpcAddr, r.httpAddr = grpcListener.Addr(), httpListener.Addr()
	r.address = publicAddress(c, r.grpcAddr, r.httpAddr)

	source, admin, err := r.connect(c)
	if err != nil {
		return nil, err
	}
	limits := c.RateLimit.withDefaults()
	foreign, err := tokens.New(c.Issuers, base.Clock)
	if err != nil {
		return nil, err
	}
	known := edge.Config{
		Keys: r.keys, Tokens: foreign, Granter: base.Signer, Clock: base.Clock, Log: base.Log, Tracer: base.Tracer, Metrics: base.Metrics(),
		Caller: limits.Caller, Anonymous: limits.Anonymous,
	}
	if r.clients != nil {
		known.Certificates = r.clients
	}
	guard, err := edge.NewGuard(known)
	if err == nil {
		err = base.RegisterDatabase(db)
	}
	if err != nil {
		return nil, err
	}
	r.health = health.NewServer()
	transport := insecure.NewCredentials()
	if r.publicTLS != nil {
		transport = r.publicTLS.PublicTransport(r.authorities())
	}
	r.publicGRPC = r.registered(guard.Public(transport), admin)
	r.innerGRPC = r.registered(guard.Inner(), admin)
	for _, s := range people.Services() {
		if !slices.Contains(c.services(), s.Name) {
			continue
		}
		conn, err := base.Peer(s.Name)
		if err != nil {
			return nil, err
		}
		s.Register(r.publicGRPC, conn)
		s.Register(r.innerGRPC, conn)
		r.people = append(r.people, s)
	}
	if err := r.serveInner(); err != nil {
		return nil, err
	}
	if err := r.serveHTTP(c, guard, source, httpListener); err != nil {
		return nil, err
	}
	if !c.CurrentOnly {
		legacy.Register(r.publicGRPC, r.innerConn, base.Log)
	}
	go func() { r.failed <- r.publicGRPC.Serve(grpcListener) }()
	return r, nil
}

func openDB(ctx context.Context, c Config, checkOnly bool) (*sqldb.DB, error) {
	schema := sqldb.Schema{Service: name, Components: []sqldb.Component{{Name: name, Files: migrations.Files}}}
	return service.OpenDatabase(ctx, c.Database, schema, checkOnly)
}

func (r *Running) listen(field, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s %q: %w; choose another address or stop what uses it", field, address, err)
	}
	r.closers = append(r.closers, func() { _ = l.Close() })
	return l, nil
}

// authorities whose certificates clients are asked for on the public ports; nil for none.
func (r *Running) authorities() certs.Authorities {
	if r.clients == nil {
		return nil
	}
	return r.clients.Authorities
}

// publicAddress is where clients are told to find the gateway, never what it is bound to.
func publicAddress(c Config, grpcAddr, httpAddr net.Addr) cards.Address {
	a := cards.Address{HTTP: strings.TrimRight(c.PublicURL, "/"), GRPC: c.PublicGRPCAddress, CurrentOnly: c.CurrentOnly}
	for _, i := range c.Issuers {
		a.Issuers = append(a.Issuers, i.Issuer)
		if i.Discovered() {
			a.Discovered = append(a.Discovered, i.Issuer)
		}
	}
	a.Certificates = len(c.ClientCertificates) > 0
	if a.HTTP == "" {
		scheme := "http://"
		if c.PublicTLS != "" {
			scheme = "https://"
		}
		a.HTTP = scheme + net.JoinHostPort("localhost", port(httpAddr))
	}
	if a.GRPC == "" {
		host := "localhost"
		if u, err := url.Parse(a.HTTP); err == nil {
			host = u.Hostname()
		}
		a.GRPC = net.JoinHostPort(host, port(grpcAddr))
	}
	return a
}

func port(a net.Addr) string {
	_, p, _ := net.SplitHostPort(a.String())
	return p
}

// connect opens the connections to the services behind and what stands on them.
func (r *Running) connect(c Config) (*cards.Source, *oversight.Service, error) {
	overseen := map[string]adminv1.AdminServiceClient{}
	conns := map[string]*grpc.ClientConn{}
	for _, s := range c.services() {
		conn, err := r.base.Peer(s)
		if err != nil {
			return nil, nil, err
		}
		conns[s], overseen[s] = conn, adminv1.NewAdminServiceClient(conn)
	}
	agents := map[string]grpc.ClientConnInterface{proxy.Front: conns[front]}
	published := map[string]adminv1.AdminServiceClient{proxy.Front: overseen[front]}
	for _, t := range c.tenants() {
		agents[t], published[t] = conns[t], overseen[t]
	}
	source := cards.New(r.address, published, r.base.Clock, r.base.Log)
	r.proxy = proxy.New(agents, source)
	return source, oversight.New(overseen[front], overseen, plannerv1.NewPlannerServiceClient(conns[front]), r.base.Log), nil
}

func (r *Running) registered(s *grpc.Server, admin *oversight.Service) *grpc.Server {
	a2apb.RegisterA2AServiceServer(s, r.proxy)
	adminv1.RegisterAdminServiceServer(s, admin)
	plannerv1.RegisterPlannerServiceServer(s, admin)
	grpc_health_v1.RegisterHealthServer(s, r.health)
	return s
}

// innerBuffer of the connection between the HTTP side and the gRPC side, bytes.
const innerBuffer = 1 << 20

// serveInner serves the connection that the HTTP bindings call, so that every
// binding passes the same interceptors.
func (r *Running) serveInner() error {
	pipe := bufconn.Listen(innerBuffer)
	go func() { r.failed <- r.innerGRPC.Serve(pipe) }()
	conn, err := grpc.NewClient("passthrough:///gateway", append(edge.Dial(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))...)
	r.innerConn = conn
	return err
}

// GRPCAddr is the address of the public gRPC port.
func (r *Running) GRPCAddr() string { return r.grpcAddr.String() }

// HTTPAddr is the address of the public HTTP port.
func (r *Running) HTTPAddr() string { return r.httpAddr.String() }

// PublicURL is the base of the HTTP bindings as cards name it.
func (r *Running) PublicURL() string { return r.address.HTTP }

// FirstKey makes the first API key, for the principal admin with every role, who is
// also that of the first account of the console: one person makes both. It does so
// if there has never been any key. It returns the key, which cannot be shown
// again, or an empty string.
func (r *Running) FirstKey(ctx context.Context) (string, error) {
	return r.keys.First(ctx, identity.Principal{Subject: identity.Admin, Scopes: identity.Roles()})
}

// Failed receives when a port can no longer be served.
func (r *Running) Failed() <-chan error { return r.failed }

// Stop ends the gateway: streams at once with UNAVAILABLE, waiting calls within a
// few seconds, everything else gracefully until ctx ends, then hard. Tasks go on.
func (r *Running) Stop(ctx context.Context) error {
	r.stop.Do(func() { r.stopped = r.drain(ctx); r.release() })
	return r.stopped
}

func (r *Running) drain(ctx context.Context) error {
	r.health.Shutdown()
	r.proxy.EndStreams()
	done := make(chan error, 1)
	go func() {
		var errs []error
		for _, s := range r.web {
			errs = append(errs, s.Shutdown(ctx))
		}
		r.publicGRPC.GracefulStop()
		done <- errors.Join(errs...)
	}()
	select {
	case err := <-done:
		return err
	case <-r.base.Clock.After(finishWithin):
	case <-ctx.Done():
	}
	r.proxy.EndCalls()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("gateway: stopped hard: %w", ctx.Err())
	}
}

// release lets everything go, in the opposite order of its opening.
func (r *Running) release() {
	for _, s := range r.web {
		_ = s.Close()
	}
	if r.innerConn != nil {
		_ = r.innerConn.Close()
	}
	for _, s := range []*grpc.Server{r.publicGRPC, r.innerGRPC} {
		if s != nil {
			s.Stop()
		}
	}
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i]()
	}
}
