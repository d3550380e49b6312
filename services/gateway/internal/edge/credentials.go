package edge

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/gateway/internal/callers"
	"sabha.dev/services/gateway/internal/clientcerts"
	"sabha.dev/services/gateway/internal/tokens"
)

// Keys verifies API keys. Unknown ones give callers.ErrUnknown.
type Keys interface {
	Verify(ctx context.Context, secret string) (callers.Key, error)
}

// Tokens verifies bearer tokens of other issuers. The errors are those of package tokens.
type Tokens interface {
	Verify(ctx context.Context, token string) (identity.Principal, error)
}

// Granter signs that a principal asked.
type Granter interface {
	Grant(p identity.Principal) (string, error)
}

// Certificates verifies the certificates of clients, DER, the client's own first. The
// errors are those of package clientcerts.
type Certificates interface {
	Verify(ctx context.Context, chain [][]byte) (identity.Principal, error)
}

// credential is what a caller wants to be known by; empty for anonymous callers.
type credential struct {
	// secret is an API key or a token.
	secret string
	// id that the API key must have; empty where none was stated.
	id string
	// chain is the certificate of the connection, where nothing else is given.
	chain [][]byte
}

func (c credential) empty() bool { return c.secret == "" && len(c.chain) == 0 }

// given is what a call brings along to be known by.
type given struct {
	apiKeys, authorizations []string
	chain                   [][]byte
}

// credential finds the API key or token in a call's X-API-Key and Authorization
// values, or else the certificate of its connection. Credentials that are given but are
// not one are refused: a caller who meant to be known is never taken for anonymous.
func (g given) credential() (credential, error) {
	none := func(format string, args ...any) (credential, error) {
		return credential{}, fault.New(fault.Unauthenticated, format, args...)
	}
	if len(g.apiKeys) > 1 || len(g.authorizations) > 1 {
		return none("credentials are given more than once; send one API key")
	}
	var key string
	if len(g.apiKeys) == 1 {
		if key = strings.TrimSpace(g.apiKeys[0]); key == "" {
			return none("X-API-Key is empty; send an API key in it, or leave it out")
		}
	}
	if tokens.Looks(key) {
		return none("X-API-Key takes API keys only; send a token as Authorization: Bearer")
	}
	if len(g.authorizations) == 0 && key == "" {
		return credential{chain: g.chain}, nil
	}
	if len(g.authorizations) == 0 {
		return credential{secret: key}, nil
	}
	scheme, value, _ := strings.Cut(strings.TrimSpace(g.authorizations[0]), " ")
	c := credential{secret: strings.TrimSpace(value)}
	switch {
	case strings.EqualFold(scheme, "Basic"):
		var ok bool
		if c.id, c.secret, ok = basic(c.secret); !ok {
			return none("Authorization: Basic takes the id of an API key as user and the key as password (RFC 7617)")
		}
	case !strings.EqualFold(scheme, "Bearer") || c.secret == "":
		return none("Authorization must be: Bearer followed by an API key or a token, or Basic with the id of an API key and the key")
	case !strings.HasPrefix(c.secret, callers.Prefix) && !tokens.Looks(c.secret):
		return none("bearer tokens must be API keys, which begin with %s, or JWTs of an issuer that is trusted here", callers.Prefix)
	}
	if key != "" && key != c.secret {
		return none("X-API-Key and Authorization give different keys; send one of them")
	}
	return c, nil
}

// basic reads the credentials of RFC 7617: the id of an API key and the key.
func basic(encoded string) (id, secret string, ok bool) {
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // which the decoder skips
		return "", "", false
	}
	id, secret, ok = strings.Cut(string(raw), ":")
	return id, secret, ok && id != "" && strings.HasPrefix(secret, callers.Prefix)
}

// authenticator turns credentials into the calls that are made with them.
type authenticator struct {
	keys         Keys
	tokens       Tokens
	certificates Certificates
	granter      Granter

	mu     sync.RWMutex
	grants map[string]string // by what they grant
}

// heldGrants bounds the grants in memory; a full memory starts afresh.
const heldGrants = 8192

// known gives the call of a credential, with the gateway's grant for its principal.
func (a *authenticator) known(ctx context.Context, c credential) (identity.Call, error) {
	p, what, err := a.principal(ctx, c)
	switch {
	case errors.Is(err, callers.ErrUnknown):
		return identity.Call{}, errUnknownKey
	case errors.Is(err, tokens.ErrRefused), errors.Is(err, clientcerts.ErrRefused):
		return identity.Call{}, fault.New(fault.Unauthenticated, "%s", err)
	case err != nil && ctx.Err() != nil:
		return identity.Call{}, ctx.Err()
	case err != nil:
		return identity.Call{}, fault.New(fault.Unavailable, "credentials cannot be checked at the moment; try again later").Because(err)
	}
	grant, err := a.grant(p, what)
	if err != nil {
		return identity.Call{}, err
	}
	return identity.Call{Principal: p, Actor: identity.Gateway, Grant: grant}, nil
}

// principal gives who holds a credential, and a name for what it grants.
func (a *authenticator) principal(ctx context.Context, c credential) (p identity.Principal, grants string, err error) {
	switch {
	case len(c.chain) > 0:
		p, err = a.certificates.Verify(ctx, c.chain)
	case a.tokens != nil && tokens.Looks(c.secret):
		p, err = a.tokens.Verify(ctx, c.secret)
	default:
		k, err := a.keys.Verify(ctx, c.secret)
		if err == nil && c.id != "" && c.id != k.ID {
			err = callers.ErrUnknown
		}
		return k.Principal, k.ID, err
	}
	// Neither a name nor a scope has a space in it, nor has a key's id.
	return p, p.Key() + " " + strings.Join(p.Scopes, " "), err
}

var errUnknownKey = fault.New(fault.Unauthenticated, "the API key is not known, or it was revoked")

// grant signs once for each key, and once for all tokens that grant the same.
func (a *authenticator) grant(p identity.Principal, what string) (string, error) {
	a.mu.RLock()
	grant, ok := a.grants[what]
	a.mu.RUnlock()
	if ok {
		return grant, nil
	}
	grant, err := a.granter.Grant(p)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.grants) >= heldGrants {
		clear(a.grants)
	}
	a.grants[what] = grant
	return grant, nil
}
