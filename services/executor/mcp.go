package executor

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/outlet"
	"sabha.dev/services/executor/internal/a2aagent"
	"sabha.dev/services/executor/internal/credential"
	"sabha.dev/services/executor/internal/toolhost"
)

// MCP is what the executor is told of the servers whose tools it calls.
type MCP struct {
	// Policy is the file that says who may call what; empty for the standard one: only
	// steps of plans call what may remove or overwrite.
	Policy string `yaml:"policy"`
	// Servers by name. A name has small letters, digits and hyphens.
	Servers map[string]MCPServer `yaml:"servers"`
	// Connectors are providers whose operations an OpenAPI document describes. They are tools
	// as those of servers, and have no name in common with them.
	Connectors map[string]Connector `yaml:"connectors"`
}

// MCPServer is one server: a program with command, or a remote one with url.
type MCPServer struct {
	// Command is the program and its arguments.
	Command []string `yaml:"command"`
	// Env are its variables by name; of this process's environment it gets PATH only.
	Env map[string]string `yaml:"env"`
	// SecretFiles are variables whose values are read from files, by name.
	SecretFiles map[string]string `yaml:"secret_files"`
	// Dir is its working directory.
	Dir string `yaml:"dir"`

	// URL of a server that speaks Streamable HTTP.
	URL string `yaml:"url"`
	// Networks are open for it beside public addresses, as CIDRs.
	Networks []string `yaml:"networks"`
	// BearerFile holds a token, HeaderFiles the values of headers by name.
	BearerFile  string            `yaml:"bearer_file"`
	HeaderFiles map[string]string `yaml:"header_files"`
	// OAuth gets tokens as a client of itself.
	OAuth *MCPOAuth `yaml:"oauth"`

	// Trust is approve (each tool waits for a person) or first-use (what the server lists
	// first is approved, and what changes or comes later waits); empty means approve.
	Trust string `yaml:"trust"`
	// Tools say what a tool does, by name, whatever the server says.
	Tools map[string]MCPTool `yaml:"tools"`

	// Disclosure says what of arguments may leave to it and in which form; absent, everything
	// may to a command, and nothing sensitive to a url.
	Disclosure outlet.Policy `yaml:"disclosure"`

	// StartTimeout bounds its start; default 30s. CallTimeout bounds one call; default 60s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	CallTimeout  time.Duration `yaml:"call_timeout"`
	// Refresh is how often its tools are listed anew; default 5m.
	Refresh time.Duration `yaml:"refresh"`
	// MaxMessageBytes is the longest message taken from it; default 4 MiB.
	MaxMessageBytes int `yaml:"max_message_bytes"`
}

// MCPOAuth is the client credentials grant (RFC 6749 section 4.4).
type MCPOAuth struct {
	TokenURL   string   `yaml:"token_url"`
	ClientID   string   `yaml:"client_id"`
	SecretFile string   `yaml:"secret_file"`
	Scopes     []string `yaml:"scopes"`
	Audience   string   `yaml:"audience"`
}

// MCPTool is what the operator says of a tool; what is absent goes by the server's word.
type MCPTool struct {
	ReadOnly    *bool `yaml:"read_only"`
	Idempotent  *bool `yaml:"idempotent"`
	Destructive *bool `yaml:"destructive"`
}

// hosted reads the secrets and fills in the defaults.
func (m MCP) hosted(c clock.Clock, log *slog.Logger) ([]toolhost.Server, error) {
	if len(m.Servers)+len(m.Connectors) == 0 {
		return nil, errors.New("mcp: no servers are given; write servers: {NAME: {command: [PROGRAM]}}, or leave mcp out")
	}
	var (
		all  []toolhost.Server
		errs []error
	)
	for name, s := range m.Servers {
		one, err := s.hosted(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := one.Validate(); err != nil {
			errs = append(errs, err)
		}
		all = append(all, one)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	connectors, err := m.connected(c, log)
	return append(all, connectors...), errors.Join(append(errs, err)...)
}

func (s MCPServer) hosted(name string) (toolhost.Server, error) {
	c := toolhost.Server{
		Name:         name,
		StartTimeout: orDefault(s.StartTimeout, 30*time.Second), CallTimeout: orDefault(s.CallTimeout, time.Minute),
		Refresh: orDefault(s.Refresh, 5*time.Minute), MaxMessage: orDefault(s.MaxMessageBytes, 4<<20),
		Effects: map[string]toolhost.Declared{},
	}
	for tool, says := range s.Tools {
		c.Effects[tool] = toolhost.Declared{ReadOnly: says.ReadOnly, Idempotent: says.Idempotent, Destructive: says.Destructive}
	}
	problem := func(format string, args ...any) error { return fmt.Errorf("MCP server "+name+": "+format, args...) }
	switch s.Trust {
	case "", "approve":
	case "first-use":
		c.FirstUse = true
	default:
		return c, problem("trust is %q; write approve or first-use", s.Trust)
	}
	if s.Command != nil || s.Env != nil || s.SecretFiles != nil || s.Dir != "" {
		env, err := s.environment()
		if err != nil {
			return c, problem("%w", err)
		}
		c.Process = &toolhost.Process{Command: s.Command, Env: env, Dir: s.Dir}
	}
	if s.URL != "" || s.Networks != nil || s.BearerFile != "" || s.HeaderFiles != nil || s.OAuth != nil {
		c.Remote = &toolhost.Remote{URL: s.URL, Networks: s.Networks, BearerFile: s.BearerFile, HeaderFiles: s.HeaderFiles}
		if o := s.OAuth; o != nil {
			c.Remote.OAuth = &credential.OAuth{TokenURL: o.TokenURL, ClientID: o.ClientID, SecretFile: o.SecretFile, Scopes: o.Scopes, Audience: o.Audience}
		}
	}
	return c, nil
}

func (s MCPServer) environment() ([]string, error) {
	var (
		env  []string
		errs []error
	)
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	for name, file := range s.SecretFiles {
		if _, twice := s.Env[name]; twice {
			errs = append(errs, fmt.Errorf("%s is both under env and under secret_files", name))
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("secret %s: %w", name, err))
			continue
		}
		env = append(env, name+"="+strings.TrimSpace(string(raw)))
	}
	slices.Sort(env)
	return env, errors.Join(errs...)
}

// outlets are the ways out to the servers.
func (m MCP) outlets(all *outlet.Outlets) (map[string]a2aagent.Outlet, error) {
	by := map[string]a2aagent.Outlet{}
	for name, s := range m.Servers {
		kind := outlet.Command
		if s.URL != "" {
			kind = outlet.Tools
		}
		out, err := all.Open("mcp "+name, kind, s.Disclosure)
		if err != nil {
			return nil, err
		}
		by[name] = out
	}
	for name, k := range m.Connectors {
		out, err := all.Open("connector "+name, outlet.Tools, k.Disclosure)
		if err != nil {
			return nil, err
		}
		by[name] = out
	}
	return by, nil
}
