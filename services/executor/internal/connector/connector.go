// Package connector makes the operations of an OpenAPI 3 document tools: each is called by
// its operationId, with the parameters and the body as arguments, and answers with
// {status, body}. A connector is an MCP server within the process, so that its operations
// are approved, allowed, confirmed and recorded as the tools of any other.
package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/egress"
	"sabha.dev/services/executor/internal/credential"
	"sabha.dev/services/executor/internal/toolhost"
)

// Config of a connector.
type Config struct {
	// Name of the provider.
	Name string
	// Document is the file of the OpenAPI document, JSON or YAML.
	Document string
	// URL that the paths of the document follow; empty for its first server.
	URL string
	// Networks may be called beside public ones, each a CIDR.
	Networks []string
	// Operations that are offered; empty for all.
	Operations []string
	// Credentials by the name of the security scheme in the document.
	Credentials map[string]Credential
	// IdempotencyHeader takes a key by which the provider knows a request that is sent
	// again; empty for a provider that takes none.
	IdempotencyHeader string
	// Attempts of one request, at least 1.
	Attempts int
	// Pages says how lists go on, by operation.
	Pages map[string]Pages
	// MaxBytes of an answer, all its pages together.
	MaxBytes int
	Clock    clock.Clock
	Log      *slog.Logger
}

// Credential is what is shown for a security scheme.
type Credential struct {
	// SecretFile holds the key, the token, the password or the secret of the client.
	SecretFile string
	// Username goes with a password, ClientID with the secret of a client of OAuth.
	Username string
	ClientID string
	// TokenURL stands for the document's.
	TokenURL string
	Scopes   []string
	Audience string
}

// Connector is one provider. It is safe for concurrent use.
type Connector struct {
	Config
	guard  *egress.Guard
	client *http.Client
	base   http.RoundTripper

	mu         sync.Mutex
	operations map[string]*operation
	url        string
	tokens     map[string]*credential.Tokens
}

var _ toolhost.Local = (*Connector)(nil)

// perHost connections to a provider are kept.
const perHost = 8

// probeWithin bounds the look whether the provider can be reached.
const probeWithin = 5 * time.Second

// New makes a connector. The document is read when it is connected.
func New(c Config) (*Connector, error) {
	guard, err := egress.New(c.Networks)
	if err != nil {
		return nil, fmt.Errorf("networks: %w", err)
	}
	if c.Document == "" {
		return nil, errors.New("document is missing; name the file of an OpenAPI 3 document")
	}
	if c.Attempts < 1 || c.Attempts > 10 {
		return nil, fmt.Errorf("attempts is %d; it must be 1 to 10", c.Attempts)
	}
	for name, p := range c.Pages {
		if err := p.validate(); err != nil {
			return nil, fmt.Errorf("pages of %s: %w", name, err)
		}
	}
	if c.IdempotencyHeader != "" && (!headerName(c.IdempotencyHeader) || owned[strings.ToLower(c.IdempotencyHeader)]) {
		return nil, fmt.Errorf("idempotency_header: %q cannot be set", c.IdempotencyHeader)
	}
	for name, k := range c.Credentials {
		if k.SecretFile == "" {
			return nil, fmt.Errorf("credentials of %s: secret_file is missing", name)
		}
	}
	base := guard.Transport(nil, perHost)
	return &Connector{Config: c, guard: guard, base: base, tokens: map[string]*credential.Tokens{}, client: &http.Client{
		Transport: base, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Server gives the connector as an MCP server.
func (c *Connector) Server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: c.Name, Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			switch r := r.(type) {
			case *mcp.ListToolsRequest:
				return c.list(ctx)
			case *mcp.CallToolRequest:
				return c.answer(ctx, r.Params)
			}
			return next(ctx, method, r)
		}
	})
	return s
}

// list reads the document anew, and looks whether the provider can be reached.
func (c *Connector) list(ctx context.Context) (*mcp.ListToolsResult, error) {
	text, err := os.ReadFile(c.Document)
	if err != nil {
		return nil, err
	}
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	at, err := c.address(d)
	if err != nil {
		return nil, err
	}
	if err := c.probe(ctx, at); err != nil {
		return nil, fmt.Errorf("the provider cannot be reached: %w", err)
	}
	list, by := &mcp.ListToolsResult{Tools: []*mcp.Tool{}}, map[string]*operation{}
	for _, o := range d.operations(c.Credentials) {
		if len(c.Operations) > 0 && !slices.Contains(c.Operations, o.name) {
			continue
		}
		by[o.name] = o
		list.Tools = append(list.Tools, o.tool())
	}
	for _, names := range [][]string{c.Operations, keys(c.Pages)} {
		for _, name := range names {
			if by[name] == nil {
				return nil, fmt.Errorf("the document has no operation %q that is offered", name)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations, c.url = by, at
	return list, nil
}

// address is the URL before the paths.
func (c *Connector) address(d *document) (string, error) {
	at := c.URL
	if at == "" {
		servers, _ := d.root["servers"].([]any)
		if len(servers) > 0 {
			first, _ := servers[0].(object)
			at, _ = first["url"].(string)
			variables, _ := first["variables"].(object)
			for name, v := range variables {
				fields, _ := v.(object)
				standard, _ := fields["default"].(string)
				at = strings.ReplaceAll(at, "{"+name+"}", standard)
			}
		}
	}
	if err := credential.CheckURL(c.guard, at, len(c.Credentials) > 0); err != nil {
		return "", fmt.Errorf("the URL %q of the provider: %w; write url", at, err)
	}
	u, err := url.Parse(at)
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the URL %q of the provider has more than a host and a path", at)
	}
	return strings.TrimSuffix(at, "/"), nil
}

// probe connects to the provider and says nothing.
func (c *Connector) probe(ctx context.Context, at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // net knows the ports of http and https
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	conn, err := c.guard.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// tool is how the operation is listed.
func (o *operation) tool() *mcp.Tool {
	t := &mcp.Tool{
		Name: o.name, Title: o.title, Description: o.description, InputSchema: o.input, OutputSchema: o.output,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: o.effects.ReadOnly, IdempotentHint: o.effects.Idempotent,
			DestructiveHint: &o.effects.Destructive, OpenWorldHint: &o.effects.OpenWorld,
		},
	}
	if o.problem != "" {
		t.Meta = mcp.Meta{toolhost.MetaUnusable: o.problem}
		t.InputSchema, t.OutputSchema = json.RawMessage(`{"type":"object"}`), nil
	}
	return t
}

// answer calls an operation. What went wrong is told in the answer.
func (c *Connector) answer(ctx context.Context, p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	c.mu.Lock()
	o, at := c.operations[p.Name], c.url
	c.mu.Unlock()
	if o == nil || o.problem != "" {
		return nil, fmt.Errorf("there is no operation %q", p.Name)
	}
	again, _ := p.Meta[toolhost.MetaRepeatable].(bool)
	key, _ := p.Meta[toolhost.MetaKey].(string)
	res, err := (&call{Connector: c, operation: o, url: at, again: again, key: key}).make(ctx, p.Arguments)
	if err != nil {
		if of, ok := errors.AsType[*hidden](err); ok {
			c.Log.WarnContext(ctx, "an operation of a connector failed", "operation", c.Name+"/"+o.name, "error", of.told, "cause", of.cause)
		}
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
	}
	return res, nil
}
