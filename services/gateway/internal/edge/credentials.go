package edge

import (
	"context"
	"errors"
	"strings"
	"sync"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/gateway/internal/callers"
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

// credential finds the API key or token in a call's X-API-Key and Authorization
// values. Without credentials it is empty. Credentials that are given but are not one
// are refused: a caller who meant to be known is never taken for anonymous.
func credential(apiKeys, authorizations []string) (string, error) {
	if len(apiKeys) > 1 || len(authorizations) > 1 {
		return "", fault.New(fault.Unauthenticated, "credentials are given more than once; send one API key")
	}
	var key string
	if len(apiKeys) == 1 {
		if key = strings.TrimSpace(apiKeys[0]); key == "" {
			return "", fault.New(fault.Unauthenticated, "X-API-Key is empty; send an API key in it, or leave it out")
		}
	}
	if tokens.Looks(key) {
		return "", fault.New(fault.Unauthenticated, "X-API-Key takes API keys only; send a token as Authorization: Bearer")
	}
	if len(authorizations) == 0 {
		return key, nil
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(authorizations[0]), " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", fault.New(fault.Unauthenticated, "Authorization must be: Bearer followed by an API key or a token")
	case !strings.HasPrefix(token, callers.Prefix) && !tokens.Looks(token):
		return "", fault.New(fault.Unauthenticated, "bearer tokens must be API keys, which begin with %s, or JWTs of an issuer that is trusted here", callers.Prefix)
	case key != "" && key != token:
		return "", fault.New(fault.Unauthenticated, "X-API-Key and Authorization give different keys; send one of them")
	}
	return token, nil
}

// authenticator turns credentials into the calls that are made with them.
type authenticator struct {
	keys    Keys
	tokens  Tokens
	granter Granter

	mu     sync.RWMutex
	grants map[string]string // by what they grant
}

// heldGrants bounds the grants in memory; a full memory starts afresh.
const heldGrants = 8192

// known gives the call of an API key or token, with the gateway's grant for its principal.
func (a *authenticator) known(ctx context.Context, secret string) (identity.Call, error) {
	p, what, err := a.principal(ctx, secret)
	switch {
	case errors.Is(err, callers.ErrUnknown):
		return identity.Call{}, errUnknownKey
	case errors.Is(err, tokens.ErrRefused):
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
func (a *authenticator) principal(ctx context.Context, secret string) (p identity.Principal, grants string, err error) {
	if a.tokens != nil && tokens.Looks(secret) {
		p, err = a.tokens.Verify(ctx, secret)
		// Neither a name nor a scope has a space in it, nor has a key's id.
		return p, p.Key() + " " + strings.Join(p.Scopes, " "), err
	}
	k, err := a.keys.Verify(ctx, secret)
	return k.Principal, k.ID, err
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
