package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/trace"
)

// Base is what a service stands on while it is built and while it runs.
type Base struct {
	Env
	Name   string
	Config Config
	// DB is the service's database, up to date. nil when it has none.
	DB *sqldb.DB
	// Tracer makes the spans of the service; nil makes none.
	Tracer *trace.Tracer
	// Outlets opens the ways out to models, tools and pages.
	Outlets *outlet.Outlets
	// Replica names this process among those of the service.
	Replica  string
	Signer   *identity.Signer
	Verifier *identity.Verifier

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

// Peer is the connection to another service. Every call on it carries a token of
// this service and the trace. The base closes it.
func (b *Base) Peer(service string) (*grpc.ClientConn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.conns[service]; ok {
		return c, nil
	}
	target, opts, err := b.Network.Dial(service, b.Config.Peers[service])
	if err != nil {
		return nil, err
	}
	if b.TLS != nil {
		opts = append(opts, grpc.WithTransportCredentials(b.TLS.Transport(service)))
	}
	opts = append(opts, b.Signer.Dial(service)...)
	opts = append(opts, trace.Dial()...)
	// A peer that comes back is found within seconds, not within gRPC's two minutes.
	retry := backoff.DefaultConfig
	retry.BaseDelay, retry.MaxDelay = 100*time.Millisecond, 3*time.Second
	opts = append(opts, grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: 5 * time.Second}))
	// One that hangs is left when its lease runs out, not when TCP gives up.
	opts = append(opts, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}))
	opts = append(opts, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	c, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", service, err)
	}
	b.conns[service] = c
	return c, nil
}

// maxMessage bounds a gRPC message, bytes: a task with its artifacts.
const maxMessage = 16 << 20

func newBase(name string, c Config, e Env) (*Base, error) {
	signer, err := identity.NewSigner(name, e.Key, e.Clock)
	if err != nil {
		return nil, err
	}
	return &Base{
		Env: e, Name: name, Config: c, Replica: name + "-" + uuid.NewString(), Signer: signer, Verifier: identity.NewVerifier(name, e.Keys, e.Clock),
		conns: map[string]*grpc.ClientConn{},
	}, nil
}

// OpenBase opens what a service stands on: it connects the environment, opens the
// database and makes the service's identity. The function it returns releases all
// of it.
func OpenBase(ctx context.Context, d Definition, env Env) (*Base, func(), error) {
	env.Log = slog.New(trace.Logs(env.Log.Handler())).With("service", d.Name)
	disconnect, err := env.connect(d.Name, d.Config)
	if err != nil {
		return nil, nil, err
	}
	b, err := newBase(d.Name, d.Config, env)
	if err != nil {
		disconnect()
		return nil, nil, err
	}
	b.Log = b.Log.With("replica", b.Replica)
	release := func() { b.close(); disconnect() }
	if b.Tracer, err = trace.Open(ctx, trace.Export{
		Endpoint: d.Config.OTLP, Ratio: d.Config.TraceRatio, Service: b.Name, Replica: b.Replica, Version: env.Release, Metrics: b.Metrics(),
	}); err == nil && d.Config.Database != "" {
		b.DB, err = OpenDatabase(ctx, d.Config.Database, d.schema(), env.CheckSchema)
	}
	if err == nil && b.DB != nil {
		err = b.RegisterDatabase(b.DB)
	}
	if err == nil {
		b.Outlets, err = outlet.New(b.Log, b.Metrics())
	}
	if err = errors.Join(err, b.register()); err != nil {
		release()
		return nil, nil, err
	}
	return b, release, nil
}

// flushWithin bounds how long a stop waits for the collector of spans.
const flushWithin = 3 * time.Second

func (b *Base) close() {
	flush, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := b.Tracer.Close(flush); err != nil {
		b.Log.Warn("the last spans were not sent", "error", err)
	}
	for _, c := range b.conns {
		_ = c.Close()
	}
	if b.DB != nil {
		_ = b.DB.Close()
	}
}
