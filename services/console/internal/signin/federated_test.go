package signin_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/oidc"
	"sabha.dev/services/console/internal/signin"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/oidctest"
)

// federated is a gate that an identity provider signs people in to. The provider
// sends them back to an address that is the gate's for the browser of the tests.
func federated(t *testing.T) (*rig, *oidctest.Provider) {
	t.Helper()
	idp := oidctest.New(t)
	idp.Now = func() time.Time { return noon }
	idp.SignIn(map[string]any{"sub": "asha", "name": "Asha", "roles": []string{"reviewer"}, "groups": []string{"claims"}})
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(oidctest.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, func(c *signin.Config) {
		var err error
		c.Provider, err = oidc.New(oidc.Config{
			Issuer: idp.URL, ClientID: oidctest.ClientID, ClientSecretFile: file, Organisations: []string{"acme"},
		}, "https://console.example.com", clocktest.New(noon))
		if err != nil {
			t.Fatal(err)
		}
	}), idp
}

// through goes to the provider and comes back.
func (b *browser) through(t *testing.T, to string) answer {
	t.Helper()
	return b.get(t, b.back(t, to))
}

// back is where the provider sends the browser, as a path of the gate.
func (b *browser) back(t *testing.T, to string) string {
	t.Helper()
	away := b.get(t, "/sign-in/provider?return="+url.QueryEscape(to))
	if away.status != http.StatusSeeOther {
		t.Fatalf("%d %s", away.status, away.body)
	}
	there := b.get(t, away.location)
	path, found := strings.CutPrefix(there.location, "https://console.example.com")
	if !found {
		t.Fatalf("the provider answers %d %s %s", there.status, there.location, there.body)
	}
	return path
}

func TestAnIdentityProviderSignsPeopleIn(t *testing.T) {
	r, idp := federated(t)
	b := r.browser(t)
	host := strings.TrimPrefix(idp.URL, "http://")
	b.get(t, "/sign-in?return=%2Ftasks").want(t, "the sign-in", http.StatusOK, "Sign in with "+host, `href="/sign-in/provider?return=%2Ftasks"`)
	b.through(t, "/tasks?a=b").want(t, "coming back", http.StatusSeeOther, "/tasks?a=b")
	b.get(t, "/tasks").want(t, "then", http.StatusOK, "called Asha; acme/asha may reviewer group:claims;")
	b.get(t, "/account").want(t, "the account", http.StatusOK, idp.URL)
	if strings.Contains(b.get(t, "/account").body, "New password") {
		t.Error("a password that is kept elsewhere can be changed here")
	}
	again := r.browser(t)
	if got := again.through(t, "https://evil.example").location; got != "/" {
		t.Errorf("it leads to %q", got)
	}
	r.add(t, account.Account{Subject: "admin", Roles: []string{"admin"}})
	admin := r.browser(t)
	admin.signIn(t, "admin", password)
	admin.post(t, "/accounts/change", url.Values{"account": {"acme/asha"}, "disabled": {"yes"}})
	if b.in(t) {
		t.Error("disabled, and still in")
	}
	again.through(t, "/").want(t, "disabled", http.StatusForbidden, "Your account is disabled.")
}

func TestASignInOfTheProviderIsRefused(t *testing.T) {
	r, idp := federated(t)
	r.add(t, account.Account{Organisation: "acme", Subject: "local"})
	asha := map[string]any{"sub": "asha", "roles": []string{"viewer"}}
	for fault, says := range map[oidctest.Fault]string{
		oidctest.WrongNonce: "did not come back as it began", oidctest.WrongAudience: "did not come back", oidctest.Expired: "did not come back",
		oidctest.Unsigned: "did not come back", oidctest.AlgNone: "did not come back", oidctest.StrangeKey: "did not come back",
		oidctest.Denied: "The identity provider did not sign you in.",
	} {
		idp.Fail(fault)
		b := r.browser(t)
		got := b.through(t, "/")
		if !strings.Contains(got.body, says) || got.status < 400 || b.in(t) {
			t.Errorf("%s: %d, in %t: %s", fault, got.status, b.in(t), got.body)
		}
	}
	idp.Fail(oidctest.None)
	for says, claims := range map[string]map[string]any{
		"You have no role in this console":                  {"sub": "asha", "roles": []string{"guest"}},
		"an account of your name that signs in another way": {"sub": "local", "roles": []string{"admin"}},
		"cannot be an account here":                         {"sub": "auth0|1", "roles": []string{"viewer"}},
	} {
		idp.SignIn(claims)
		b := r.browser(t)
		got := b.through(t, "/")
		got.want(t, says, http.StatusForbidden, says)
		if b.in(t) {
			t.Errorf("%s: in", says)
		}
	}
	idp.SignIn(asha)

	// What was begun in one browser does not end in another, and not twice.
	b, other := r.browser(t), r.browser(t)
	path := b.back(t, "/")
	other.get(t, path).want(t, "in a browser that began nothing", http.StatusBadRequest, "did not come back as it began")
	other.back(t, "/")
	other.get(t, path).want(t, "in a browser that began another", http.StatusBadRequest, "did not come back as it began")
	path = b.back(t, "/")
	b.get(t, path).want(t, "where it began", http.StatusSeeOther)
	b.get(t, path).want(t, "twice", http.StatusBadRequest, "did not come back as it began")

	idp.Fail(oidctest.Down)
	b = r.browser(t)
	if away := b.get(t, "/sign-in/provider"); away.status != http.StatusSeeOther {
		t.Errorf("%d", away.status)
	}
}

func TestWithoutAProviderThereIsNoWayToOne(t *testing.T) {
	b := start(t).browser(t)
	b.get(t, "/sign-in/provider").want(t, "there", http.StatusNotFound, "No identity provider is configured.")
	b.get(t, "/sign-in/callback?code=x&state=y").want(t, "back", http.StatusNotFound)
	if strings.Contains(b.get(t, "/sign-in").body, "Sign in with") {
		t.Error("the sign-in offers a provider")
	}
}
