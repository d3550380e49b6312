package edge

import (
	"context"
	"errors"
	"strings"
	"sync"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/gateway/internal/callers"
)

// Keys verifies API keys. Unknown ones give callers.ErrUnknown.
type Keys interface {
	Verify(ctx context.Context, secret string) (callers.Key, error)
}

// Granter signs that a principal asked.
type Granter interface {
	Grant(p identity.Principal) (string, error)
}

// credential finds the API key in a call's X-API-Key and Authorization values.
// Without credentials it is empty. Credentials that are given but are not one
// key are refused: a caller who meant to be known is never taken for anonymous.
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
	if len(authorizations) == 0 {
		return key, nil
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(authorizations[0]), " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", fault.New(fault.Unauthenticated, "Authorization must be: Bearer followed by an API key")
	case !strings.HasPrefix(token, callers.Prefix):
		return "", fault.New(fault.Unauthenticated, "bearer tokens must be API keys; they begin with %s", callers.Prefix)
	case key != "" && key != token:
		return "", fault.New(fault.Unauthenticated, "X-API-Key and Authorization give different keys; send one of them")
	}
	return token, nil
}

// authenticator turns API keys into the calls that are made with them.
type authenticator struct {
	keys    Keys
	granter Granter

	mu     sync.RWMutex
	grants map[string]string // by key id
}

// heldGrants bounds the grants in memory; a full memory starts afresh.
const heldGrants = 8192

// known gives the call of an API key, with the gateway's grant for its principal.
func (a *authenticator) known(ctx context.Context, secret string) (identity.Call, error) {
	k, err := a.keys.Verify(ctx, secret)
	switch {
	case errors.Is(err, callers.ErrUnknown):
		return identity.Call{}, errUnknownKey
	case err != nil && ctx.Err() != nil:
		return identity.Call{}, ctx.Err()
	case err != nil:
		return identity.Call{}, fault.New(fault.Unavailable, "credentials cannot be checked at the moment; try again later").Because(err)
	}
	grant, err := a.grant(k)
	if err != nil {
		return identity.Call{}, err
	}
	return identity.Call{Principal: k.Principal, Actor: identity.Gateway, Grant: grant}, nil
}

var errUnknownKey = fault.New(fault.Unauthenticated, "the API key is not known, or it was revoked")

// grant signs once for each key: what a key grants never changes.
func (a *authenticator) grant(k callers.Key) (string, error) {
	a.mu.RLock()
	grant, ok := a.grants[k.ID]
	a.mu.RUnlock()
	if ok {
		return grant, nil
	}
	grant, err := a.granter.Grant(k.Principal)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.grants) >= heldGrants {
		clear(a.grants)
	}
	a.grants[k.ID] = grant
	return grant, nil
}
