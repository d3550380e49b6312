package cardsig

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Key is a public key that cards are verified with.
type Key struct {
	jose.JSONWebKey
	// NotAfter is when it expires, zero for never; RevokedAt when it was revoked, zero
	// while it is not. A key that was revoked verifies nothing, however old the signature:
	// a signature has no time that could be believed.
	NotAfter, RevokedAt time.Time
}

// Keys finds the key that a signature names. Jku is where the signer says that it is
// published: a claim of whoever made the card, so it may be followed only to places that
// are trusted for other reasons.
type Keys func(ctx context.Context, id, jku string) (Key, error)

// KeySet are published keys (RFC 7517), by id. Members "exp" (seconds since 1970) and
// "revoked" (an object with "revoked_at") bound their use, as in OpenID Federation 1.0.
type KeySet map[string]Key

// ParseKeys reads a JWKS. Keys that cannot verify, or have no id, are left out; two of
// one id are an error.
func ParseKeys(raw []byte) (KeySet, error) {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("the keys are no JWKS: %w", err)
	}
	if doc.Keys == nil {
		return nil, errors.New(`the keys are no JWKS: it has no member "keys"`)
	}
	set := KeySet{}
	for _, raw := range doc.Keys {
		var k Key
		var life struct {
			Expiry  int64 `json:"exp"`
			Revoked *struct {
				At int64 `json:"revoked_at"`
			} `json:"revoked"`
		}
		if k.UnmarshalJSON(raw) != nil || !k.Valid() || k.KeyID == "" || (k.Use != "" && k.Use != "sig") {
			continue
		}
		if err := json.Unmarshal(raw, &life); err != nil {
			return nil, fmt.Errorf("key %q: %w", k.KeyID, err)
		}
		if k.JSONWebKey = k.Public(); k.Key == nil {
			continue // a shared secret
		}
		if life.Expiry != 0 {
			k.NotAfter = time.Unix(life.Expiry, 0)
		}
		if life.Revoked != nil {
			k.RevokedAt = time.Unix(life.Revoked.At, 0)
		}
		if _, twice := set[k.KeyID]; twice {
			return nil, fmt.Errorf("two keys have the id %q", k.KeyID)
		}
		set[k.KeyID] = k
	}
	return set, nil
}

// Find gives a key of the set, wherever the signature says that it is published.
func (s KeySet) Find(_ context.Context, id, _ string) (Key, error) {
	if k, ok := s[id]; ok {
		return k, nil
	}
	return Key{}, errors.New("no trusted key has this id")
}

// KeyID is the name that a key has unless its owner gives it one: its JWK thumbprint
// (RFC 7638), so that another key has another name.
func KeyID(public crypto.PublicKey) (string, error) {
	if _, err := algorithmOf(public); err != nil {
		return "", err
	}
	sum, err := (&jose.JSONWebKey{Key: public}).Thumbprint(crypto.SHA256)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sum), nil
}

// JWKS writes public keys as they are published, each under its [KeyID].
func JWKS(public ...crypto.PublicKey) ([]byte, error) {
	var set jose.JSONWebKeySet
	for _, key := range public {
		id, err := KeyID(key)
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key, KeyID: id, Use: "sig"})
	}
	return json.MarshalIndent(set, "", "  ")
}
