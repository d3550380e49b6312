package executor

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/service"
)

func base() *service.Base {
	return &service.Base{Env: service.Env{Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Release: "9"}}
}

// load reads a configuration as the command does.
func load(t *testing.T, text string) (Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "executor.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c Config
	err := service.Load(file, &c)
	return c, err
}

func TestConfigurationBuildsThePersona(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, `
grpc: ":9104"
sandbox: {steps: 1000, wall_time: 2s}
mcp:
  command: [server, --stdio]
  env: {REGION: eu}
  secret_files: {TOKEN: `+secret+`}
  call_timeout: 5s
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.GRPC != ":9104" || c.Sandbox.Steps != 1000 || c.Sandbox.WallTime != 2*time.Second {
		t.Errorf("configuration %+v", c)
	}
	h, err := c.MCP.host()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.Env, " "); got != "REGION=eu TOKEN=s3cret" || h.CallTimeout != 5*time.Second || h.StartTimeout != 30*time.Second {
		t.Errorf("host %+v", h)
	}
	p, err := New(c).Build(t.Context(), base())
	if err != nil {
		t.Fatal(err)
	}
	if p.Agent.Tenant != "executor" || p.Agent.Version != "9" || len(p.Agent.Skills) != 2 {
		t.Errorf("agent %+v", p.Agent)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestWithoutServerNoToolIsOffered(t *testing.T) {
	p, err := New(Config{}).Build(t.Context(), base())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Agent.Skills) != 1 || p.Agent.Skills[0].ID != "run-code" {
		t.Errorf("skills %+v", p.Agent.Skills)
	}
}

func TestWrongConfigurationIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"mcp: {}":                          "MCP server: no command is given",
		"sandbox: {steps: -1}":             "sandbox limit steps is -1; it must be positive",
		"sandbox: {parallel: -1}":          "sandbox: -1 snippets in parallel; it must be positive",
		"mcp: {command: [x], comand: [y]}": "field comand not found in type executor.MCP",
		"mcp: {command: [x], secret_files: {T: /nonexistent}}":           "mcp: secret T: open /nonexistent: no such file or directory",
		"mcp: {command: [x], env: {T: a}, secret_files: {T: /dev/null}}": "mcp: T is both under env and under secret_files",
		"mcp: {command: [x], call_timeout: -1s}":                         "MCP server: start and call time limits must be positive",
	} {
		c, err := load(t, text)
		if err == nil {
			_, err = New(c).Build(t.Context(), base())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
