package load

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-jose/go-jose/v4"
)

// Keys reads the keys with which a platform signs its webhooks, at a gateway.
func Keys(ctx context.Context, gateway string) (keys jose.JSONWebKeySet, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+gateway+"/.well-known/jwks.json", nil)
	if err != nil {
		return keys, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return keys, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return keys, fmt.Errorf("keys of webhooks: %s", res.Status)
	}
	return keys, json.NewDecoder(res.Body).Decode(&keys)
}

// signed checks that the platform has signed a body for a URL.
func signed(keys jose.JSONWebKeySet, url, signature string, body []byte) error {
	jws, err := jose.ParseSignedCompact(signature, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return err
	}
	payload, err := jws.Verify(keys)
	if err != nil {
		return err
	}
	var claims struct {
		Audience string `json:"aud"`
		Digest   string `json:"sha256"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if claims.Audience != url || claims.Digest != base64.RawURLEncoding.EncodeToString(sum[:]) {
		return errors.New("another body or receiver was signed")
	}
	return nil
}
