// Package console is the web console: what the platform works on, live, for its
// operators. It shows; it changes nothing and stores nothing.
package console

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/web"
)

// Bounds of an HTTP connection.
const (
	headerWithin = 10 * time.Second
	answerWithin = 30 * time.Second
	idleWithin   = 2 * time.Minute
	maxHeader    = 32 << 10
)

// Running is a started console.
type Running struct {
	site    *web.Site
	addr    net.Addr
	web     []*http.Server
	failed  chan error
	closers []func()
}

// Start starts the console and returns when it serves. It does not wait for the
// services that it asks: without them it says that they cannot be reached.
func Start(ctx context.Context, c Config, env service.Env) (_ *Running, err error) {
	r := &Running{failed: make(chan error, 2)}
	defer func() {
		if err != nil {
			r.release()
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	if err := c.wrong(); err != nil {
		return nil, err
	}
	own := c.Config
	own.Database, own.NATS = "", ""
	base, closeBase, err := service.OpenBase(ctx, service.Definition{Name: name, Config: own}, env)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, closeBase)
	source, err := connect(base, c.overseen())
	if err != nil {
		return nil, err
	}
	if r.site, err = web.New(source, c.Hosts, base.Clock, base.Log); err != nil {
		return nil, err
	}
	if err := r.openDesk(base, c); err != nil {
		return nil, err
	}
	if err := r.follow(base, c); err != nil {
		return nil, err
	}
	listener, err := r.listen("address", c.listen())
	if err != nil {
		return nil, err
	}
	r.addr = listener.Addr()
	if a, ok := r.addr.(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		base.Log.Warn("the console asks nobody who they are and is reachable beyond this machine: see that only operators reach it", "address", a.String())
	}
	if c.PublicTLS != "" {
		folder, err := certs.OpenPublic(c.PublicTLS, base.Clock, base.Log)
		if err != nil {
			return nil, fmt.Errorf("public_tls: %w", err)
		}
		listener = folder.Web(listener)
	}
	problems := slog.NewLogLogger(base.Log.Handler(), slog.LevelInfo)
	r.serve(listener, r.site.Handler(), problems)
	if c.HTTP != "" {
		// It is ready while it serves: without the services that it asks it says so.
		ready := func(context.Context) error { return nil }
		private, err := r.listen("http", c.HTTP)
		if err != nil {
			return nil, err
		}
		r.serve(private, service.Handler(base, ready, nil), problems)
	}
	return r, nil
}

// connect opens the connections to the services that record calls.
func connect(base *service.Base, overseen []string) (*oversight.Source, error) {
	clients := map[string]adminv1.AdminServiceClient{}
	for _, s := range overseen {
		conn, err := base.Peer(s)
		if err != nil {
			return nil, err
		}
		clients[s] = adminv1.NewAdminServiceClient(conn)
	}
	if clients[planner] == nil {
		return nil, errors.New("peers.planner is missing: the gRPC address of the planner")
	}
	// Until people sign in, the console asks in its own name.
	grant, err := base.Signer.Grant(identity.Principal{Subject: name, Scopes: []string{identity.Viewer}})
	if err != nil {
		return nil, err
	}
	source := oversight.New(clients[planner], clients, base.Log)
	source.As = identity.Call{Grant: grant}
	return source, nil
}

func (r *Running) listen(field, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s %q: %w; choose another address or stop what uses it", field, address, err)
	}
	r.closers = append(r.closers, func() { _ = l.Close() })
	return l, nil
}

func (r *Running) serve(l net.Listener, h http.Handler, problems *log.Logger) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin, MaxHeaderBytes: maxHeader, ErrorLog: problems}
	r.web = append(r.web, s)
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.failed <- err
		}
	}()
}

// Addr is the address of the console.
func (r *Running) Addr() string { return r.addr.String() }

// Failed receives when a port can no longer be served.
func (r *Running) Failed() <-chan error { return r.failed }

// Stop ends the console: streams at once, pages gracefully until ctx ends.
func (r *Running) Stop(ctx context.Context) error {
	r.site.Stop()
	var errs []error
	for _, s := range r.web {
		errs = append(errs, s.Shutdown(ctx))
	}
	r.release()
	return errors.Join(errs...)
}

// release lets everything go, in the opposite order of its opening.
func (r *Running) release() {
	for _, s := range r.web {
		_ = s.Close()
	}
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i]()
	}
	r.closers = nil
}
