package oidc

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Flow is a sign-in that has begun and comes back to the same browser, which keeps it
// in a cookie. What the provider must give back is made of its secret, so nothing is
// stored meanwhile, and what was begun in one browser does not end in another.
type Flow struct {
	secret string
	// Return is where the person wanted to go.
	Return string
}

// NewFlow begins a flow.
func NewFlow(to string) Flow { return Flow{secret: rand.Text(), Return: to} }

// ParseFlow reads what String gave.
func ParseFlow(s string) (Flow, bool) {
	secret, rest, found := strings.Cut(s, ".")
	to, err := base64.RawURLEncoding.DecodeString(rest)
	if !found || err != nil || len(secret) < len(rand.Text()) {
		return Flow{}, false
	}
	return Flow{secret: secret, Return: string(to)}, true
}

// String is the flow for the cookie.
func (f Flow) String() string {
	return f.secret + "." + base64.RawURLEncoding.EncodeToString([]byte(f.Return))
}

// derive gives a value of the flow for one purpose: 43 characters of base64url, which
// is a PKCE verifier too (RFC 7636, section 4.1).
func (f Flow) derive(purpose string) string {
	mac := hmac.New(sha256.New, []byte(f.secret))
	mac.Write([]byte(purpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (f Flow) state() string    { return f.derive("state") }
func (f Flow) nonce() string    { return f.derive("nonce") }
func (f Flow) verifier() string { return f.derive("verifier") }
