// Package console is the web console: what the platform works on, live, for those
// who operate it and decide in it. It signs people in and asks the services on their
// behalf; it stores accounts, sessions and saved filters, and nothing else.
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

	"google.golang.org/grpc/health"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/oidc"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/session"
	"sabha.dev/services/console/internal/signin"
	"sabha.dev/services/console/internal/sqlstore"
	"sabha.dev/services/console/internal/web"
	"sabha.dev/services/console/migrations"
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
	people  *account.Directory
	health  *health.Server
	site    *web.Site
	addr    net.Addr
	web     []*http.Server
	failed  chan error
	closers []func()
}

// Start starts the console and returns when it serves. It does not wait for the
// services that it asks: without them it says that they cannot be reached.
func Start(ctx context.Context, c Config, env service.Env) (_ *Running, err error) {
	r := &Running{failed: make(chan error, 2), health: health.NewServer()}
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
	r.closers = append(r.closers, func() { _ = db.Close() })
	// The database is opened here, because the chassis would put task tables into it.
	own := c.Config
	own.Database, own.NATS = "", ""
	base, closeBase, err := service.OpenBase(ctx, service.Definition{Name: name, Config: own}, env)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, closeBase)
	if err := base.RegisterDatabase(db); err != nil {
		return nil, err
	}
	source, err := connect(base, c.overseen())
	if err != nil {
		return nil, err
	}
	if r.site, err = web.New(source, web.Options{Hosts: c.names(), TraceURL: c.TraceURL, Filters: sqlstore.New(db)}, base.Clock, base.Log); err != nil {
		return nil, err
	}
	gate, err := r.gate(c, base, sqlstore.New(db))
	if err != nil {
		return nil, err
	}
	r.site.OpenAccounts(gate.Accounts, gate.Own)
	if err := r.openAgents(base, c); err != nil {
		return nil, err
	}
	if err := r.openDesk(base, c); err != nil {
		return nil, err
	}
	if err := r.tellPeople(base, c); err != nil {
		return nil, err
	}
	if err := r.openPartners(base, c); err != nil {
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
	if a, ok := r.addr.(*net.TCPAddr); ok && !a.IP.IsLoopback() && !c.secure() {
		base.Log.Warn("the console is reachable beyond this machine without TLS, so passwords travel in the clear: set public_tls, or an https:// public_url when a proxy in front ends TLS", "address", a.String())
	}
	if c.PublicTLS != "" {
		folder, err := certs.OpenPublic(c.PublicTLS, base.Clock, base.Log)
		if err != nil {
			return nil, fmt.Errorf("public_tls: %w", err)
		}
		listener = folder.Web(listener, nil)
	}
	problems := slog.NewLogLogger(base.Log.Handler(), slog.LevelInfo)
	r.serve(listener, r.site.Handler(gate), problems)
	if c.HTTP != "" {
		// Without the services that it asks it is ready, and says so on its pages.
		ready := func(ctx context.Context) error { return service.Ready(ctx, r.health, db) }
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
	conn, err := base.Peer(planner)
	if err != nil {
		return nil, err
	}
	return oversight.New(clients[planner], plannerv1.NewPlannerServiceClient(conn), clients, base.Clock, base.Log), nil
}

// openDB opens what the console keeps.
func openDB(ctx context.Context, c Config, checkOnly bool) (*sqldb.DB, error) {
	if c.Database == "" {
		return nil, errNoDatabase
	}
	schema := sqldb.Schema{Service: name, Components: []sqldb.Component{{Name: name, Files: migrations.Files}}}
	return service.OpenDatabase(ctx, c.Database, schema, checkOnly)
}

// gate is what lets people in.
func (r *Running) gate(c Config, base *service.Base, store *sqlstore.Store) (*signin.Gate, error) {
	r.people = account.New(store, base.Clock)
	conf := signin.Config{
		People: r.people, Sessions: session.New(store, c.limits(), base.Clock), Guesses: store, Granter: base.Signer,
		Secure: c.secure(), Clock: base.Clock, Log: base.Log,
	}
	if c.OIDC.Set() {
		var err error
		if conf.Provider, err = oidc.New(c.OIDC, c.PublicURL, base.Clock); err != nil {
			return nil, err
		}
	}
	return signin.New(conf), nil
}

// FirstAccount makes the account of an administrator, who signs in as admin, if there
// has never been any account. It returns the password, which cannot be shown again, or
// an empty string.
func (r *Running) FirstAccount(ctx context.Context) (string, error) { return r.people.First(ctx) }

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
	r.health.Shutdown()
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
