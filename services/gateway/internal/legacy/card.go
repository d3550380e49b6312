package legacy

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// cardVersion is how a card of 0.3 states its version.
const cardVersion = "0.3.0"

// Card writes a card for readers of either version: that of 1.0 as it is, and
// beside it the fields of 0.3 (its specification, section 5.5), which name the
// interfaces of that version only. Readers ignore fields they do not know.
//
// The SDK has a writer of such cards, but its security schemes and requirements are
// in a form that only the SDK reads.
func Card(c *a2apb.AgentCard) ([]byte, error) {
	text, err := protojson.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	var card map[string]any
	if err := json.Unmarshal(text, &card); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	var interfaces []map[string]string
	for _, i := range c.GetSupportedInterfaces() {
		if i.GetProtocolVersion() == Version {
			interfaces = append(interfaces, map[string]string{"url": i.GetUrl(), "transport": i.GetProtocolBinding()})
		}
	}
	if len(interfaces) > 0 {
		card["protocolVersion"] = cardVersion
		card["url"], card["preferredTransport"] = interfaces[0]["url"], interfaces[0]["transport"]
		card["additionalInterfaces"] = interfaces
	}
	card["supportsAuthenticatedExtendedCard"] = c.GetCapabilities().GetExtendedAgentCard()
	for name, s := range c.GetSecuritySchemes() {
		if scheme, ok := card["securitySchemes"].(map[string]any)[name].(map[string]any); ok {
			addScheme(scheme, s)
		}
	}
	if r := c.GetSecurityRequirements(); len(r) > 0 {
		card["security"] = requirements(r)
	}
	// Lists that 0.3 requires, also when they are empty.
	for _, name := range []string{"defaultInputModes", "defaultOutputModes", "skills"} {
		if card[name] == nil {
			card[name] = []any{}
		}
	}
	skills, _ := card["skills"].([]any)
	for i, s := range c.GetSkills() {
		skill, ok := skills[i].(map[string]any)
		if !ok {
			continue
		}
		if skill["tags"] == nil {
			skill["tags"] = []any{}
		}
		if len(s.GetSecurityRequirements()) > 0 {
			skill["security"] = requirements(s.GetSecurityRequirements())
		}
	}
	return json.Marshal(card)
}

// addScheme adds a scheme in the form of OpenAPI 3.2, which is that of 0.3.
func addScheme(scheme map[string]any, s *a2apb.SecurityScheme) {
	add := func(kind string, fields any) {
		scheme["type"] = kind
		if more, ok := fields.(map[string]any); ok {
			for name, v := range more {
				if name == "location" {
					name = "in"
				}
				scheme[name] = v
			}
		}
	}
	switch s.GetScheme().(type) {
	case *a2apb.SecurityScheme_ApiKeySecurityScheme:
		add("apiKey", scheme["apiKeySecurityScheme"])
	case *a2apb.SecurityScheme_HttpAuthSecurityScheme:
		add("http", scheme["httpAuthSecurityScheme"])
	case *a2apb.SecurityScheme_Oauth2SecurityScheme:
		add("oauth2", scheme["oauth2SecurityScheme"])
	case *a2apb.SecurityScheme_OpenIdConnectSecurityScheme:
		add("openIdConnect", scheme["openIdConnectSecurityScheme"])
	case *a2apb.SecurityScheme_MtlsSecurityScheme:
		add("mutualTLS", scheme["mtlsSecurityScheme"])
	}
}

// requirements are alternatives, each of schemes by name with their scopes.
func requirements(all []*a2apb.SecurityRequirement) []map[string][]string {
	out := make([]map[string][]string, len(all))
	for i, r := range all {
		out[i] = map[string][]string{}
		for name, scopes := range r.GetSchemes() {
			out[i][name] = append([]string{}, scopes.GetList()...)
		}
	}
	return out
}
