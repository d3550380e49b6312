// Package fleet runs the platform as a deployment of processes that can be killed:
// two replicas of every service, one PostgreSQL server with a schema for each, and
// a NATS cluster of three, on free ports of the loopback interface.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/chassis/identity"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/postgrestest"
)

// Options of a fleet.
type Options struct {
	// Dir takes configuration, logs and data; it must exist.
	Dir string
	// Bin holds the programs that make build has built, and nats-server.
	Bin string
	// Shipped is the folder of the shipped configuration, deploy/config.
	Shipped string
	// Docs are the documents to answer from.
	Docs string
	// Playbooks by file name, beside the shipped ones.
	Playbooks map[string]string
	// Agents are services of the test's own.
	Agents []Agent
	// Settings by service and key are laid over the shipped ones.
	Settings map[string]map[string]any
}

// Agent is a service of the test's own.
type Agent struct {
	Name string
	// Command runs it, with serve or migrate and -config FILE added.
	Command []string
	// Skills that playbooks call.
	Skills []string
	// Settings of its configuration, beside those of every service.
	Settings map[string]any
}

// Services of the platform, in the order in which they start.
var Services = []string{"security", "memory", "executor", "validator", "research", "review", "partners", "planner", "gateway", "console"}

// Gateway is where clients reach one replica of the gateway.
type Gateway struct{ GRPC, HTTP string }

// Fleet is a running deployment.
type Fleet struct {
	Options
	Postgres *postgrestest.Server
	// Database is the URL of the database with a schema for each service.
	Database  string
	NATS      []*Process
	NC        *nats.Conn
	JetStream jetstream.JetStream
	// Replicas of each service.
	Replicas map[string][]*Process
	Gateways []Gateway
	// Key is an API key of an operator.
	Key string

	dir      string
	launcher *launcher
	ports    []int
	natsURL  string
	configs  map[string][]string // files by service
}

// Start brings a deployment up and returns when every process is healthy.
func Start(ctx context.Context, o Options) (_ *Fleet, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	f := &Fleet{Options: o, dir: dir, launcher: newLauncher(), Replicas: map[string][]*Process{}, configs: map[string][]string{}}
	defer func() {
		if err != nil {
			f.Stop()
		}
	}()
	if f.ports, err = freeport.Find(3*nodes + 2*4*(len(Services)+len(o.Agents))); err != nil {
		return nil, err
	}
	for _, d := range []string{"config", "log", "playbooks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o750); err != nil {
			return nil, err
		}
	}
	for name, text := range o.Playbooks {
		if err := os.WriteFile(filepath.Join(dir, "playbooks", name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if err := f.startPostgres(ctx); err != nil {
		return nil, err
	}
	if err := f.planNATS(); err != nil {
		return nil, err
	}
	if err := identity.MakeKeys(filepath.Join(dir, "keys"), f.services()...); err != nil {
		return nil, err
	}
	if err := f.configure(); err != nil {
		return nil, err
	}
	if err := f.startNATS(ctx); err != nil {
		return nil, err
	}
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	for _, p := range f.Processes() {
		if err := p.Start(); err != nil {
			return nil, err
		}
	}
	for _, p := range f.Processes() {
		if err := p.Healthy(ctx); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// services are all of them, those of the test first, so that who calls them finds them.
func (f *Fleet) services() []string {
	var names []string
	for _, a := range f.Agents {
		names = append(names, a.Name)
	}
	return append(names, Services...)
}

// Processes are all replicas of all services, in the order of their start.
func (f *Fleet) Processes() []*Process {
	var all []*Process
	for _, s := range f.services() {
		all = append(all, f.Replicas[s]...)
	}
	return all
}

func (f *Fleet) startPostgres(ctx context.Context) (err error) {
	if f.Postgres, err = postgrestest.Run(); err != nil {
		return err
	}
	if f.Database, err = f.Postgres.Database(ctx); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, f.Database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range f.services() {
		if _, err := conn.Exec(ctx, "CREATE SCHEMA "+s); err != nil {
			return fmt.Errorf("schema of %s: %w", s, err)
		}
	}
	return nil
}

// prepare brings every database up to date and makes the API key.
func (f *Fleet) prepare(ctx context.Context) error {
	for _, s := range f.services() {
		if _, err := f.run(ctx, append(f.command(s), "migrate", "-config", f.configs[s][0])...); err != nil {
			return err
		}
	}
	key, err := f.run(ctx, f.program("gateway"), "keys", "create", "-config", f.configs["gateway"][0], "-subject", "chaos", "-scopes", "operator,auditor")
	f.Key = strings.TrimSpace(key)
	return err
}

// command is the program of a service.
func (f *Fleet) command(service string) []string {
	for _, a := range f.Agents {
		if a.Name == service {
			return slices.Clone(a.Command)
		}
	}
	return []string{f.program(service)}
}

// run runs a command to its end and gives what it printed on standard output.
func (f *Fleet) run(ctx context.Context, command ...string) (string, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = f.dir
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, exit.Stderr)
	}
	return string(out), err
}

func (f *Fleet) program(name string) string {
	path, err := filepath.Abs(filepath.Join(f.Bin, name))
	if err != nil {
		return name
	}
	return path
}

func (f *Fleet) process(service, name, http string, command ...string) *Process {
	return &Process{Service: service, Name: name, HTTP: http, launcher: f.launcher, dir: f.dir, command: command, health: "/healthz"}
}

// Stop ends everything: services in good order, then NATS, then PostgreSQL.
func (f *Fleet) Stop() {
	for _, group := range [][]*Process{f.Processes(), f.NATS} {
		var wait sync.WaitGroup
		for _, p := range group {
			wait.Go(func() {
				p.Signal(syscall.SIGCONT)
				p.End(syscall.SIGTERM)
			})
		}
		wait.Wait()
	}
	if f.NC != nil {
		f.NC.Close()
	}
	if f.Postgres != nil {
		_ = f.Postgres.Close()
	}
	f.launcher.close()
}
