// Package cards publishes the cards of agents under the gateway's own address.
package cards

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway/internal/legacy"
	"sabha.dev/services/gateway/internal/tokens"
)

const (
	// maxAge of a card before its agent is asked again.
	maxAge = 30 * time.Second
	// retryAfter a failure, the card that is held is given out meanwhile.
	retryAfter = 5 * time.Second
	// fetchWithin bounds one question for a card.
	fetchWithin = 5 * time.Second
)

// Address is where clients reach the gateway.
type Address struct {
	// HTTP is the base of the HTTP bindings, without a slash at its end.
	HTTP string
	// GRPC is host:port.
	GRPC string
	// CurrentOnly says that clients of A2A 0.3 are not served.
	CurrentOnly bool
	// Issuers whose bearer tokens are taken beside API keys.
	Issuers []string
	// Discovered are those of them that have a discovery document.
	Discovered []string
	// Certificates says that clients are known by certificates too.
	Certificates bool
}

// Source gives the cards of agents by tenant.
type Source struct {
	address Address
	clock   clock.Clock
	log     *slog.Logger
	agents  map[string]*held
}

// held is the card of one agent.
type held struct {
	admin adminv1.AdminServiceClient

	mu    sync.Mutex
	card  *a2apb.AgentCard
	until time.Time
}

// New makes a source over the admin services of agents by tenant.
func New(a Address, agents map[string]adminv1.AdminServiceClient, c clock.Clock, log *slog.Logger) *Source {
	s := &Source{address: a, clock: c, log: log, agents: map[string]*held{}}
	for tenant, admin := range agents {
		s.agents[tenant] = &held{admin: admin}
	}
	return s
}

