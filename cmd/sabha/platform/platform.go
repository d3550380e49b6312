// Package platform is every service of Sabha in one process: connections in
// memory, an embedded NATS server, SQLite files in one folder. The services do
// not know.
package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/console"
	"sabha.dev/services/executor"
	"sabha.dev/services/gateway"
	"sabha.dev/services/memory"
	"sabha.dev/services/partners"
	"sabha.dev/services/planner"
	"sabha.dev/services/research"
	"sabha.dev/services/review"
	"sabha.dev/services/security"
	"sabha.dev/services/validator"
)

// Services that sign with keys of their own, in the order in which they start.
var Services = []string{security.Name, memory.Name, executor.Name, validator.Name, research.Name, review.Name, partners.Name, planner.Name, identity.Gateway, "console"}

// Options of a platform.
type Options struct {
	// Data is the folder for databases, event log and keys; made when missing.
	Data string
	// Docs is a folder of documents that research answers from; empty for none.
	Docs string
	// Playbooks is a folder of playbooks beside the shipped ones; empty for none.
	Playbooks string
	// ReviewPolicy is a file that says who decides on what until when; empty for the
	// policy that is shipped.
	ReviewPolicy string
	// Thresholds is a file that says how sure the validator must be, by product and risk;
	// empty for one threshold of 0.7.
	Thresholds string
	// Agreements is the folder of the operating agreements with partners; empty for none.
	Agreements string
	// HTTP and GRPC are the public addresses; port 0 takes a free one.
	HTTP, GRPC string
	// RateLimit bounds callers; zero fields are the defaults of the gateway.
	RateLimit gateway.RateLimit
	// KAP says what is offered to agents that speak KAP; without capabilities it is one
	// that asks the planner. It is always on.
	KAP gateway.KAP
	// Console is the address of the web console; loopback when it names no host.
	Console string
	// ConsoleSettings is a file with what else is said of the console, as
	// console.Config.ReadSettings takes it; empty for none.
	ConsoleSettings string
	// PublicURL is the address that clients reach, for cards; empty means the one of HTTP.
	PublicURL string
	// Database is the URL of a PostgreSQL database in which each service has a schema of
	// its own name, made when missing; empty for SQLite files in Data.
	Database string
	// NATS are servers to use, URLs separated by commas; empty for one in this process.
	NATS string
	// PublicTLS is the folder with tls.crt and tls.key that the public ports and the
	// console serve TLS with; empty for plain text.
	PublicTLS string
	// Sync is the durability of SQLite commits: "full" (also when empty) or "normal".
	Sync string
	// PushAllow opens networks that webhooks may be in beside the public ones, as CIDRs.
	PushAllow []string
	// Model writes answers; empty for none.
	Model planner.Model
	// MCP are the servers whose tools the executor calls; nil for none.
	MCP *executor.MCP
	// Embeddings is a model that makes the vectors of documents; zero for the built-in ones.
	Embeddings research.Embeddings
	// OTLP is the URL of a collector for spans; empty for none. TraceRatio as in service.Config.
	OTLP       string
	TraceRatio *float64
	// Agents beyond the personas, and further services to run, by name. For tests and benchmarks.
	Agents map[string][]string
	Extra  []service.Definition
	// Tenants are further personas that clients may call directly.
	Tenants []string
	// Clock, when nil, is the machine's.
	Clock clock.Clock
	Log   *slog.Logger
}

// Platform is a running platform.
type Platform struct {
	options  Options
	lock     *os.File
	nats     *embedded
	keys     identity.Keyring
	network  *service.Memory
	registry *prometheus.Registry
	release  string
	gateway  *gateway.Running
	console  *console.Running
	started  []stopper

	failed  chan error
	stopped chan struct{}

	// FirstKey is the API key that was made because there was none; empty otherwise.
	FirstKey string
	// FirstPassword is that of the console's account admin, which was made because there
	// was none; empty otherwise.
	FirstPassword string
}

type stopper interface {
	Stop(context.Context) error
	Failed() <-chan error
}

// Start starts everything and returns when it serves.
func Start(ctx context.Context, o Options) (_ *Platform, err error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	p := &Platform{options: o, network: service.NewMemory(), registry: prometheus.NewRegistry(), release: service.Release(), failed: make(chan error, 1), stopped: make(chan struct{})}
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := checkFolder(o.Docs, "documents"); err != nil {
		return nil, err
	}
	if err := checkFolder(o.Playbooks, "playbooks"); err != nil {
		return nil, err
	}
	if err := checkDatabase(o.Database); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Data, 0o750); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if p.lock, err = lockFolder(o.Data); err != nil {
		return nil, err
	}
	keyDir := filepath.Join(o.Data, "keys")
	names := append([]string(nil), Services...)
	for _, d := range o.Extra {
		names = append(names, d.Name)
	}
	if err := identity.MakeKeys(keyDir, names...); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if p.keys, err = identity.LoadKeyring(keyDir); err != nil {
		return nil, err
	}
	if o.NATS == "" {
		if p.nats, err = startNATS(filepath.Join(o.Data, "nats")); err != nil {
			return nil, err
		}
	}
	if err := p.makeSchemas(ctx, names); err != nil {
		return nil, err
	}
	if err := p.startServices(ctx); err != nil {
		return nil, err
	}
	p.watch()
	return p, nil
}

