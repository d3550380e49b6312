// Package executor is the persona that acts: it calls the tools of MCP servers
// and runs sandboxed snippets.
package executor

import (
	"context"
	"runtime"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/service"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
	"sabha.dev/services/executor/internal/a2aagent"
	"sabha.dev/services/executor/internal/desk"
	"sabha.dev/services/executor/internal/sandbox"
	"sabha.dev/services/executor/internal/sqlstore"
	"sabha.dev/services/executor/migrations"
)

// Name of the service and its tenant.
const Name = "executor"

// Config of the executor.
type Config struct {
	service.Config `yaml:",inline"`
	Sandbox        Sandbox `yaml:"sandbox"`
	// MCP are the servers whose tools are called; nil for none, and then the skill call-tool is not offered.
	MCP *MCP `yaml:"mcp"`
}

// Sandbox limits one snippet. A field that is zero has its default.
type Sandbox struct {
	// Steps of one run; default 20 million.
	Steps int64 `yaml:"steps"`
	// MemoryBytes that one run may ask for in all; default 64 MiB.
	MemoryBytes int64 `yaml:"memory_bytes"`
	// WallTime of one run; default 10s.
	WallTime time.Duration `yaml:"wall_time"`
	// OutputBytes of printed text and result together; default 256 KiB.
	OutputBytes int64 `yaml:"output_bytes"`
	// Parallel is how many snippets run at a time; default one for each processor.
	Parallel int `yaml:"parallel"`
}

// New defines the service. Nothing is started yet.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: migrations.Files,
		Build: func(ctx context.Context, b *service.Base) (*service.Persona, error) { return build(ctx, c, b) },
	}
}

func build(ctx context.Context, c Config, b *service.Base) (*service.Persona, error) {
	code, err := c.Sandbox.open(b)
	if err != nil {
		return nil, err
	}
	p := &service.Persona{Policy: desk.Policy()}
	people := &desk.Desk{}
	if b.DB != nil {
		people.Store = sqlstore.New(b.DB, b.Clock)
		people.Store.Told = tell(b)
		p.Services = func(s grpc.ServiceRegistrar) { executorv1.RegisterToolServiceServer(s, people) }
	}
	if c.MCP == nil {
		p.Agent = a2aagent.New(code, nil, b.Release)
		return p, nil
	}
	tools, err := openTools(ctx, *c.MCP, b, people.Store)
	if err != nil {
		return nil, err
	}
	people.Servers, p.Close = tools.host.Servers, tools.Close
	p.Agent = a2aagent.New(code, &a2aagent.Caller{
		Tools: tools.host, Policy: tools.policy, Outlets: tools.outlets, Clock: b.Clock,
		Review: func() (grpc.ClientConnInterface, error) { return b.Peer("review") },
	}, b.Release)
	return p, nil
}

func (s Sandbox) open(b *service.Base) (*sandbox.Sandbox, error) {
	limits := sandbox.DefaultLimits
	limits.Steps = orDefault(s.Steps, limits.Steps)
	limits.Memory = orDefault(s.MemoryBytes, limits.Memory)
	limits.WallTime = orDefault(s.WallTime, limits.WallTime)
	limits.Output = orDefault(s.OutputBytes, limits.Output)
	return sandbox.New(limits, orDefault(s.Parallel, runtime.GOMAXPROCS(0)), b.Clock)
}

func orDefault[T comparable](v, standard T) T {
	var zero T
	if v == zero {
		return standard
	}
	return v
}
