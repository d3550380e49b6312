package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"sabha.dev/chassis/admission"
	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/bus"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/metrics"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Definition is a persona as its package hands it over: what it is called, its
// configuration and how it is built.
type Definition struct {
	Name   string
	Config Config
	// Migrations of the service's own tables (goose SQL files at the root), or nil.
	Migrations fs.FS
	// Build makes the persona over an open base.
	Build func(context.Context, *Base) (*Persona, error)
}

// Persona is a built service.
type Persona struct {
	Agent agent.Agent
	// Services registers further gRPC services on the persona's port; Policy says who
	// may call their methods. nil: it has none.
	Services func(grpc.ServiceRegistrar)
	Policy   identity.Policy
	// HTTP holds further paths of the service's HTTP port, for example "/mcp".
	HTTP map[string]http.Handler
	// Unscreened says that messages from outside are not screened before they are
	// worked on: for security itself, and for agents that no edge reaches.
	Unscreened bool
	// Engine, when set, is told the engine before it serves.
	Engine func(*engine.Engine)
	// AllowRepeatedMessageIDs as in engine.Config.
	AllowRepeatedMessageIDs bool
	// ExtendedCard declares an extended card even without Agent.Extended.
	ExtendedCard bool
	// Plans says which tasks a filter about plans means, of a persona that has plans. It
	// is not called with an empty filter. nil: such a filter finds nothing.
	Plans func(PlanFilter) taskstore.Facts
	// Watches begin to watch what changes beside tasks, by kind (AdminService.Watch). The
	// error is eventlog.ErrAway while nothing can be heard.
	Watches map[string]func() (*eventlog.Watcher, error)
	// Close releases what Build opened.
	Close func() error
}

// Running is a started service.
type Running struct {
	base      *Base
	persona   *Persona
	engine    *engine.Engine
	bus       *bus.Bus
	store     *taskstore.Store
	grpc      *grpc.Server
	health    *health.Server
	http      *http.Server
	failed    chan error
	closeBase func()
}

// Start starts a service and returns when it serves.
func Start(ctx context.Context, d Definition, env Env) (_ *Running, err error) {
	r := &Running{failed: make(chan error, 2)}
	defer func() {
		if err != nil {
			_ = r.Stop(ctx)
			err = fmt.Errorf("%s: %w", d.Name, err)
		}
	}()
	if r.base, r.closeBase, err = OpenBase(ctx, d, env); err != nil {
		return nil, err
	}
	env = r.base.Env
	if r.persona, err = d.Build(ctx, r.base); err != nil {
		return nil, err
	}
	log, err := eventlog.Open(ctx, env.NATS, eventlog.Retention{})
	if err != nil {
		return nil, err
	}
	counts, err := metrics.New(r.base.Metrics())
	if err != nil {
		return nil, err
	}
	r.store, err = taskstore.Open(ctx, r.base.DB, taskstore.Options{
		Replica: r.base.Replica, Metrics: counts, AgentVersion: r.persona.Agent.Version, Clock: env.Clock, Log: env.Log, Exclusive: env.Exclusive,
	})
	if err != nil {
		return nil, err
	}
	if err := r.store.Register(r.base.Metrics()); err != nil {
		return nil, err
	}
	var screener engine.Screener
	if !r.persona.Unscreened {
		security, err := r.base.Peer(admission.Service)
		if err != nil {
			return nil, err
		}
		screener = admission.New(security)
	}
	card := Card(r.persona)
	var webhooks *push.Config
	if card.GetCapabilities().GetPushNotifications() {
		if webhooks, err = d.Config.Push.open(d.Name, env.Key, r.base.Outlets); err != nil {
			return nil, err
		}
	}
	r.engine, err = engine.New(engine.Config{
		Agent: r.persona.Agent, Store: r.store, Log: log, NATS: env.NATS, Clock: env.Clock, Logger: env.Log,
		Screener: screener, Card: card, Metrics: counts, Push: webhooks, Tracer: r.base.Tracer,
		AllowRepeatedMessageIDs: r.persona.AllowRepeatedMessageIDs,
	})
	if err != nil {
		return nil, err
	}
	if r.persona.Engine != nil {
		r.persona.Engine(r.engine)
	}
	if err := r.engine.Start(ctx); err != nil {
		return nil, err
	}
	r.bus, err = bus.Start(ctx, bus.Config{
		Persona: r.persona.Agent.Tenant, Agent: r.engine, NATS: env.NATS, Verifier: r.base.Verifier, Clock: env.Clock, Log: env.Log, Tracer: r.base.Tracer,
	})
	if err != nil {
		return nil, err
	}
	listener, err := env.Network.Listen(d.Name, d.Config.GRPC)
	if err != nil {
		return nil, err
	}
	policy := personaPolicy()
	maps.Copy(policy, r.persona.Policy)
	r.grpc = NewGRPC(r.base, policy)
	if r.persona.Services != nil {
		r.persona.Services(r.grpc)
	}
	a2apb.RegisterA2AServiceServer(r.grpc, r.engine)
	adminv1.RegisterAdminServiceServer(r.grpc, &admin{
		store: r.store, engine: r.engine, agent: d.Name, card: card, plans: r.persona.Plans, watches: r.persona.Watches, clock: env.Clock, log: env.Log,
	})
	r.health = health.NewServer()
	grpc_health_v1.RegisterHealthServer(r.grpc, r.health)
	go func() { r.failed <- r.grpc.Serve(listener) }()
	return r, r.serveHTTP(d)
}

