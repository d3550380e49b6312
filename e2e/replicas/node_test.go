package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/platform"
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

// personas behind the gateway, the test's own agent among them.
var personas = []string{security.Name, memory.Name, executor.Name, validator.Name, research.Name, review.Name, partners.Name, planner.Name, workerName}

// plan of a node: one of each service, that shares its databases and NATS with the
// other nodes.
type plan struct {
	Index int
	// Dir holds keys, playbooks and what workers write.
	Dir  string
	NATS string
	// Databases by service.
	Databases map[string]string
	// Addresses of each persona on each node, "GRPC" and "HTTP" those of the gateways.
	Addresses map[string][]string
}

// node is a started plan.
type node struct {
	gateway  *gateway.Running
	personas []*service.Running
	nats     *nats.Conn
}

func (p plan) config(name string) service.Config {
	c := service.Config{Database: p.Databases[name], Peers: map[string]string{}}
	for _, peer := range personas {
		c.Peers[peer] = strings.Join(p.Addresses[peer], ",")
	}
	if list := p.Addresses[name]; list != nil {
		c.GRPC = list[p.Index]
	}
	return c
}

// start starts the services of a node and returns when they serve.
func (p plan) start(ctx context.Context, log io.Writer) (_ *node, err error) {
	n := &node{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.stop(ctx))
		}
	}()
	ring, err := identity.LoadKeyring(filepath.Join(p.Dir, "keys"))
	if err != nil {
		return nil, err
	}
	n.nats, err = nats.Connect(p.NATS, nats.MaxReconnects(-1))
	if err != nil {
		return nil, err
	}
	env := func(name string) (service.Env, error) {
		key, err := identity.LoadKey(filepath.Join(p.Dir, "keys", name+".key"))
		return service.Env{
			Clock: clock.System{}, NATS: n.nats, Key: key, Keys: ring, Network: service.TCP{}, Release: "test",
			Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})).With("node", p.Index),
		}, err
	}
	for _, d := range []service.Definition{
		security.New(security.Config{Config: p.config(security.Name)}),
		memory.New(memory.Config{Config: p.config(memory.Name)}),
		executor.New(executor.Config{Config: p.config(executor.Name)}),
		validator.New(validator.Config{Config: p.config(validator.Name)}),
		research.New(research.Config{Config: p.config(research.Name)}),
		review.New(review.Config{Config: p.config(review.Name)}),
		partners.New(partners.Config{Config: p.config(partners.Name)}),
		worker{dir: p.Dir, node: p.Index}.definition(p.config(workerName)),
		planner.New(planner.Config{Config: p.config(planner.Name), Playbooks: filepath.Join(p.Dir, "playbooks"), Agents: map[string][]string{workerName: {"do"}}}),
	} {
		e, err := env(d.Name)
		if err != nil {
			return n, err
		}
		r, err := service.Start(ctx, d, e)
		if err != nil {
			return n, err
		}
		n.personas = append(n.personas, r)
	}
	e, err := env(identity.Gateway)
	if err != nil {
		return n, err
	}
	unlimited := gateway.Limit{PerSecond: 1e6, Burst: 1e6}
	n.gateway, err = gateway.Start(ctx, gateway.Config{
		Config: p.config(identity.Gateway), PublicGRPC: p.Addresses["GRPC"][p.Index], PublicHTTP: p.Addresses["HTTP"][p.Index],
		RateLimit: gateway.RateLimit{Caller: unlimited, Anonymous: unlimited}, Tenants: []string{workerName},
	}, e)
	if err != nil {
		return n, err
	}
	key, err := n.gateway.FirstKey(ctx)
	if err == nil && key != "" {
		err = os.WriteFile(filepath.Join(p.Dir, "key"), []byte(key), 0o600)
	}
	return n, err
}

// stop has the node leave in order, its gateway first.
func (n *node) stop(ctx context.Context) error {
	var errs []error
	if n.gateway != nil {
		errs = append(errs, n.gateway.Stop(ctx))
	}
	for i := len(n.personas) - 1; i >= 0; i-- {
		errs = append(errs, n.personas[i].Stop(ctx))
	}
	if n.nats != nil {
		n.nats.Close()
	}
	return errors.Join(errs...)
}

// makeKeys makes the keys of every service.
func makeKeys(dir string) error {
	return identity.MakeKeys(filepath.Join(dir, "keys"), append([]string{workerName}, platform.Services...)...)
}

// playbooks name the verb that their step has the worker do.
func writePlaybooks(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "playbooks"), 0o750); err != nil {
		return err
	}
	for _, verb := range []string{quick, hold, ask} {
		text := fmt.Sprintf(`playbook: %[1]s
version: 1
description: The worker is told to %[1]s.
budget: 10m
steps:
  - {id: a, agent: worker, skill: do, budget: 5m, inputs: {do: %[1]s}}
  - {id: b, agent: worker, skill: do, budget: 5m, needs: [a], inputs: {do: quick}}
output: {text: "= steps.a.output.text"}
`, verb)
		if err := os.WriteFile(filepath.Join(dir, "playbooks", verb+".yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// address on the loopback interface.
func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
