package push

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/clock"
)

// ReceiverPath is where a platform takes the notifications of its partners; the secret of
// one call follows.
const ReceiverPath = "/v1/partners/push/"

// leeway is how far the clocks of sender and receiver may be apart.
const leeway = 30 * time.Second

// maxSignature bounds a signature, bytes.
const maxSignature = 8 << 10

// Verifier verifies the signatures of notifications. Keys and Clock must be set.
type Verifier struct {
	// Keys finds the key that a signature names, as for cards.
	Keys  cardsig.Keys
	Clock clock.Clock
	// Algorithms that are believed; nil means [cardsig.Algorithms].
	Algorithms []jose.SignatureAlgorithm
}

// Verify gives what a signature claims of a body that was sent to a URL. The error says in
// a few words what is wrong with it; that of keys which cannot be had is in its chain.
func (v *Verifier) Verify(ctx context.Context, signature, url string, body []byte) (*Claims, error) {
	allowed := v.Algorithms
	if allowed == nil {
		allowed = cardsig.Algorithms
	}
	if len(signature) > maxSignature {
		return nil, errors.New("it is too long")
	}
	jws, err := jose.ParseSignedCompact(signature, allowed)
	if err != nil {
		return nil, errors.New("it is no compact JWS of an algorithm that is allowed")
	}
	h := jws.Signatures[0].Protected
	jku, _ := h.ExtraHeaders["jku"].(string)
	if h.KeyID == "" {
		return nil, errors.New("it names no key (kid)")
	}
	key, err := v.Keys(ctx, h.KeyID, jku)
	now := v.Clock.Now()
	switch {
	case err != nil:
		return nil, err
	case !key.RevokedAt.IsZero():
		return nil, errors.New("its key has been revoked")
	case !key.NotAfter.IsZero() && !now.Before(key.NotAfter):
		return nil, errors.New("its key has expired")
	case key.Algorithm != "" && key.Algorithm != h.Algorithm:
		return nil, fmt.Errorf("its key is for %s", key.Algorithm)
	}
	payload, err := jws.Verify(key.JSONWebKey)
	if err != nil {
		return nil, errors.New("it is not of the key that it names")
	}
	c := &Claims{}
	if err := json.Unmarshal(payload, c); err != nil {
		return nil, errors.New("its claims are not of the form that they have")
	}
	switch {
	case c.Audience != url:
		return nil, errors.New("it is for another receiver")
	case subtle.ConstantTimeCompare([]byte(c.Digest), []byte(Digest(body))) != 1:
		return nil, errors.New("another body was signed")
	case !now.Before(time.Unix(c.Expiry, 0).Add(leeway)):
		return nil, errors.New("it is too old")
	case time.Unix(c.IssuedAt, 0).After(now.Add(leeway)):
		return nil, errors.New("it is of a time that is yet to come")
	}
	return c, nil
}
