package push

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
)

// Headers of a notification.
const (
	// SignatureHeader holds a compact JWS (RFC 7515) over Claims, EdDSA, with the key's
	// id. The keys are at KeysPath.
	SignatureHeader = "Sabha-Signature"
	// TokenHeader holds the token of the configuration.
	TokenHeader = "X-A2a-Notification-Token"
)

// KeysPath is where the gateway publishes the keys of all services, as a JWKS.
const KeysPath = "/.well-known/jwks.json"

// validFor is how long after its time a receiver should take a notification.
const validFor = 5 * time.Minute

// Claims of a notification's signature (RFC 7519 names).
type Claims struct {
	// Issuer is the service that sends.
	Issuer string `json:"iss"`
	// Audience is the URL of the configuration.
	Audience string `json:"aud"`
	IssuedAt int64  `json:"iat"`
	Expiry   int64  `json:"exp"`
	// ID is the same whenever the same event is sent again.
	ID   string `json:"jti"`
	Task string `json:"task"`
	// Event is the place of the event, as in the body's metadata.
	Event string `json:"event"`
	// Digest is the SHA-256 of the body, base64url without padding.
	Digest string `json:"sha256"`
}

type signer struct {
	service string
	clock   clock.Clock
	jose    jose.Signer
}

func newSigner(service string, key ed25519.PrivateKey, c clock.Clock) (*signer, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok || len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("push: %s has no Ed25519 key", service)
	}
	id := identity.KeyID(public)
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: key, KeyID: id}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	return &signer{service: service, clock: c, jose: s}, nil
}

// Digest is the digest of a body as a signature claims it.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// sign binds a body to its receiver, its time and its place.
func (s *signer) sign(url string, key taskstore.PushKey, place string, body []byte) (string, error) {
	now := s.clock.Now()
	payload, err := json.Marshal(Claims{
		Issuer: s.service, Audience: url, IssuedAt: now.Unix(), Expiry: now.Add(validFor).Unix(),
		ID: key.TaskID + "/" + key.ID + "/" + place, Task: key.TaskID, Event: place, Digest: Digest(body),
	})
	if err != nil {
		return "", err
	}
	jws, err := s.jose.Sign(payload)
	if err != nil {
		return "", err
	}
	return jws.CompactSerialize()
}
