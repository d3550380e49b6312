package kap

// card is the document at CardPath, as the protocol writes it.
type card struct {
	Protocol     string  `json:"protocol"`
	Agent        Agent   `json:"agent"`
	Endpoint     string  `json:"endpoint"`
	Auth         []auth  `json:"auth"`
	Capabilities []offer `json:"capabilities"`
	RateLimit    Rate    `json:"rateLimit"`
}

// auth is one way to be known.
type auth struct {
	Type string `json:"type"`
	In   string `json:"in,omitempty"`
	Name string `json:"name,omitempty"`
	// Issuer of tokens (RFC 8414), of oauth2.
	Issuer string `json:"issuer,omitempty"`
}

// offer is a capability on the card.
type offer struct {
	ID                   string         `json:"id"`
	Name                 string         `json:"name"`
	Description          string         `json:"description"`
	InputSchema          map[string]any `json:"inputSchema,omitempty"`
	RequiresConfirmation bool           `json:"requiresConfirmation,omitempty"`
}

// newCard makes the card for a base URL without a slash at its end, and the issuers
// whose tokens are taken.
func newCard(c Config, url string, issuers []string) card {
	made := card{
		Protocol: Version, Agent: c.Agent, Endpoint: url + AskPath, RateLimit: c.RateLimit,
		Auth: []auth{{Type: "api-key", In: "header", Name: "X-API-Key"}, {Type: "bearer"}},
	}
	for _, issuer := range issuers {
		made.Auth = append(made.Auth, auth{Type: "oauth2", Issuer: issuer})
	}
	open := false
	for _, one := range c.Capabilities {
		open = open || one.Anonymous
		made.Capabilities = append(made.Capabilities, offer{one.ID, one.Name, one.Description, one.InputSchema, one.RequiresConfirmation})
	}
	if open {
		made.Auth = append(made.Auth, auth{Type: "none"})
	}
	return made
}
