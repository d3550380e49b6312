package executor

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/executor/migrations"
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
  servers:
    books:
      command: [/nonexistent/server, --stdio]
      env: {REGION: eu}
      secret_files: {TOKEN: `+secret+`}
      call_timeout: 5s
      trust: first-use
      tools: {add: {read_only: true}}
    far:
      url: https://tools.example.com/mcp
      bearer_file: `+secret+`
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.GRPC != ":9104" || c.Sandbox.Steps != 1000 || c.Sandbox.WallTime != 2*time.Second {
		t.Errorf("configuration %+v", c)
	}
	servers, err := c.MCP.hosted(clock.System{}, slog.New(slog.DiscardHandler))
	if err != nil || len(servers) != 2 {
		t.Fatalf("%d servers, error %v", len(servers), err)
	}
	for _, s := range servers {
		switch s.Name {
		case "books":
			if got := strings.Join(s.Process.Env, " "); got != "REGION=eu TOKEN=s3cret" || s.CallTimeout != 5*time.Second || s.StartTimeout != 30*time.Second || !s.FirstUse || !*s.Effects["add"].ReadOnly {
				t.Errorf("books are %+v", s)
			}
		case "far":
			if s.Process != nil || s.Remote.URL != "https://tools.example.com/mcp" || s.Remote.BearerFile != secret || s.FirstUse {
				t.Errorf("far is %+v", s)
			}
		}
	}
	delete(c.MCP.Servers, "far") // nobody is called here
	b := base()
	if b.DB, err = sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "executor.db")); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.DB.Close() }()
	if err := sqldb.Migrate(t.Context(), b.DB, Name, migrations.Files); err != nil {
		t.Fatal(err)
	}
	if b.Outlets, err = outlet.New(b.Log, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	p, err := New(c).Build(t.Context(), b)
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
		"mcp: {}":                                         "mcp: no servers are given",
		"sandbox: {steps: -1}":                            "sandbox limit steps is -1; it must be positive",
		"sandbox: {parallel: -1}":                         "sandbox: -1 snippets in parallel; it must be positive",
		"mcp: {command: [x]}":                             "field command not found in type executor.MCP",
		"mcp: {servers: {a: {comand: [y]}}}":              "field comand not found in type executor.MCPServer",
		"mcp: {servers: {a: {}}}":                         "MCP server a: give either a command or a url",
		"mcp: {servers: {a: {command: [x], trust: all}}}": `MCP server a: trust is "all"; write approve or first-use`,
		"mcp: {servers: {a: {command: [x], secret_files: {T: /nonexistent}}}}":           "MCP server a: secret T: open /nonexistent: no such file or directory",
		"mcp: {servers: {a: {command: [x], env: {T: a}, secret_files: {T: /dev/null}}}}": "MCP server a: T is both under env and under secret_files",
		"mcp: {servers: {a: {command: [x], call_timeout: -1s}}}":                         "MCP server a: start and call time limits must be positive",
		"mcp: {policy: /nonexistent, servers: {a: {command: [x]}}}":                      "open /nonexistent: no such file or directory",
		"mcp: {servers: {a: {command: [x]}}}":                                            "mcp: a database is needed",
		"mcp: {connectors: {a: {}}}":                                                     "connector a: document is missing",
		"mcp: {connectors: {a: {documents: x}}}":                                         "field documents not found in type executor.Connector",
		"mcp: {connectors: {A: {document: x}}}":                                          `MCP server "A": a name has small letters`,
		"mcp: {connectors: {a: {document: x, attempts: 99}}}":                            "attempts is 99; it must be 1 to 10",
		"mcp: {connectors: {a: {document: x, networks: [y]}}}":                           "connector a: networks:",
		"mcp: {connectors: {a: {document: x, idempotency_header: Host}}}":                `idempotency_header: "Host" cannot be set`,
		"mcp: {connectors: {a: {document: x, credentials: {k: {}}}}}":                    "credentials of k: secret_file is missing",
		"mcp: {connectors: {a: {document: x, pages: {l: {parameter: p}}}}}":              "pages of l: parameter takes what is in next",
		"mcp: {connectors: {a: {document: x, trust: all}}}":                              `trust is "all"; write approve or first-use`,
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
