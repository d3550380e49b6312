// Package executor is the persona that acts: it calls the tools of an MCP server
// and runs sandboxed snippets.
package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/service"
	"sabha.dev/services/executor/internal/a2aagent"
	"sabha.dev/services/executor/internal/sandbox"
	"sabha.dev/services/executor/internal/toolhost"
)

// Name of the service and its tenant.
const Name = "executor"

// Config of the executor.
type Config struct {
	service.Config `yaml:",inline"`
	Sandbox        Sandbox `yaml:"sandbox"`
	// MCP is the server whose tools are called; nil for none, and then the skill call-tool is not offered.
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

// MCP says how to run the server that offers the tools. It speaks over standard
// input and output.
type MCP struct {
	// Command is the program and its arguments.
	Command []string `yaml:"command"`
	// Env are its variables by name; of this process's environment it gets PATH only.
	Env map[string]string `yaml:"env"`
	// SecretFiles are variables whose values are read from files, by name.
	SecretFiles map[string]string `yaml:"secret_files"`
	// Dir is its working directory.
	Dir string `yaml:"dir"`
	// StartTimeout bounds its start; default 30s. CallTimeout bounds one call; default 60s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	CallTimeout  time.Duration `yaml:"call_timeout"`
	// MaxMessageBytes is the longest message taken from it; default 4 MiB.
	MaxMessageBytes int `yaml:"max_message_bytes"`
}

// New defines the service. Nothing is started yet.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config,
		Build: func(_ context.Context, b *service.Base) (*service.Persona, error) { return build(c, b) },
	}
}

func build(c Config, b *service.Base) (*service.Persona, error) {
	code, err := c.Sandbox.open(b)
	if err != nil {
		return nil, err
	}
	if c.MCP == nil {
		return &service.Persona{Agent: a2aagent.New(code, nil, b.Release)}, nil
	}
	config, err := c.MCP.host()
	if err != nil {
		return nil, err
	}
	host, err := toolhost.New(config, b.Log)
	if err != nil {
		return nil, err
	}
	return &service.Persona{Agent: a2aagent.New(code, host, b.Release), Close: host.Close}, nil
}

func (s Sandbox) open(b *service.Base) (*sandbox.Sandbox, error) {
	limits := sandbox.DefaultLimits
	limits.Steps = orDefault(s.Steps, limits.Steps)
	limits.Memory = orDefault(s.MemoryBytes, limits.Memory)
	limits.WallTime = orDefault(s.WallTime, limits.WallTime)
	limits.Output = orDefault(s.OutputBytes, limits.Output)
	return sandbox.New(limits, orDefault(s.Parallel, runtime.GOMAXPROCS(0)), b.Clock)
}

// host reads the secrets and fills in the defaults.
func (m MCP) host() (toolhost.Config, error) {
	c := toolhost.Config{
		Command: m.Command, Dir: m.Dir,
		StartTimeout: orDefault(m.StartTimeout, 30*time.Second), CallTimeout: orDefault(m.CallTimeout, time.Minute),
		MaxMessage: orDefault(m.MaxMessageBytes, 4<<20),
	}
	var errs []error
	for name, value := range m.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	for name, file := range m.SecretFiles {
		if _, twice := m.Env[name]; twice {
			errs = append(errs, fmt.Errorf("mcp: %s is both under env and under secret_files", name))
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("mcp: secret %s: %w", name, err))
			continue
		}
		c.Env = append(c.Env, name+"="+strings.TrimSpace(string(raw)))
	}
	slices.Sort(c.Env)
	return c, errors.Join(errs...)
}

func orDefault[T comparable](v, standard T) T {
	var zero T
	if v == zero {
		return standard
	}
	return v
}
