package oidc_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/oidc"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/oidctest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const base = "https://console.example.com"

func config(t *testing.T, issuer string) oidc.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(oidctest.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return oidc.Config{Issuer: issuer, ClientID: oidctest.ClientID, ClientSecretFile: file, Organisations: []string{"acme"}}
}

func provider(t *testing.T, c oidc.Config) *oidc.Provider {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	p, err := oidc.New(c, base+"/", clocktest.New(noon))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// issuer is a provider of identities whose clock is that of the tests.
func issuer(t *testing.T) *oidctest.Provider {
	t.Helper()
	idp := oidctest.New(t)
	idp.Now = func() time.Time { return noon }
	idp.SignIn(map[string]any{"sub": "alma", "name": "Alma Rao", "roles": []string{"reviewer", "admin-of-something"}, "groups": []string{"claims", "Not Ours"}})
	return idp
}

// authorized goes to the provider as a browser does, and gives what it comes back with.
func authorized(t *testing.T, p *oidc.Provider, f oidc.Flow) url.Values {
	t.Helper()
	address, err := p.Begin(f)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	back, err := res.Location()
	if err != nil {
		return nil
	}
	if back.Scheme+"://"+back.Host+back.Path != base+oidc.CallbackPath {
		t.Fatalf("sent back to %s", back)
	}
	return back.Query()
}

func signIn(t *testing.T, p *oidc.Provider) (account.Account, error) {
	t.Helper()
	f := oidc.NewFlow("/tasks")
	return p.Finish(t.Context(), f, authorized(t, p, f))
}

func TestAProviderSignsSomebodyIn(t *testing.T) {
	idp := issuer(t)
	p := provider(t, config(t, idp.URL))
	a, err := signIn(t, p)
	if err != nil {
		t.Fatal(err)
	}
	if a.Source != idp.URL || a.Organisation != "acme" || a.Subject != "alma" || a.Name != "Alma Rao" ||
		!slices.Equal(a.Roles, []string{"reviewer"}) || !slices.Equal(a.Groups, []string{"claims"}) {
		t.Errorf("account %+v", a)
	}
	asked := idp.Asked()
	if asked.Get("scope") != "openid profile email" || asked.Get("code_challenge_method") != "S256" || len(asked.Get("code_challenge")) != 43 || asked.Get("nonce") == "" {
		t.Errorf("asked %v", asked)
	}
	if again, err := signIn(t, p); err != nil || again.Subject != "alma" {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestWhatAProviderMustNotGetAwayWith(t *testing.T) {
	idp := issuer(t)
	p := provider(t, config(t, idp.URL))
	for fault, want := range map[oidctest.Fault]error{
		oidctest.WrongNonce: oidc.ErrRefused, oidctest.NoNonce: oidc.ErrRefused, oidctest.WrongAudience: oidc.ErrRefused,
		oidctest.WrongIssuer: oidc.ErrRefused, oidctest.Expired: oidc.ErrRefused, oidctest.Unsigned: oidc.ErrRefused,
		oidctest.AlgNone: oidc.ErrRefused, oidctest.StrangeKey: oidc.ErrRefused, oidctest.PublicKeyAsMAC: oidc.ErrRefused,
		oidctest.NoIDToken: oidc.ErrRefused, oidctest.Denied: oidc.ErrDeclined,
	} {
		idp.Fail(fault)
		if a, err := signIn(t, p); !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v; want %v", fault, a, err, want)
		}
	}
	idp.Fail(oidctest.None)
	if _, err := signIn(t, p); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAFlowEndsOnlyWhereItBegan(t *testing.T) {
	p := provider(t, config(t, issuer(t).URL))
	mine, theirs := oidc.NewFlow("/"), oidc.NewFlow("/")
	back := authorized(t, p, theirs)
	if a, err := p.Finish(t.Context(), mine, back); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a code of another flow with its state: %+v, %v", a, err)
	}
	// Even with the right state, the code is worth nothing without the verifier that it was made for.
	state := authorized(t, p, mine).Get("state")
	if a, err := p.Finish(t.Context(), mine, url.Values{"state": {state}, "code": back["code"]}); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a code of another flow: %+v, %v", a, err)
	}
	back = authorized(t, p, mine)
	if _, err := p.Finish(t.Context(), mine, back); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Finish(t.Context(), mine, back); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a code that was taken: %v", err)
	}
	if _, err := p.Finish(t.Context(), mine, url.Values{}); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("nothing: %v", err)
	}
}