// Card is the public card of a tenant, at most half a minute old; while its
// agent cannot be asked, the last one known. It is shared: do not change it.
func (s *Source) Card(ctx context.Context, tenant string) (*a2apb.AgentCard, error) {
	h, ok := s.agents[tenant]
	if !ok {
		return nil, fault.New(fault.UnknownTenant, "there is no agent %q here", tenant)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := s.clock.Now()
	if h.card != nil && now.Before(h.until) {
		return h.card, nil
	}
	// Others wait for this answer too, so it does not end with the one who asked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWithin)
	defer cancel()
	card, err := fetch(ctx, h.admin)
	if err == nil {
		h.card, h.until = s.Complete(tenant, card), now.Add(maxAge)
		return h.card, nil
	}
	s.log.Warn("the card of an agent cannot be had", "tenant", tenant, "held", h.card != nil, "error", err)
	if h.card != nil {
		h.until = now.Add(retryAfter)
		return h.card, nil
	}
	e := fault.New(fault.Unavailable, "the agent cannot be reached at the moment; try again later")
	e.RetryAfter = retryAfter
	return nil, e.Because(err)
}

func fetch(ctx context.Context, admin adminv1.AdminServiceClient) (*a2apb.AgentCard, error) {
	res, err := admin.GetCard(ctx, &adminv1.GetCardRequest{})
	if err != nil {
		return nil, err
	}
	card := &a2apb.AgentCard{}
	if err := proto.Unmarshal(res.GetCard(), card); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	return card, nil
}

// Names of the bindings (specification 4.4.6).
const (
	bindingHTTP    = "HTTP+JSON"
	bindingJSONRPC = "JSONRPC"
	bindingGRPC    = "GRPC"
)

// Names of the security schemes on cards.
const (
	schemeAPIKey = "apiKey"
	schemeBearer = "bearer"
	schemeBasic  = "basic"
	schemeMTLS   = "mtls"
	schemeOpenID = "openIdConnect"
)

// Complete gives a copy of the card that an agent gives of itself with what its
// publisher knows: where it is reached and how callers make themselves known.
func (s *Source) Complete(tenant string, card *a2apb.AgentCard) *a2apb.AgentCard {
	c := proto.CloneOf(card)
	c.SupportedInterfaces = []*a2apb.AgentInterface{
		{Url: s.address.HTTP, ProtocolBinding: bindingHTTP, ProtocolVersion: engine.Protocol, Tenant: tenant},
		{Url: s.address.HTTP + "/rpc", ProtocolBinding: bindingJSONRPC, ProtocolVersion: engine.Protocol, Tenant: tenant},
		{Url: s.address.GRPC, ProtocolBinding: bindingGRPC, ProtocolVersion: engine.Protocol, Tenant: tenant},
	}
	c.SupportedInterfaces = append(c.SupportedInterfaces, s.legacy(tenant)...)
	c.SecuritySchemes = map[string]*a2apb.SecurityScheme{}
	// Requirements in a list are alternatives: any one scheme will do.
	c.SecurityRequirements = nil
	for _, one := range s.schemes() {
		c.SecuritySchemes[one.name] = one.scheme
		c.SecurityRequirements = append(c.SecurityRequirements, &a2apb.SecurityRequirement{Schemes: map[string]*a2apb.StringList{one.name: {}}})
	}
	return c
}

// named is a security scheme with its name on cards.
type named struct {
	name   string
	scheme *a2apb.SecurityScheme
}

// schemes are the ways to be known, the most usual first.
func (s *Source) schemes() []named {
	http := func(scheme, description string) *a2apb.SecurityScheme {
		return &a2apb.SecurityScheme{Scheme: &a2apb.SecurityScheme_HttpAuthSecurityScheme{HttpAuthSecurityScheme: &a2apb.HTTPAuthSecurityScheme{
			Description: description, Scheme: scheme,
		}}}
	}
	all := []named{
		{schemeAPIKey, &a2apb.SecurityScheme{Scheme: &a2apb.SecurityScheme_ApiKeySecurityScheme{ApiKeySecurityScheme: &a2apb.APIKeySecurityScheme{
			Description: "An API key of this platform, in a header; in gRPC, metadata x-api-key.", Location: "header", Name: "X-API-Key",
		}}}},
		{schemeBearer, http("Bearer", s.bearer())},
		{schemeBasic, http("Basic", "The id of an API key of this platform as user, the key as password; in gRPC, metadata authorization.")},
	}
	for i, issuer := range s.address.Discovered {
		name := schemeOpenID
		if i > 0 {
			name += strconv.Itoa(i + 1)
		}
		all = append(all, named{name, &a2apb.SecurityScheme{Scheme: &a2apb.SecurityScheme_OpenIdConnectSecurityScheme{OpenIdConnectSecurityScheme: &a2apb.OpenIdConnectSecurityScheme{
			Description:      "A JWT of this issuer as a bearer token; in gRPC, metadata authorization.",
			OpenIdConnectUrl: strings.TrimSuffix(issuer, "/") + tokens.DiscoveryPath,
		}}}})
	}
	if s.address.Certificates {
		all = append(all, named{schemeMTLS, &a2apb.SecurityScheme{Scheme: &a2apb.SecurityScheme_MtlsSecurityScheme{MtlsSecurityScheme: &a2apb.MutualTlsSecurityScheme{
			Description: "A client certificate of an authority that the operator trusts.",
		}}}})
	}
	return all
}

// bearer says which bearer tokens are taken.
func (s *Source) bearer() string {
	text := "An API key of this platform"
	if len(s.address.Issuers) > 0 {
		text += ", or a JWT of " + strings.Join(s.address.Issuers, " or ") + ","
	}
	return text + " as a bearer token; in gRPC, metadata authorization."
}

// legacy are the interfaces for clients of A2A 0.3, which knows no tenants: over
// HTTP the address names the agent, over gRPC there is only the one at the root.
func (s *Source) legacy(tenant string) []*a2apb.AgentInterface {
	if s.address.CurrentOnly {
		return nil
	}
	base := s.address.HTTP
	if tenant != "" {
		base += "/" + tenant
	}
	interfaces := []*a2apb.AgentInterface{
		{Url: base + "/rpc", ProtocolBinding: bindingJSONRPC, ProtocolVersion: legacy.Version},
		{Url: base, ProtocolBinding: bindingHTTP, ProtocolVersion: legacy.Version},
	}
	if tenant == "" {
		interfaces = append(interfaces, &a2apb.AgentInterface{Url: s.address.GRPC, ProtocolBinding: bindingGRPC, ProtocolVersion: legacy.Version})
	}
	return interfaces
}
