package identity

import (
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// KeyID names a public key: its JWK thumbprint (RFC 7638, RFC 8037), so that a
// replaced key has another name.
func KeyID(key ed25519.PublicKey) string {
	sum, err := (&jose.JSONWebKey{Key: key}).Thumbprint(crypto.SHA256)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// JWKS is the keyring as it is published (RFC 7517), in the order of services.
func (k Keyring) JWKS() jose.JSONWebKeySet {
	var set jose.JSONWebKeySet
	for _, service := range slices.Sorted(maps.Keys(k)) {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k[service], KeyID: KeyID(k[service]), Algorithm: string(jose.EdDSA), Use: "sig"})
	}
	return set
}
