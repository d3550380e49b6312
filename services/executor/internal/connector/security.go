package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"sabha.dev/services/executor/internal/credential"
)

// scheme is one way to show who calls.
type scheme struct {
	name string
	// kind is header, query, bearer, basic or oauth; at is the name of the header or the parameter.
	kind, at string
	tokenURL string
}

// security gives the first choice of an operation whose credentials are all configured.
func (d *document) security(fields object, configured map[string]Credential) ([]scheme, error) {
	choices, given := fields["security"].([]any)
	if !given {
		choices, _ = d.root["security"].([]any)
	}
	if len(choices) == 0 {
		return nil, nil
	}
	var missing []string
	open := false
	for _, one := range choices {
		names, _ := one.(object)
		if len(names) == 0 {
			open = true
			continue
		}
		var all []scheme
		for _, name := range slices.Sorted(maps.Keys(names)) {
			k, ok := configured[name]
			if !ok {
				missing = append(missing, name)
				continue
			}
			s, err := d.scheme(name, k)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		if len(all) == len(names) {
			return all, nil
		}
	}
	if open {
		return nil, nil
	}
	return nil, fmt.Errorf("it needs credentials that are not configured: %s", strings.Join(slices.Compact(missing), ", "))
}

func (d *document) scheme(name string, k Credential) (scheme, error) {
	components, _ := d.root["components"].(object)
	of, _ := components["securitySchemes"].(object)
	fields, err := d.resolved(of[name])
	if err != nil {
		return scheme{}, err
	}
	text := func(key string) string { s, _ := fields[key].(string); return s }
	s := scheme{name: name, at: text("name")}
	switch kind := text("type"); {
	case kind == "apiKey" && (text("in") == "header" && headerName(s.at) || text("in") == "query" && s.at != ""):
		s.kind = text("in")
	case kind == "http" && strings.EqualFold(text("scheme"), "bearer"):
		s.kind = "bearer"
	case kind == "http" && strings.EqualFold(text("scheme"), "basic"):
		s.kind = "basic"
	case kind == "oauth2" || kind == "openIdConnect":
		flows, _ := fields["flows"].(object)
		flow, _ := flows["clientCredentials"].(object)
		s.kind = "oauth"
		if s.tokenURL, _ = flow["tokenUrl"].(string); k.TokenURL != "" {
			s.tokenURL = k.TokenURL
		}
		if s.tokenURL == "" || k.ClientID == "" {
			return s, fmt.Errorf("its security scheme %q needs a client_id and a token_url", name)
		}
	default:
		return s, fmt.Errorf("its security scheme %q is none of apiKey in a header or the query, http bearer or basic, oauth2 with client credentials", name)
	}
	return s, nil
}

var headerPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

func headerName(name string) bool { return headerPattern.MatchString(name) }

// show puts credentials into a request. A secret that is not there is the operator's to
// mend, and its file is not told to callers.
func (k *call) show(ctx context.Context, r *http.Request) error {
	for _, s := range k.schemes {
		with := k.Credentials[s.name]
		if s.kind == "oauth" {
			if err := credential.CheckURL(k.guard, s.tokenURL, true); err != nil {
				return &hidden{errSecret, err}
			}
			token, err := k.grant(s, with).Get(ctx)
			if err != nil {
				return &hidden{errSecret, err}
			}
			r.Header.Set("Authorization", "Bearer "+token)
			continue
		}
		secret, err := credential.Read(with.SecretFile)
		if err != nil {
			return &hidden{errSecret, err}
		}
		switch s.kind {
		case "header":
			r.Header.Set(s.at, secret)
		case "query":
			q := r.URL.Query()
			q.Set(s.at, secret)
			r.URL.RawQuery = q.Encode()
		case "bearer":
			r.Header.Set("Authorization", "Bearer "+secret)
		case "basic":
			r.SetBasicAuth(with.Username, secret)
		}
	}
	return nil
}

var errSecret = errors.New("the credentials of the connector cannot be had; the operator finds the cause in the log")

// grant gives the client of OAuth of a scheme, the same each time.
func (k *call) grant(s scheme, with Credential) *credential.Tokens {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tokens[s.name]
	if t == nil || t.TokenURL != s.tokenURL {
		t = &credential.Tokens{Next: k.Connector.base, OAuth: &credential.OAuth{
			TokenURL: s.tokenURL, ClientID: with.ClientID, SecretFile: with.SecretFile, Scopes: with.Scopes, Audience: with.Audience,
		}}
		k.tokens[s.name] = t
	}
	return t
}
