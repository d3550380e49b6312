package push

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

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

// signer makes compact JWS, each of three parts in base64url. The first is the same
// for all, and the second is put together by hand: a library takes longer to
// write the claims than their signature takes.
type signer struct {
	clock clock.Clock
	key   ed25519.PrivateKey
	// head is the first part with its dot, issuer the second as far as it is the same.
	head, issuer string
}

func newSigner(service string, key ed25519.PrivateKey, c clock.Clock) (*signer, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok || len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("push: %s has no Ed25519 key", service)
	}
	head := appendQuoted([]byte(`{"alg":"EdDSA","kid":`), identity.KeyID(public))
	head = append(head, `,"typ":"JWT"}`...)
	return &signer{
		clock: c, key: key, head: base64.RawURLEncoding.EncodeToString(head) + ".",
		issuer: string(append(appendQuoted([]byte(`{"iss":`), service), `,"aud":`...)),
	}, nil
}

// Digest is the digest of a body as a signature claims it.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// sign binds a body to its receiver, its time and its place.
func (s *signer) sign(url string, key taskstore.PushKey, place string, body []byte) string {
	now, sum := s.clock.Now(), sha256.Sum256(body)
	claims := make([]byte, 0, 512)
	claims = append(claims, s.issuer...)
	claims = appendQuoted(claims, url)
	claims = append(claims, `,"iat":`...)
	claims = strconv.AppendInt(claims, now.Unix(), 10)
	claims = append(claims, `,"exp":`...)
	claims = strconv.AppendInt(claims, now.Add(validFor).Unix(), 10)
	claims = append(claims, `,"jti":`...)
	claims = appendQuoted(claims, key.TaskID+"/"+key.ID+"/"+place)
	claims = append(claims, `,"task":`...)
	claims = appendQuoted(claims, key.TaskID)
	claims = append(claims, `,"event":`...)
	claims = appendQuoted(claims, place)
	claims = append(claims, `,"sha256":"`...)
	claims = base64.RawURLEncoding.AppendEncode(claims, sum[:])
	claims = append(claims, `"}`...)

	jws := make([]byte, 0, len(s.head)+base64.RawURLEncoding.EncodedLen(len(claims))+1+base64.RawURLEncoding.EncodedLen(ed25519.SignatureSize))
	jws = append(jws, s.head...)
	jws = base64.RawURLEncoding.AppendEncode(jws, claims)
	signature := ed25519.Sign(s.key, jws)
	jws = append(jws, '.')
	return string(base64.RawURLEncoding.AppendEncode(jws, signature))
}

// appendQuoted appends a JSON string.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // cannot fail for a string
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