func personaPolicy() identity.Policy {
	p := identity.Policy{}
	for _, m := range a2apb.A2AService_ServiceDesc.Methods {
		p["/"+a2apb.A2AService_ServiceDesc.ServiceName+"/"+m.MethodName] = identity.Rule{}
	}
	for _, s := range a2apb.A2AService_ServiceDesc.Streams {
		p["/"+a2apb.A2AService_ServiceDesc.ServiceName+"/"+s.StreamName] = identity.Rule{}
	}
	// People see and act through an edge; what they may is decided here and not there.
	edges := []string{identity.Gateway, identity.Console}
	seen := identity.Rule{Actors: edges, Scopes: []string{identity.Viewer, identity.Operator, identity.Auditor, identity.Admin}}
	done := identity.Rule{Actors: edges, Scopes: []string{identity.Operator, identity.Admin}}
	for m, rule := range map[string]identity.Rule{
		adminv1.AdminService_ListTasks_FullMethodName: seen, adminv1.AdminService_ListHops_FullMethodName: seen,
		adminv1.AdminService_GetTask_FullMethodName: seen, adminv1.AdminService_ListEvents_FullMethodName: seen,
		adminv1.AdminService_GetFigures_FullMethodName: seen, adminv1.AdminService_ListDeadPushes_FullMethodName: seen,
		adminv1.AdminService_ResendPush_FullMethodName: done, adminv1.AdminService_CancelTasks_FullMethodName: done,
		adminv1.AdminService_GetCard_FullMethodName: {Actors: edges}, // everybody may see it
		// The console watches for itself: it learns ids, and reads for its people what they may see.
		adminv1.AdminService_Watch_FullMethodName: {Actors: []string{identity.Console}},
		// Every service sees those tasks that it has started itself.
		adminv1.AdminService_GetStates_FullMethodName: {},
	} {
		p[m] = rule
	}
	p[grpc_health_v1.Health_Check_FullMethodName] = identity.Rule{Open: true}
	return p
}

// Lifetimes of a connection. Callers ask for the addresses of a service when they
// connect anew, so a replica that was added gets calls after connectionAge; streams
// that are open by then may stay for streamAge more.
const (
	connectionAge = 2 * time.Minute
	streamAge     = 30 * time.Minute
)

// streamWorkers serve calls; when all are busy, calls get goroutines of their own.
const streamWorkers = 32

// NewGRPC makes the gRPC server of a service: calls come over mutual TLS if the
// service has a certificate, are traced, guarded by the policy, and their errors
// mapped in one place.
func NewGRPC(b *Base, policy identity.Policy) *grpc.Server {
	guard := &identity.Guard{Verifier: b.Verifier, Policy: policy, Log: b.Log}
	transport := insecure.NewCredentials()
	if b.TLS != nil {
		transport = b.TLS.Transport("")
	}
	unary, stream := b.Tracer.Server(false)
	return grpc.NewServer(
		grpc.Creds(transport),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		// Workers keep their grown stacks; a goroutine for each call grows its own.
		grpc.NumStreamWorkers(streamWorkers),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: connectionAge, MaxConnectionAgeGrace: streamAge, Time: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(unary, fault.Unary(b.Log), guard.Unary),
		grpc.ChainStreamInterceptor(stream, fault.Stream(b.Log), guard.Stream),
	)
}

func (r *Running) serveHTTP(d Definition) error {
	if d.Config.HTTP == "" {
		return nil
	}
	listener, err := net.Listen("tcp", d.Config.HTTP)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address or stop what uses it", d.Config.HTTP, err)
	}
	ready := func(ctx context.Context) error { return Ready(ctx, r.health, r.base.DB) }
	r.http = &http.Server{Handler: Handler(r.base, ready, r.persona.HTTP), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := r.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.failed <- err
		}
	}()
	return nil
}

// Handler serves health and metrics beside a service's own paths.
func Handler(b *Base, ready func(context.Context) error, own map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+livePath, live)
	mux.Handle("GET "+readyPath, Probe(ready))
	if b.Registry != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(b.Registry, promhttp.HandlerOpts{}))
	}
	for path, h := range own {
		mux.Handle(path, h)
	}
	return mux
}

// Persona is the running persona, for processes that mount its HTTP paths elsewhere.
func (r *Running) Persona() *Persona { return r.persona }

// Failed receives when the service can no longer serve.
func (r *Running) Failed() <-chan error { return r.failed }

// Stop ends the service gracefully until ctx ends, then hard. Tasks that run are
// stored and free for another replica or the next start.
func (r *Running) Stop(ctx context.Context) error {
	if r.health != nil {
		r.health.Shutdown()
	}
	if r.engine != nil {
		r.engine.Drain()
	}
	if r.grpc != nil {
		stopped := make(chan struct{})
		go func() { r.grpc.GracefulStop(); close(stopped) }()
		select {
		case <-stopped:
		case <-ctx.Done():
			r.grpc.Stop()
		}
	}
	if r.http != nil {
		_ = r.http.Shutdown(ctx)
	}
	if r.bus != nil {
		r.bus.Stop()
	}
	if r.engine != nil {
		r.engine.Stop()
	}
	var errs []error
	if r.store != nil {
		errs = append(errs, r.store.Close(context.WithoutCancel(ctx)))
	}
	if r.persona != nil && r.persona.Close != nil {
		errs = append(errs, r.persona.Close())
	}
	if r.closeBase != nil {
		r.closeBase()
	}
	return errors.Join(errs...)
}
