// Package oidctest is an OpenID Connect provider for tests, over real sockets:
// discovery, keys, authorization with PKCE, signed ID tokens. It signs in whom the
// test says without asking anybody, and can be told to make every mistake that a
// client must see.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// The client that the provider knows.
const (
	ClientID     = "console"
	ClientSecret = "the client's secret / with signs: & %"
)

// Fault is a mistake of the provider, or of somebody between it and the client.
type Fault string

// The faults.
const (
	// None is no mistake.
	None           Fault = ""
	WrongNonce     Fault = "a nonce of another sign-in"
	NoNonce        Fault = "no nonce"
	WrongAudience  Fault = "the audience of another client"
	WrongIssuer    Fault = "the issuer of another provider"
	Expired        Fault = "an end that has passed"
	Unsigned       Fault = "no signature"
	AlgNone        Fault = "the algorithm none"
	StrangeKey     Fault = "a key that the provider does not publish"
	PublicKeyAsMAC Fault = "the public key as the secret of HS256"
	NoIDToken      Fault = "no ID token"
	// Down answers everything but discovery and keys with 503.
	Down Fault = "the provider is down"
	// Denied sends the person back with an error instead of a code.
	Denied Fault = "the person is not signed in"
)

// Provider is a running provider.
type Provider struct {
	// URL is the issuer.
	URL string
	// Now is what the provider takes for the time.
	Now func() time.Time

	server *httptest.Server
	key    *rsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any
	fault  Fault
	codes  map[string]begun
	asked  url.Values
}

// begun is an authorization whose code has not been taken.
type begun struct{ challenge, nonce, redirect string }

// New starts a provider; it stops with the test.
func New(tb testing.TB) *Provider {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Provider{key: key, Now: time.Now, codes: map[string]begun{}, claims: map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.server = httptest.NewServer(mux)
	p.URL = p.server.URL
	tb.Cleanup(p.server.Close)
	return p
}

// SignIn says whom the provider signs in from now on: the claims beside those that
// every ID token has.
func (p *Provider) SignIn(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = maps.Clone(claims)
}

// Fail has the provider make a mistake from now on.
func (p *Provider) Fail(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Asked is what the last authorization asked for.
func (p *Provider) Asked() url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *Provider) state() (map[string]any, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.claims), p.fault
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	})
}

const keyID = "one"

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: keyID, Algorithm: "RS256", Use: "sig"}}})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	_, fault := p.state()
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case fault == Down:
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	case err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		!strings.Contains(" "+q.Get("scope")+" ", " openid ") || q.Get("state") == "":
		http.Error(w, "this is no authorization request with PKCE", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.asked = q
	p.codes[code] = begun{q.Get("code_challenge"), q.Get("nonce"), q.Get("redirect_uri")}
	p.mu.Unlock()
	answers := url.Values{"state": q["state"], "code": {code}}
	if fault == Denied {
		answers = url.Values{"state": q["state"], "error": {"access_denied"}}
	}
	back.RawQuery = answers.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	_, fault := p.state()
	if fault == Down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	// RFC 6749, section 2.3.1: both are form-encoded before they are put together.
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if id != ClientID || subtle.ConstantTimeCompare([]byte(secret), []byte(ClientSecret)) != 1 {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	b, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code")) // a code is good once
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != b.redirect ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != b.challenge {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	body := map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300}
	if fault != NoIDToken {
		token, err := p.idToken(b.nonce)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body["id_token"] = token
	}
	answer(w, http.StatusOK, body)
}

func (p *Provider) idToken(nonce string) (string, error) {
	claims, fault := p.state()
	now := p.Now()
	for name, value := range map[string]any{"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "nonce": nonce} {
		claims[name] = value
	}
	signing := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: keyID}}
	switch fault {
	case WrongNonce:
		claims["nonce"] = rand.Text()
	case NoNonce:
		delete(claims, "nonce")
	case WrongAudience:
		claims["aud"] = "another"
	case WrongIssuer:
		claims["iss"] = "https://other.example.com"
	case Expired:
		claims["iat"], claims["exp"] = now.Add(-time.Hour).Unix(), now.Add(-time.Minute).Unix()
	case StrangeKey:
		strange, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return "", err
		}
		signing.Key = jose.JSONWebKey{Key: strange, KeyID: keyID}
	case PublicKeyAsMAC:
		signing = jose.SigningKey{Algorithm: jose.HS256, Key: p.key.N.Bytes()}
	}
	signer, err := jose.NewSigner(signing, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		return "", err
	}
	parts := strings.Split(token, ".")
	switch fault {
	case Unsigned:
		return parts[0] + "." + parts[1] + ".", nil
	case AlgNone:
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + ".", nil
	}
	return token, nil
}
