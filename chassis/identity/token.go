package identity

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"sabha.dev/chassis/clock"
)

// lifetime of a token between services. Verifiers allow leeway for clocks that differ.
const (
	lifetime = 5 * time.Minute
	leeway   = 30 * time.Second
)

// Edges of the platform: the services that authenticate people. Their grants are
// believed, and no others.
const (
	Gateway = "gateway"
	Console = "console"
)

// IsEdge tells whether a service is an edge.
func IsEdge(service string) bool { return service == Gateway || service == Console }

// ErrToken is the error of every token that does not verify. What is wrong with
// it is in the chain, for the log.
var ErrToken = errors.New("the service token does not verify")

// grantClaims is what an edge signs: this principal asked.
type grantClaims struct {
	jwt.Claims
	Organisation string   `json:"org,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
}

type tokenClaims struct {
	jwt.Claims
	Grant string `json:"grant,omitempty"`
	Task  string `json:"task,omitempty"`
	Root  string `json:"root,omitempty"`
}

// Signer signs for one service.
type Signer struct {
	service string
	clock   clock.Clock
	signer  jose.Signer
	mu      sync.Mutex
	recent  recent[recentKey, signed]
}

type recentKey struct{ audience, grant, task, root string }

type signed struct {
	token string
	until time.Time
}

// NewSigner makes the signer of a service.
func NewSigner(service string, key ed25519.PrivateKey, c clock.Clock) (*Signer, error) {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("signer of %s: %w", service, err)
	}
	return &Signer{service: service, clock: c, signer: s}, nil
}

// Grant signs that a principal asked. Only grants of edges are believed. A
// grant has no end: it is stored with the task, and every token that carries it has one.
func (s *Signer) Grant(p Principal) (string, error) {
	return jwt.Signed(s.signer).Claims(grantClaims{
		Claims:       jwt.Claims{Issuer: s.service, Subject: p.Subject, IssuedAt: jwt.NewNumericDate(s.clock.Now())},
		Organisation: p.Organisation, Scopes: p.Scopes,
	}).Serialize()
}

// Token gives a token for calls to a service. Tokens are reused for half their lifetime.
func (s *Signer) Token(audience string, c Call) (string, error) {
	now := s.clock.Now()
	key := recentKey{audience, c.Grant, c.TaskID, c.RootTaskID}
	s.mu.Lock()
	recent, ok := s.recent.get(key)
	s.mu.Unlock()
	if ok && now.Before(recent.until) {
		return recent.token, nil
	}
	token, err := jwt.Signed(s.signer).Claims(tokenClaims{
		Claims: jwt.Claims{
			Issuer: s.service, Audience: jwt.Audience{audience},
			IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(lifetime)),
		},
		Grant: c.Grant, Task: c.TaskID, Root: c.RootTaskID,
	}).Serialize()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.recent.put(key, signed{token, now.Add(lifetime / 2)}, now)
	s.mu.Unlock()
	return token, nil
}

// Verifier verifies tokens addressed to one service.
type Verifier struct {
	service string
	clock   clock.Clock
	keys    Keyring
	mu      sync.RWMutex
	tokens  recent[string, verified]
	grants  recent[string, Principal]
}

type verified struct {
	call        Call
	from, until time.Time
}

// NewVerifier makes the verifier of a service over the public keys it trusts.
func NewVerifier(service string, keys Keyring, c clock.Clock) *Verifier {
	return &Verifier{service: service, clock: c, keys: keys}
}

// Verify checks a token's signature, audience and times, and the grant it
// carries. Verified tokens are remembered for a while. The error is ErrToken.
func (v *Verifier) Verify(token string) (Call, error) { return v.VerifyAt(token, v.clock.Now()) }

// VerifyAt is Verify for a token that was used at a time which the caller trusts,
// such as that at which a queue of the platform took its message.
func (v *Verifier) VerifyAt(token string, now time.Time) (Call, error) {
	v.mu.RLock()
	known, ok := v.tokens.get(token)
	v.mu.RUnlock()
	if ok && !now.Before(known.from) && now.Before(known.until) {
		return known.call, nil
	}
	var claims tokenClaims
	if err := v.keys.open(token, &claims, func() string { return claims.Issuer }); err != nil {
		return Call{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if claims.Expiry == nil || claims.IssuedAt == nil {
		return Call{}, fmt.Errorf("%w: it does not say from when and until when it is good", ErrToken)
	}
	if err := claims.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{v.service}, Time: now}, leeway); err != nil {
		return Call{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	call := Call{Actor: claims.Issuer, Edge: IsEdge(claims.Issuer), Grant: claims.Grant, TaskID: claims.Task, RootTaskID: claims.Root}
	if claims.Grant != "" {
		p, err := v.grant(claims.Grant)
		if err != nil {
			return Call{}, fmt.Errorf("%w: grant: %w", ErrToken, err)
		}
		call.Principal = p
	}
	v.mu.Lock()
	v.tokens.put(token, verified{call, claims.IssuedAt.Time(), claims.Expiry.Time()}, v.clock.Now())
	v.mu.Unlock()
	return call, nil
}

func (v *Verifier) grant(token string) (Principal, error) {
	v.mu.RLock()
	p, ok := v.grants.get(token)
	v.mu.RUnlock()
	if ok {
		return p, nil
	}
	var claims grantClaims
	if err := v.keys.open(token, &claims, func() string { return claims.Issuer }); err != nil {
		return Principal{}, err
	}
	if !IsEdge(claims.Issuer) {
		return Principal{}, fmt.Errorf("%q is no edge", claims.Issuer)
	}
	p = Principal{Subject: claims.Subject, Organisation: claims.Organisation, Scopes: claims.Scopes}
	v.mu.Lock()
	v.grants.put(token, p, v.clock.Now())
	v.mu.Unlock()
	return p, nil
}

// open reads a token's claims and checks them against the key of the issuer that
// issuer names once they are read.
func (k Keyring) open(token string, claims any, issuer func() string) error {
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(parsed.UnsafePayloadWithoutVerification(), claims); err != nil {
		return err
	}
	key, ok := k[issuer()]
	if !ok {
		return fmt.Errorf("no key of service %q", issuer())
	}
	_, err = parsed.Verify(key)
	return err
}
