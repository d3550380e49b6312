package executor

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/outlet"
	"sabha.dev/services/executor/internal/connector"
	"sabha.dev/services/executor/internal/toolhost"
)

// Connector is one provider with an HTTP interface that an OpenAPI 3 document describes.
type Connector struct {
	// Document is the file of the document, JSON or YAML.
	Document string `yaml:"document"`
	// URL that the document's paths follow; empty for its first server.
	URL string `yaml:"url"`
	// Networks are open for it beside public addresses, as CIDRs.
	Networks []string `yaml:"networks"`
	// Operations that are offered, by operationId; absent, all whose credentials are configured.
	Operations []string `yaml:"operations"`
	// Credentials by the name of the document's security scheme.
	Credentials map[string]ConnectorCredential `yaml:"credentials"`
	// IdempotencyHeader takes a key by which the provider knows a request that comes again.
	IdempotencyHeader string `yaml:"idempotency_header"`
	// Pages says how lists go on, by operation.
	Pages map[string]ConnectorPages `yaml:"pages"`
	// Attempts of one request; default 3.
	Attempts int `yaml:"attempts"`

	// Trust, Effects and Disclosure are as of an MCP server; without Disclosure nothing sensitive leaves.
	Trust      string             `yaml:"trust"`
	Effects    map[string]MCPTool `yaml:"effects"`
	Disclosure outlet.Policy      `yaml:"disclosure"`

	// StartTimeout bounds the reading of the document and the first contact; default 30s.
	// CallTimeout bounds one call, with its attempts and pages; default 60s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	CallTimeout  time.Duration `yaml:"call_timeout"`
	// Refresh is how often the document is read anew, and the provider looked for; default 5m.
	Refresh time.Duration `yaml:"refresh"`
	// MaxMessageBytes is the longest answer, with all its pages; default 4 MiB.
	MaxMessageBytes int `yaml:"max_message_bytes"`
}

// ConnectorCredential is a secret, and what goes with it: the user name of http basic, or
// the client of OAuth.
type ConnectorCredential struct {
	SecretFile string   `yaml:"secret_file"`
	Username   string   `yaml:"username"`
	ClientID   string   `yaml:"client_id"`
	TokenURL   string   `yaml:"token_url"`
	Scopes     []string `yaml:"scopes"`
	Audience   string   `yaml:"audience"`
}

// ConnectorPages say where an answer has its list, and what says where it goes on.
type ConnectorPages struct {
	Items     string `yaml:"items"`
	Next      string `yaml:"next"`
	Parameter string `yaml:"parameter"`
	// Max pages of one call; default 10.
	Max int `yaml:"max"`
}

// envelope is the room for what is around an answer in a message.
const envelope = 64 << 10

func (m MCP) connected(c clock.Clock, log *slog.Logger) ([]toolhost.Server, error) {
	var all []toolhost.Server
	for _, name := range slices.Sorted(maps.Keys(m.Connectors)) {
		k := m.Connectors[name]
		s, err := k.hosted(name, c, log)
		if err == nil {
			err = s.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("connector %s: %w", name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func (k Connector) hosted(name string, c clock.Clock, log *slog.Logger) (toolhost.Server, error) {
	most := orDefault(k.MaxMessageBytes, 4<<20)
	s, err := MCPServer{
		Trust: k.Trust, Tools: k.Effects, StartTimeout: k.StartTimeout, CallTimeout: k.CallTimeout, Refresh: k.Refresh, MaxMessageBytes: most + envelope,
	}.hosted(name)
	if err != nil {
		return s, err
	}
	o := connector.Config{
		Name: name, Document: k.Document, URL: k.URL, Networks: k.Networks, Operations: k.Operations, IdempotencyHeader: k.IdempotencyHeader,
		Attempts: orDefault(k.Attempts, 3), MaxBytes: most, Clock: c, Log: log, Credentials: map[string]connector.Credential{}, Pages: map[string]connector.Pages{},
	}
	for scheme, with := range k.Credentials {
		o.Credentials[scheme] = connector.Credential(with)
	}
	for operation, p := range k.Pages {
		o.Pages[operation] = connector.Pages{Items: p.Items, Next: p.Next, Parameter: p.Parameter, Most: orDefault(p.Max, 10)}
	}
	s.Local, err = connector.New(o)
	return s, err
}
