package tokens_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/gateway/internal/tokens"
	"sabha.dev/testrig/clocktest"
)

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// issuer publishes keys and makes tokens.
type issuer struct {
	t      *testing.T
	url    string
	asked  atomic.Int64
	down   atomic.Bool
	keys   atomic.Pointer[jose.JSONWebKeySet]
	stated string // in the discovery document; its own URL unless set
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		if i.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		stated := i.url
		if i.stated != "" {
			stated = i.stated
		}
		answer(w, map[string]string{"issuer": stated, "jwks_uri": i.url + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		answer(w, i.keys.Load())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func (i *issuer) publish(keys map[string]*ecdsa.PrivateKey) {
	set := &jose.JSONWebKeySet{}
	for id, k := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: &k.PublicKey, KeyID: id, Use: "sig"})
	}
	i.keys.Store(set)
}

func (i *issuer) config() tokens.Config {
	return tokens.Config{Issuer: i.url, Audience: "sabha", Organisations: []string{"acme"}, Roles: []string{"reviewer", "viewer"}, Groups: []string{"loans"}}
}

func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// claims of a good token, with changes; nil takes a claim away.
func (i *issuer) claims(changes map[string]any) map[string]any {
	c := map[string]any{"iss": i.url, "aud": "sabha", "sub": "asha", "exp": morning.Add(5 * time.Minute).Unix()}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func verifier(t *testing.T, c *clocktest.Clock, configs ...tokens.Config) *tokens.Verifier {
	t.Helper()
	if err := tokens.Check(configs); err != nil {
		t.Fatal(err)
	}
	v, err := tokens.New(configs, c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTokensSayWhoCalls(t *testing.T) {
	i, key := newIssuer(t), newKey(t)
	i.publish(map[string]*ecdsa.PrivateKey{"k": key})
	several := i.config()
	several.Organisations, several.Claims.Organisation = []string{"acme", "bank"}, "org"
	nested := i.config()
	nested.Claims = tokens.Claims{Subject: "preferred_username", Roles: "realm_access.roles", Groups: "https://example.com/groups"}
	scoped := i.config()
	scoped.Claims = tokens.Claims{Subject: "client_id", Roles: "scope"}
	byMail := i.config()
	byMail.Claims.Subject = "email"
	for _, tt := range []struct {
		name   string
		config tokens.Config
		claims map[string]any
		want   identity.Principal
	}{
		{"a caller", i.config(), nil, identity.Principal{Subject: "asha", Organisation: "acme"}},
		{"several audiences", i.config(), map[string]any{"aud": []string{"other", "sabha"}}, identity.Principal{Subject: "asha", Organisation: "acme"}},
		{
			"roles and groups that are believed", i.config(),
			map[string]any{"roles": []string{"reviewer", "admin"}, "groups": "loans secret"},
			identity.Principal{Subject: "asha", Organisation: "acme", Scopes: []string{"reviewer", "group:loans"}},
		},
		{"an organisation by its claim", several, map[string]any{"org": "bank"}, identity.Principal{Subject: "asha", Organisation: "bank"}},
		{
			"claims elsewhere", nested,
			map[string]any{"preferred_username": "a@x", "realm_access": map[string]any{"roles": []string{"viewer"}}, "https://example.com/groups": []string{"loans"}},
			identity.Principal{Subject: "a@x", Organisation: "acme", Scopes: []string{"viewer", "group:loans"}},
		},
		{
			"a client by its scopes (RFC 9068)", scoped,
			map[string]any{"client_id": "agent-7", "scope": "openid reviewer viewer admin"},
			identity.Principal{Subject: "agent-7", Organisation: "acme", Scopes: []string{"reviewer", "viewer"}},
		},
		{"by address", byMail, map[string]any{"email": "asha@acme.example", "email_verified": true}, identity.Principal{Subject: "asha@acme.example", Organisation: "acme"}},
		{"clocks apart", i.config(), map[string]any{"exp": morning.Add(-30 * time.Second).Unix(), "nbf": morning.Add(30 * time.Second).Unix()}, identity.Principal{Subject: "asha", Organisation: "acme"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verifier(t, clocktest.New(morning), tt.config)
			token := signed(t, jose.ES256, key, "k", i.claims(tt.claims))
			for range 2 { // the second time from memory
				got, err := v.Verify(t.Context(), token)
				if err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%+v, %v; want %+v", got, err, tt.want)
				}
			}
		})
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	i, key := newIssuer(t), newKey(t)
	i.publish(map[string]*ecdsa.PrivateKey{"k": key})
	several := i.config()
	several.Organisations, several.Claims.Organisation = []string{"acme", "bank"}, "org"
	byMail := i.config()
	byMail.Claims.Subject = "email"
	good := signed(t, jose.ES256, key, "k", i.claims(nil))
	with := func(changes map[string]any) string { return signed(t, jose.ES256, key, "k", i.claims(changes)) }
	head, rest, _ := strings.Cut(good, ".")
	for _, tt := range []struct {
		name   string
		config tokens.Config
		token  string
		want   string
	}{
		{"no JWT", i.config(), "a.b.c", "it is no signed JWT with an algorithm that is allowed here"},
		{"alg none", i.config(), "eyJhbGciOiJub25lIn0." + rest, "it is no signed JWT with an algorithm that is allowed here"},
		{"a shared secret", i.config(), signed(t, jose.HS256, []byte(strings.Repeat("k", 32)), "k", i.claims(nil)), "an algorithm that is allowed here"},
		{"another issuer", i.config(), with(map[string]any{"iss": "https://evil.example"}), "its issuer is not trusted here"},
		{"another key", i.config(), signed(t, jose.ES256, newKey(t), "k", i.claims(nil)), "no key of its issuer has signed it"},
		{"a key that is not there", i.config(), signed(t, jose.ES256, key, "l", i.claims(nil)), "no key of its issuer has signed it"},
		{"changed claims", i.config(), head + "." + strings.Split(with(map[string]any{"sub": "admin"}), ".")[1] + "." + strings.Split(good, ".")[2], "no key of its issuer has signed it"},
		{"another audience", i.config(), with(map[string]any{"aud": "other"}), "it is for another audience"},
		{"no audience", i.config(), with(map[string]any{"aud": nil}), "it is for another audience"},
		{"expired", i.config(), with(map[string]any{"exp": morning.Add(-time.Minute).Unix()}), "it expired at 2026-03-01 07:59:00Z"},
		{"no end", i.config(), with(map[string]any{"exp": nil}), "it has no end (exp)"},
		{"for years", i.config(), with(map[string]any{"exp": morning.AddDate(1, 0, 0).Unix()}), "it is good for more than 24h0m0s from now"},
		{"not yet", i.config(), with(map[string]any{"nbf": morning.Add(2 * time.Minute).Unix()}), "it is not good yet (nbf)"},
		{"nobody", i.config(), with(map[string]any{"sub": nil}), "the claim sub is missing"},
		{"a name with a slash", i.config(), with(map[string]any{"sub": "bank/asha"}), "is no name of a caller here"},
		{"an organisation of others", several, with(map[string]any{"org": "evil"}), `its issuer does not speak for the organisation "evil" here`},
		{"no organisation", several, with(nil), `its issuer does not speak for the organisation "" here`},
		{"an address that nobody verified", byMail, with(map[string]any{"email": "asha@acme.example"}), "has not verified the address"},
		{"too large", i.config(), with(map[string]any{"more": strings.Repeat("a", tokens.MaxSize)}), "it is larger than 16384 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verifier(t, clocktest.New(morning), tt.config).Verify(t.Context(), tt.token)
			if !errors.Is(err, tokens.ErrRefused) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestATokenEndsWithItsTime(t *testing.T) {
	i, key, c := newIssuer(t), newKey(t), clocktest.New(morning)
	i.publish(map[string]*ecdsa.PrivateKey{"k": key})
	v := verifier(t, c, i.config())
	token := signed(t, jose.ES256, key, "k", i.claims(nil))
	for _, step := range []struct {
		after time.Duration
		good  bool
	}{{0, true}, {5*time.Minute + 59*time.Second, true}, {time.Second, false}} {
		c.Advance(step.after)
		if _, err := v.Verify(t.Context(), token); (err == nil) != step.good {
			t.Errorf("at %v: %v", c.Now().Sub(morning), err)
		}
	}
}

func TestKeysAreFetchedWhenTheyAreNeeded(t *testing.T) {
	i, first, second, c := newIssuer(t), newKey(t), newKey(t), clocktest.New(morning)
	i.publish(map[string]*ecdsa.PrivateKey{"one": first})
	v := verifier(t, c, i.config())
	make := func(key crypto.Signer, id, sub string) string {
		return signed(t, jose.ES256, key, id, i.claims(map[string]any{"sub": sub, "exp": morning.Add(time.Hour).Unix()}))
	}
	check := func(what string, token string, want error, asked int64) {
		t.Helper()
		_, err := v.Verify(t.Context(), token)
		if !errors.Is(err, want) || i.asked.Load() != asked {
			t.Errorf("%s: %v after %d questions, want %v after %d", what, err, i.asked.Load(), want, asked)
		}
	}
	check("the first token", make(first, "one", "a"), nil, 1)
	check("another", make(first, "one", "b"), nil, 1)
	i.publish(map[string]*ecdsa.PrivateKey{"one": first, "two": second})
	check("a new key, at once", make(second, "two", "a"), tokens.ErrRefused, 1)
	c.Advance(10 * time.Second)
	check("a new key, later", make(second, "two", "a"), nil, 2)
	check("keys that are made up", make(newKey(t), "x", "a"), tokens.ErrRefused, 2)
	check("keys that are made up", make(newKey(t), "y", "a"), tokens.ErrRefused, 2)
	i.publish(map[string]*ecdsa.PrivateKey{"two": second}) // the first was withdrawn
	i.down.Store(true)
	c.Advance(10 * time.Minute)
	check("an issuer that is away", make(second, "two", "c"), nil, 3)
	i.down.Store(false)
	c.Advance(10 * time.Minute)
	check("a key that was withdrawn", make(first, "one", "d"), tokens.ErrRefused, 4)
}

func TestAnIssuerThatIsAwayIsNoBadToken(t *testing.T) {
	i, key, c := newIssuer(t), newKey(t), clocktest.New(morning)
	i.publish(map[string]*ecdsa.PrivateKey{"k": key})
	i.down.Store(true)
	v := verifier(t, c, i.config())
	token := signed(t, jose.ES256, key, "k", i.claims(nil))
	if _, err := v.Verify(t.Context(), token); !errors.Is(err, tokens.ErrUnreachable) {
		t.Error(err)
	}
	i.down.Store(false)
	c.Advance(10 * time.Second)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
	other := newIssuer(t)
	other.publish(map[string]*ecdsa.PrivateKey{"k": key})
	other.stated = "https://somebody.example"
	v = verifier(t, c, other.config())
	if _, err := v.Verify(t.Context(), signed(t, jose.ES256, key, "k", other.claims(nil))); !errors.Is(err, tokens.ErrUnreachable) || !strings.Contains(err.Error(), `that of "https://somebody.example"`) {
		t.Error(err)
	}
}

func TestKeysOfAFile(t *testing.T) {
	i, key := newIssuer(t), newKey(t)
	i.publish(map[string]*ecdsa.PrivateKey{"k": key})
	raw, err := json.Marshal(i.keys.Load())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c := i.config()
	c.KeysFile = file
	if _, err := verifier(t, clocktest.New(morning), c).Verify(t.Context(), signed(t, jose.ES256, key, "k", i.claims(nil))); err != nil || i.asked.Load() != 0 {
		t.Error(err, i.asked.Load())
	}
	if err := os.WriteFile(file, []byte(`{"keys":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.New([]tokens.Config{c}, clocktest.New(morning)); err == nil || !strings.Contains(err.Error(), "there is no key with an id among them") {
		t.Error(err)
	}
}

func TestWhatCannotBeMeant(t *testing.T) {
	good := tokens.Config{Issuer: "https://idp.example", Audience: "sabha", Organisations: []string{"acme"}}
	for want, change := range map[string]func(*tokens.Config){
		"issuers[0].issuer is missing":                             func(c *tokens.Config) { c.Issuer = "" },
		`issuers[0].issuer: "http://idp.example" must be https://`: func(c *tokens.Config) { c.Issuer = "http://idp.example" },
		"issuers[0].audience is missing":                           func(c *tokens.Config) { c.Audience = "" },
		"issuers[0].organisations is missing":                      func(c *tokens.Config) { c.Organisations = nil },
		"issuers[0].claims.organisation is missing":                func(c *tokens.Config) { c.Organisations = []string{"a", "b"} },
		`issuers[0].organisations: "a/b" is no name`:               func(c *tokens.Config) { c.Organisations = []string{"a/b"} },
		`issuers[0].roles: "king" is no role`:                      func(c *tokens.Config) { c.Roles = []string{"king"} },
		`issuers[0].groups: "a b" is no name of a group`:           func(c *tokens.Config) { c.Groups = []string{"a b"} },
		"issuers[0].keys_url and keys_file name the keys both":     func(c *tokens.Config) { c.KeysURL, c.KeysFile = "https://x", "y" },
		`issuers[0].keys_url: "ftp://x" must be https://`:          func(c *tokens.Config) { c.KeysURL = "ftp://x" },
	} {
		c := good
		change(&c)
		if err := tokens.Check([]tokens.Config{c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := tokens.Check([]tokens.Config{good, good}); err == nil || !strings.Contains(err.Error(), "issuers[1].issuer: \"https://idp.example\" stands twice") {
		t.Error(err)
	}
	named := good
	named.Issuer, named.KeysFile = "our-own", "keys.json"
	if err := tokens.Check([]tokens.Config{good, named}); err != nil {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJvdXItb3duIn0.AAAA")
	file := filepath.Join(f.TempDir(), "keys.json")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k"}}})
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		f.Fatal(err)
	}
	v, err := tokens.New([]tokens.Config{{Issuer: "our-own", Audience: "sabha", KeysFile: file, Organisations: []string{"acme"}}}, clocktest.New(morning))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := v.Verify(t.Context(), token); !errors.Is(err, tokens.ErrRefused) {
			t.Fatalf("%q: %+v, %v", token, p, err)
		}
	})
}
