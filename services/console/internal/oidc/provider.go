package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/account"
)

// Errors of a provider. What lies behind them is in the chain, for the log.
var (
	// ErrUnreachable says that the provider gave no answer, or none that can be used.
	ErrUnreachable = errors.New("the identity provider cannot be reached")
	// ErrRefused says that what came back from the browser or the provider is not to
	// be believed.
	ErrRefused = errors.New("the sign-in did not come back as it began")
	// ErrDeclined says that the provider did not sign the person in.
	ErrDeclined = errors.New("the identity provider did not sign you in")
	// ErrClaims says that the provider does not state what an account needs. Its text
	// is for people.
	ErrClaims = errors.New("the identity provider does not say who you are")
	// ErrOrganisation says that people of the organisation do not sign in here.
	ErrOrganisation = errors.New("people of your organisation do not sign in here")
)

// answerWithin bounds each call of the provider.
const answerWithin = 10 * time.Second

// CallbackPath is where the provider sends people back to.
const CallbackPath = "/sign-in/callback"

// Provider signs people in.
type Provider struct {
	config Config
	secret string
	base   string
	clock  clock.Clock
	client *http.Client

	known atomic.Pointer[discovered]
}

type discovered struct {
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// New makes a provider that sends people back to base, the console's public URL. It
// reads the client's secret; the provider is asked when somebody signs in.
func New(c Config, base string, clk clock.Clock) (*Provider, error) {
	raw, err := os.ReadFile(c.ClientSecretFile)
	if err != nil {
		return nil, fmt.Errorf("oidc.client_secret_file: %w", err)
	}
	c.Claims.Subject = cmp.Or(c.Claims.Subject, "sub")
	c.Claims.Name = cmp.Or(c.Claims.Name, "name")
	c.Claims.Roles = cmp.Or(c.Claims.Roles, "roles")
	c.Claims.Groups = cmp.Or(c.Claims.Groups, "groups")
	if c.Scopes == nil {
		c.Scopes = []string{"profile", "email"}
	}
	return &Provider{
		config: c, secret: strings.TrimSpace(string(raw)), base: strings.TrimRight(base, "/"), clock: clk,
		client: &http.Client{Timeout: answerWithin},
	}, nil
}

// Name of the provider as people know it: its host.
func (p *Provider) Name() string {
	u, err := url.Parse(p.config.Issuer)
	if err != nil {
		return p.config.Issuer
	}
	return u.Host
}

// discover reads the discovery document when it is first needed.
func (p *Provider) discover() (*discovered, error) {
	if known := p.known.Load(); known != nil {
		return known, nil
	}
	// The provider keeps the context for as long as it fetches keys.
	ctx := oidc.ClientContext(context.Background(), p.client)
	found, err := oidc.NewProvider(ctx, p.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	known := &discovered{
		oauth: oauth2.Config{
			ClientID: p.config.ClientID, ClientSecret: p.secret, Endpoint: found.Endpoint(), RedirectURL: p.base + CallbackPath,
			Scopes: append([]string{oidc.ScopeOpenID}, p.config.Scopes...),
		},
		verifier: found.VerifierContext(ctx, &oidc.Config{ClientID: p.config.ClientID, Now: p.clock.Now}),
	}
	p.known.Store(known)
	return known, nil
}

// Begin gives the address at the provider that begins a flow. The error is ErrUnreachable.
func (p *Provider) Begin(f Flow) (string, error) {
	d, err := p.discover()
	if err != nil {
		return "", err
	}
	return d.oauth.AuthCodeURL(f.state(), oidc.Nonce(f.nonce()), oauth2.S256ChallengeOption(f.verifier())), nil
}

// Finish gives the person of a flow that came back with a query. The errors are those
// of this package.
func (p *Provider) Finish(ctx context.Context, f Flow, query url.Values) (account.Account, error) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(f.state())) != 1 {
		return account.Account{}, fmt.Errorf("%w: the state is another", ErrRefused)
	}
	if reason := query.Get("error"); reason != "" {
		return account.Account{}, fmt.Errorf("%w: %q", ErrDeclined, reason)
	}
	d, err := p.discover()
	if err != nil {
		return account.Account{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := d.oauth.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.verifier()))
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError {
		return account.Account{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return account.Account{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return account.Account{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.nonce())) != 1 {
		return account.Account{}, fmt.Errorf("%w: the nonce is another", ErrRefused)
	}
	claims := identity.Claims{}
	if err := id.Claims(&claims); err != nil {
		return account.Account{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return p.person(claims)
}

// person is who the claims say.
func (p *Provider) person(claims identity.Claims) (account.Account, error) {
	c := p.config.Claims
	a := account.Account{
		Source: p.config.Issuer, Subject: claims.Text(c.Subject), Name: claims.Text(c.Name), Organisation: p.config.Organisations[0],
	}
	if a.Subject == "" {
		return account.Account{}, fmt.Errorf("%w: the claim %s is missing", ErrClaims, c.Subject)
	}
	if verified, _ := claims["email_verified"].(bool); c.Subject == "email" && !verified {
		return account.Account{}, fmt.Errorf("%w: your address has not been verified", ErrClaims)
	}
	if c.Organisation != "" {
		if a.Organisation = claims.Text(c.Organisation); a.Organisation == "" {
			return account.Account{}, fmt.Errorf("%w: the claim %s is missing", ErrClaims, c.Organisation)
		}
	}
	if !slices.Contains(p.config.Organisations, a.Organisation) {
		return account.Account{}, fmt.Errorf("%w: %q", ErrOrganisation, a.Organisation)
	}
	a.Roles = slices.DeleteFunc(claims.List(c.Roles), func(r string) bool { return !slices.Contains(identity.Roles(), r) })
	for _, g := range claims.List(c.Groups) {
		// A name that cannot be a group's here is one that nothing here is given to.
		if (identity.Principal{Subject: a.Subject, Scopes: []string{identity.GroupScope(g)}}).Check() == nil {
			a.Groups = append(a.Groups, g)
		}
	}
	return a, nil
}
