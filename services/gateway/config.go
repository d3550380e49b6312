package gateway

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sabha.dev/chassis/service"
	"sabha.dev/services/gateway/internal/clientcerts"
	"sabha.dev/services/gateway/internal/edge"
	"sabha.dev/services/gateway/internal/kap"
	"sabha.dev/services/gateway/internal/tokens"
)

// name of the service, and that of the agent at the root.
const (
	name  = "gateway"
	front = "planner"
	// reviews is the service of people who decide, registry that of partners.
	reviews  = "review"
	registry = "partners"
)

// Config of the gateway. Of the embedded one, GRPC is not used: the platform's
// other services do not call the gateway. HTTP, when set, serves health and
// metrics to operators without credentials.
type Config struct {
	service.Config `yaml:",inline"`
	// PublicGRPC is the address that serves A2A to clients over gRPC, for example ":9090".
	PublicGRPC string `yaml:"public_grpc"`
	// PublicHTTP is the address that serves HTTP+JSON, JSON-RPC and cards, for example ":8080".
	PublicHTTP string `yaml:"public_http"`
	// PublicTLS is the folder with tls.crt and tls.key that both public ports serve TLS
	// with; empty for plain text, as behind a proxy that ends TLS.
	PublicTLS string `yaml:"public_tls"`
	// PublicURL is the base under which clients reach PublicHTTP, for example
	// "https://agents.example.com". Empty means localhost and the port in use, which is
	// right only for clients on the same machine.
	PublicURL string `yaml:"public_url"`
	// PublicGRPCAddress is the host:port under which clients reach PublicGRPC. Empty
	// means the host of PublicURL and the port in use.
	PublicGRPCAddress string `yaml:"public_grpc_address"`
	// CurrentOnly leaves out what serves clients of A2A 0.3: its methods, and its fields
	// on cards, which readers that are stricter than the specification refuse.
	CurrentOnly bool `yaml:"current_only"`
	// Issuers whose bearer tokens (JWT) are taken beside API keys.
	Issuers []tokens.Config `yaml:"issuers"`
	// ClientCertificates are authorities by whose certificates callers are known, on both
	// public ports, which must serve TLS.
	ClientCertificates []clientcerts.Config `yaml:"client_certificates"`
	// RateLimit bounds calls.
	RateLimit RateLimit `yaml:"rate_limit"`
	// KAP says what is offered to agents of other organisations that speak KAP.
	KAP KAP `yaml:"kap"`
	// Tenants are the personas that may be called directly beside the planner at the
	// root. Absent means research, memory, executor and validator, and review where the
	// peers have it.
	Tenants []string `yaml:"tenants"`
}

// RateLimit bounds how often one caller may call. A zero limit is the default.
type RateLimit struct {
	// Caller bounds each principal; 100 a second and 200 at once unless stated.
	Caller Limit `yaml:"caller"`
	// Anonymous bounds each address (IPv6: each /64) that sends no credentials or bad
	// ones; 10 a second and 40 at once unless stated.
	Anonymous Limit `yaml:"anonymous"`
}

// KAP is what is offered over the Kernova Agent Protocol.
type KAP = kap.Config

// KAPCapability is one thing that is offered.
type KAPCapability = kap.Capability

// Limit is a token bucket: per_second calls over time, burst at once.
type Limit = edge.Limit

var (
	defaultTenants   = []string{"research", "memory", "executor", "validator"}
	defaultCaller    = Limit{PerSecond: 100, Burst: 200}
	defaultAnonymous = Limit{PerSecond: 10, Burst: 40}
)

// reservedTenants are names that paths at the root or other agents have.
var reservedTenants = []string{"tasks", "v1", "rpc", "mcp", name, front}

var tenantName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Check says what is missing for a process of its own, or wrong for any.
func (c Config) Check() error {
	var errs []error
	for _, f := range []struct{ name, value, help string }{
		{"public_grpc", c.PublicGRPC, "the address to serve gRPC, for example :9090"},
		{"public_http", c.PublicHTTP, "the address to serve HTTP, for example :8080"},
		{"database", c.Database, "sqlite:PATH or postgres://…"},
		{"keys", c.Keys, "the folder that sabha keys has made"},
	} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("%s is missing: %s", f.name, f.help))
		}
	}
	for _, s := range c.services() {
		if c.Peers[s] == "" {
			errs = append(errs, fmt.Errorf("peers.%s is missing: the gRPC address of %s", s, s))
		}
	}
	return errors.Join(append(errs, c.wrong())...)
}

// wrong says what cannot be meant.
func (c Config) wrong() error {
	var errs []error
	for _, t := range c.Tenants {
		if !tenantName.MatchString(t) || slices.Contains(reservedTenants, t) {
			errs = append(errs, fmt.Errorf("tenants: %q is reserved or no name of a service", t))
		}
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" &&
		(err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		errs = append(errs, fmt.Errorf("public_url: %q must be http:// or https:// with a host, without user, query and fragment", c.PublicURL))
	}
	if strings.Contains(c.PublicGRPCAddress, "/") {
		errs = append(errs, fmt.Errorf("public_grpc_address: %q must be host:port", c.PublicGRPCAddress))
	}
	for _, l := range []struct {
		name  string
		limit Limit
	}{{"caller", c.RateLimit.Caller}, {"anonymous", c.RateLimit.Anonymous}} {
		if (l.limit != Limit{}) && (!(l.limit.PerSecond > 0) || math.IsInf(l.limit.PerSecond, 0) || l.limit.Burst < 1) {
			errs = append(errs, fmt.Errorf("rate_limit.%s: per_second must be above 0 and burst at least 1", l.name))
		}
	}
	if len(c.ClientCertificates) > 0 && c.PublicTLS == "" {
		errs = append(errs, errors.New("client_certificates: clients show them to public ports that serve TLS; set public_tls"))
	}
	return errors.Join(append(errs, tokens.Check(c.Issuers), clientcerts.Check(c.ClientCertificates), c.KAP.Check(c.tenants()))...)
}

func (c Config) tenants() []string {
	switch {
	case c.Tenants != nil:
		return c.Tenants
	case len(c.Peers) > 0 && c.Peers[reviews] == "": // a configuration that is older than it
		return defaultTenants
	}
	return append(slices.Clone(defaultTenants), reviews)
}

// services that record hops: the configured peers, or else the planner, security,
// partners and the tenants.
func (c Config) services() []string {
	all := append([]string{front}, c.tenants()...)
	if len(c.Peers) == 0 {
		all = append(all, "security", registry)
	}
	for s := range c.Peers {
		all = append(all, s)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (l RateLimit) withDefaults() RateLimit {
	if l.Caller == (Limit{}) {
		l.Caller = defaultCaller
	}
	if l.Anonymous == (Limit{}) {
		l.Anonymous = defaultAnonymous
	}
	return l
}
