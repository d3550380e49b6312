package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/gateway"
)

// front is the service whose place at the gateway's root the agent takes.
const front = "planner"

// natsWithin bounds the start of the embedded NATS server.
const natsWithin = 10 * time.Second

// options of a system: its addresses, the folder that its files go into, and
// which card the agent has.
type options struct {
	http, grpc, dir, card string
	clock                 clock.Clock
	log                   *slog.Logger
}

// system is the agent, the gateway before it, and the fronts before that.
type system struct {
	// http is the base URL of the agent, grpc its host:port.
	http, grpc string
	failed     chan error
	closers    []func(context.Context) error
}

func start(ctx context.Context, o options) (_ *system, err error) {
	s := &system{failed: make(chan error, 2)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop(ctx))
		}
	}()
	httpListener, err := s.listen(o.http)
	if err != nil {
		return nil, err
	}
	grpcListener, err := s.listen(o.grpc)
	if err != nil {
		return nil, err
	}
	s.http, s.grpc = "http://"+httpListener.Addr().String(), grpcListener.Addr().String()
	bus, err := s.startNATS(filepath.Join(o.dir, "nats"))
	if err != nil {
		return nil, err
	}
	env := service.Env{
		Clock: o.clock, Log: o.log, NATS: bus, Keys: identity.Keyring{}, Network: service.NewMemory(), Exclusive: true, Release: "tck",
	}
	private := map[string]ed25519.PrivateKey{}
	for _, name := range []string{identity.Gateway, front} {
		if env.Keys[name], private[name], err = ed25519.GenerateKey(nil); err != nil {
			return nil, err
		}
	}
	env.Key = private[front]
	running, err := service.Start(ctx, service.Definition{
		Name: front, Config: service.Config{
			Database: "sqlite:" + filepath.Join(o.dir, "agent.db"),
			Push:     service.Push{Allow: []string{"127.0.0.0/8"}}, // where the kit listens
		},
		Build: func(context.Context, *service.Base) (*service.Persona, error) { return persona(o.card, o.clock) },
	}, env)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, running.Stop)
	env.Key = private[identity.Gateway]
	unlimited := gateway.Limit{PerSecond: 1e6, Burst: 1e6}
	edge, err := gateway.Start(ctx, gateway.Config{
		Config: service.Config{
			Database: "sqlite:" + filepath.Join(o.dir, "gateway.db"),
			// The network is in memory; a peer only has to be named.
			Peers: map[string]string{front: front},
		},
		PublicGRPC: "127.0.0.1:0", PublicHTTP: "127.0.0.1:0", PublicURL: s.http, PublicGRPCAddress: s.grpc,
		Tenants: []string{}, CurrentOnly: true, RateLimit: gateway.RateLimit{Caller: unlimited, Anonymous: unlimited},
	}, env)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, edge.Stop)
	key, err := edge.FirstKey(ctx)
	if err != nil {
		return nil, err
	}
	s.serve(newFront(edge.HTTPAddr(), key, false, o.log), httpListener)
	s.serve(newFront(edge.GRPCAddr(), key, true, o.log), grpcListener)
	return s, nil
}

func (s *system) listen(address string) (net.Listener, error) {
	l, err := listen(address)
	if err == nil {
		s.closers = append(s.closers, func(context.Context) error { _ = l.Close(); return nil })
	}
	return l, err
}

func (s *system) serve(front *http.Server, l net.Listener) {
	go func() {
		if err := front.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	s.closers = append(s.closers, func(context.Context) error { return front.Close() })
}

// startNATS starts a NATS server inside this process, on no port, and connects to it.
func (s *system) startNATS(dir string) (*nats.Conn, error) {
	bus, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	bus.Start()
	s.closers = append(s.closers, func(context.Context) error { bus.Shutdown(); bus.WaitForShutdown(); return nil })
	if !bus.ReadyForConnections(natsWithin) {
		return nil, errors.New("the embedded NATS server did not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(bus))
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	s.closers = append(s.closers, func(context.Context) error { conn.Close(); return nil })
	return conn, nil
}

// stop ends everything, in the opposite order of its start.
func (s *system) stop(ctx context.Context) error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i](ctx))
	}
	s.closers = nil
	return errors.Join(errs...)
}