func TestWhoAPersonIsStandsInTheClaims(t *testing.T) {
	idp := issuer(t)
	several := func(c *oidc.Config) {
		c.Organisations = []string{"acme", "globex"}
		c.Claims = oidc.Claims{Subject: "email", Organisation: "https://example.com/org", Name: "profile.display", Roles: "realm_access.roles", Groups: "teams"}
	}
	for name, c := range map[string]struct {
		change func(*oidc.Config)
		claims map[string]any
		want   string
		err    error
	}{
		"paths": {several, map[string]any{
			"sub": "1", "email": "asha@globex.example", "email_verified": true, "https://example.com/org": "globex",
			"profile": map[string]any{"display": "Asha"}, "realm_access": map[string]any{"roles": []any{"operator", 7}}, "teams": "loans claims",
		}, "globex/asha@globex.example Asha [operator] [loans claims]", nil},
		"an unverified address":     {several, map[string]any{"sub": "1", "email": "asha@globex.example", "https://example.com/org": "globex"}, "", oidc.ErrClaims},
		"no organisation":           {several, map[string]any{"sub": "1", "email": "a@b", "email_verified": true}, "", oidc.ErrClaims},
		"another organisation":      {several, map[string]any{"sub": "1", "email": "a@b", "email_verified": true, "https://example.com/org": "evil"}, "", oidc.ErrOrganisation},
		"a subject that is no text": {func(c *oidc.Config) { c.Claims.Subject = "n" }, map[string]any{"sub": "1", "n": 7}, "", oidc.ErrClaims},
		"no roles":                  {func(*oidc.Config) {}, map[string]any{"sub": "bob"}, "acme/bob  [] []", nil},
	} {
		conf := config(t, idp.URL)
		c.change(&conf)
		idp.SignIn(c.claims)
		a, err := signIn(t, provider(t, conf))
		got := a.Full() + " " + a.Name + " [" + strings.Join(a.Roles, " ") + "] [" + strings.Join(a.Groups, " ") + "]"
		if !errors.Is(err, c.err) || (c.err == nil && (err != nil || got != c.want)) {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, c.want, c.err)
		}
	}
}

func TestAProviderThatGivesNoAnswer(t *testing.T) {
	idp := issuer(t)
	p := provider(t, config(t, idp.URL))
	f := oidc.NewFlow("/")
	back := authorized(t, p, f)
	idp.Fail(oidctest.Down)
	if _, err := p.Finish(t.Context(), f, back); !errors.Is(err, oidc.ErrUnreachable) {
		t.Errorf("down: %v", err)
	}
	away := provider(t, config(t, "http://127.0.0.1:1"))
	if _, err := away.Begin(f); !errors.Is(err, oidc.ErrUnreachable) {
		t.Errorf("away: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Finish(ctx, f, back); !errors.Is(err, oidc.ErrUnreachable) {
		t.Errorf("given up: %v", err)
	}
}

func TestWhatAConfigurationLacks(t *testing.T) {
	for says, change := range map[string]func(*oidc.Config){
		"oidc.issuer is missing":              func(c *oidc.Config) { c.Issuer = "" },
		"must be https://":                    func(c *oidc.Config) { c.Issuer = "http://idp.example.com" },
		"oidc.client_id is missing":           func(c *oidc.Config) { c.ClientID = "" },
		"oidc.client_secret_file is missing":  func(c *oidc.Config) { c.ClientSecretFile = "" },
		"oidc.organisations is missing":       func(c *oidc.Config) { c.Organisations = nil },
		"oidc.claims.organisation is missing": func(c *oidc.Config) { c.Organisations = []string{"a", "b"} },
		"a name is empty":                     func(c *oidc.Config) { c.Organisations = []string{" "} },
	} {
		c := config(t, "https://idp.example.com")
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	if err := (oidc.Config{}).Check(); err != nil {
		t.Errorf("none at all: %v", err)
	}
	c := config(t, "https://idp.example.com")
	c.ClientSecretFile = "/nowhere"
	if _, err := oidc.New(c, base, clocktest.New(noon)); err == nil || !strings.Contains(err.Error(), "oidc.client_secret_file") {
		t.Errorf("a secret that is not there: %v", err)
	}
}

func FuzzAFlowIsReadAsItWasWritten(f *testing.F) {
	f.Add("")
	f.Add("a.b")
	f.Add(oidc.NewFlow("/tasks?state=failed").String())
	f.Fuzz(func(t *testing.T, s string) {
		flow, ok := oidc.ParseFlow(s)
		if !ok {
			return
		}
		if again, ok := oidc.ParseFlow(flow.String()); !ok || again != flow {
			t.Errorf("%q is %+v, then %+v", s, flow, again)
		}
	})
}
