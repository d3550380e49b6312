// Package server holds the servers that the benchmarks measure, each run in a
// process of its own: ours, the Go SDK's, a raw gRPC echo, and the platform.
package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
)

// Reply is what every server answers with: 1 KiB.
var Reply = strings.Repeat("y", 1024)

// Burst is how many artifacts a task of the skill burst has.
const Burst = 50

// Agent is the agent under measure. Its task emits four events (task, working,
// artifact, completed); its message is a direct answer; its step is a task whose
// artifact is one number; its burst is a task of Burst artifacts.
func Agent(tenant string) agent.Agent {
	return agent.Agent{
		Tenant: tenant, Name: "Bench", Version: "1",
		Skills: []agent.Skill{
			{ID: "task", ReadOnly: true, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
				if err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{agent.Text(Reply)}}); err != nil {
					return agent.Outcome{}, err
				}
				return agent.Completed(), nil
			}},
			{ID: "message", Anonymous: true, Answer: func(context.Context, *agent.Request) (*a2apb.Message, error) {
				return agent.Message(agent.Text(Reply)), nil
			}},
			{ID: "burst", ReadOnly: true, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
				for range Burst {
					if err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{agent.Text(Reply)}}); err != nil {
						return agent.Outcome{}, err
					}
				}
				return agent.Completed(), nil
			}},
			{ID: "step", ReadOnly: true, Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
				part, err := agent.Data(map[string]any{"n": 1})
				if err != nil {
					return agent.Outcome{}, err
				}
				if err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{part}}); err != nil {
					return agent.Outcome{}, err
				}
				return agent.Completed(), nil
			}},
		},
	}
}

// Definition of the agent as a service. ns is the embedded NATS server, if it is known.
func Definition(tenant string, c service.Config, ns *natsserver.Server) service.Definition {
	return service.Definition{Name: tenant, Config: c, Build: func(context.Context, *service.Base) (*service.Persona, error) {
		a := Agent(tenant)
		a.Skills = append(a.Skills, statsSkill(ns), tickSkill, askSkill)
		return &service.Persona{Agent: a, Unscreened: true}, nil
	}}
}

// Ours serves the agent at a persona's port: durable tasks in SQLite, or in the
// PostgreSQL database whose URL sync is, events in a JetStream file store, service
// tokens and audit rows on. It returns when ctx ends.
func Ours(ctx context.Context, dir, address, sync string, ready func()) error {
	ns, err := natsserver.NewServer(&natsserver.Options{DontListen: true, JetStream: true, StoreDir: filepath.Join(dir, "nats"), NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	ns.Start()
	defer func() { ns.Shutdown(); ns.WaitForShutdown() }()
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return err
	}
	defer nc.Close()
	keys, err := identity.LoadKeyring(filepath.Join(dir, "keys"))
	if err != nil {
		return err
	}
	key, err := identity.LoadKey(filepath.Join(dir, "keys", "bench.key"))
	if err != nil {
		return err
	}
	database := sync
	if !strings.HasPrefix(sync, "postgres://") {
		database = "sqlite:" + filepath.Join(dir, "bench.db") + "?sync=" + sync
	}
	r, err := service.Start(ctx, Definition("bench", service.Config{
		GRPC: address, Database: database, Push: service.Push{Allow: []string{"127.0.0.0/8"}},
	}, ns), service.Env{
		Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), NATS: nc, Key: key, Keys: keys, Network: service.TCP{}, Exclusive: true,
	})
	if err != nil {
		return err
	}
	ready()
	select {
	case <-ctx.Done():
	case err = <-r.Failed():
	}
	if serr := r.Stop(context.WithoutCancel(ctx)); err == nil {
		err = serr
	}
	return err
}