// Failed receives when a service can no longer serve.
func (p *Platform) Failed() <-chan error { return p.failed }

// watch brings the failures of all services together.
func (p *Platform) watch() {
	for _, s := range p.started {
		go func() {
			select {
			case err := <-s.Failed():
				select {
				case p.failed <- err:
				default:
				}
			case <-p.stopped:
			}
		}()
	}
}

func checkFolder(dir, what string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the %s folder %s does not exist; make it or name another", what, dir)
	}
	if err != nil {
		return fmt.Errorf("the %s folder: %w", what, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the %s folder %s is a file; name the folder that holds it", what, dir)
	}
	return nil
}

// env of a service in this process.
func (p *Platform) env(name string) (service.Env, error) {
	key, err := identity.LoadKey(filepath.Join(p.options.Data, "keys", name+".key"))
	if err != nil {
		return service.Env{}, err
	}
	var nc *nats.Conn // nil: the service connects to the servers of its configuration
	if p.nats != nil {
		if nc, err = p.nats.connect(name); err != nil {
			return service.Env{}, err
		}
	}
	return service.Env{
		Clock: p.options.Clock, Log: p.options.Log, Registry: p.registry, NATS: nc, Key: key, Keys: p.keys, Network: p.network,
		// The data folder belongs to this process, a database of its own may serve several.
		Exclusive: p.options.Database == "", Release: p.release,
	}, nil
}

// startServices starts everything that serves. The console needs nobody to start, and
// the first time it works on a password meanwhile.
func (p *Platform) startServices(ctx context.Context) error {
	var console error
	var wg sync.WaitGroup
	wg.Go(func() { console = p.startConsole(ctx) })
	err := p.startPersonas(ctx)
	if err == nil {
		err = p.startGateway(ctx)
	}
	wg.Wait()
	if p.console != nil {
		p.started = append(p.started, p.console)
	}
	return errors.Join(err, console)
}

// startPersonas starts the personas side by side: most of a start is waiting for
// the disk.
func (p *Platform) startPersonas(ctx context.Context) error {
	definitions := append([]service.Definition{
		security.New(security.Config{Config: p.config(security.Name)}),
		memory.New(memory.Config{Config: p.config(memory.Name)}),
		executor.New(executor.Config{Config: p.config(executor.Name), MCP: p.options.MCP}),
		validator.New(validator.Config{Config: p.config(validator.Name), Policy: p.options.Thresholds}),
		research.New(research.Config{Config: p.config(research.Name), Documents: p.options.Docs, Embeddings: p.options.Embeddings}),
		review.New(review.Config{Config: p.config(review.Name), Policy: p.options.ReviewPolicy}),
		partners.New(partners.Config{Config: p.config(partners.Name), Agreements: p.options.Agreements, Callback: p.options.PublicURL}),
		planner.New(planner.Config{Config: p.config(planner.Name), Playbooks: p.options.Playbooks, Model: p.options.Model, Agents: p.options.Agents}),
	}, p.options.Extra...)
	running := make([]*service.Running, len(definitions))
	errs := make([]error, len(definitions))
	var wg sync.WaitGroup
	for i, d := range definitions {
		if d.Config.Database == "" {
			d.Config = p.config(d.Name)
		}
		wg.Go(func() {
			env, err := p.env(d.Name)
			if err != nil {
				errs[i] = err
				return
			}
			running[i], errs[i] = service.Start(ctx, d, env)
		})
	}
	wg.Wait()
	for _, r := range running {
		if r != nil {
			p.started = append(p.started, r)
		}
	}
	return errors.Join(errs...)
}

// Stop stops everything, the edge first. What runs is stored and goes on at the
// next start.
func (p *Platform) Stop(ctx context.Context) error {
	select {
	case <-p.stopped:
		return nil
	default:
		close(p.stopped)
	}
	var errs []error
	for i := len(p.started) - 1; i >= 0; i-- {
		errs = append(errs, p.started[i].Stop(ctx))
	}
	if p.nats != nil {
		p.nats.stop()
	}
	if p.lock != nil {
		errs = append(errs, p.lock.Close())
	}
	return errors.Join(errs...)
}
