package tokens

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
)

// DiscoveryPath is where an issuer publishes its discovery document.
const DiscoveryPath = "/.well-known/openid-configuration"

// Errors of a verifier.
var (
	// ErrRefused says that a token is not to be believed. Its text is for the caller.
	ErrRefused = errors.New("the token is refused")
	// ErrUnreachable says that the keys of the issuer cannot be had.
	ErrUnreachable = errors.New("the keys of the issuer cannot be had")
)

const (
	// leeway is how far the clocks of an issuer and of the gateway may be apart.
	leeway = time.Minute
	// longest that a token may have to live: there is no way to withdraw one.
	longest = 24 * time.Hour
	// held bounds the tokens in memory that were verified; a full memory starts afresh.
	held = 8192
	// MaxSize of a token, bytes.
	MaxSize = 16 << 10
)

// algorithms that are believed: no "none", no shared secrets.
var algorithms = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.RS256, jose.RS384, jose.RS512}

// Verifier knows callers by the tokens of some issuers.
type Verifier struct {
	clock   clock.Clock
	issuers map[string]*keys

	mu   sync.RWMutex
	held map[[sha256.Size]byte]verified
}

type verified struct {
	principal identity.Principal
	until     time.Time
}

// New makes a verifier; Check has found nothing wrong with the issuers. Files are read
// now, other keys when a token first needs them.
func New(issuers []Config, c clock.Clock) (*Verifier, error) {
	v := &Verifier{clock: c, issuers: map[string]*keys{}, held: map[[sha256.Size]byte]verified{}}
	for _, one := range issuers {
		k := &keys{config: one.complete(), clock: c, client: &http.Client{Timeout: answerWithin}}
		if one.KeysFile != "" {
			if _, err := k.find(context.Background(), ""); err != nil {
				return nil, fmt.Errorf("issuers: keys_file of %s: %w", one.Issuer, k.err)
			}
		}
		v.issuers[one.Issuer] = k
	}
	return v, nil
}

// Looks tells whether a bearer token has the form of a JWT.
func Looks(token string) bool { return strings.Count(token, ".") == 2 }

// Verify gives the caller of a token. The errors are ErrRefused and ErrUnreachable.
func (v *Verifier) Verify(ctx context.Context, token string) (identity.Principal, error) {
	now, sum := v.clock.Now(), sha256.Sum256([]byte(token))
	v.mu.RLock()
	known, ok := v.held[sum]
	v.mu.RUnlock()
	if ok && now.Before(known.until) {
		return known.principal, nil
	}
	found, err := v.verify(ctx, token, now)
	if err != nil {
		return identity.Principal{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.held) >= held {
		clear(v.held)
	}
	v.held[sum] = found
	return found.principal, nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

func (v *Verifier) verify(ctx context.Context, token string, now time.Time) (verified, error) {
	if len(token) > MaxSize {
		return verified{}, refused("it is larger than %d bytes", MaxSize)
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return verified{}, refused("it is no signed JWT with an algorithm that is allowed here")
	}
	// Not believed yet: it only says whose keys to try.
	var stated jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&stated); err != nil {
		return verified{}, refused("its claims are not those of a JWT")
	}
	issuer, ok := v.issuers[stated.Issuer]
	if !ok {
		return verified{}, refused("its issuer is not trusted here")
	}
	header := parsed.Headers[0]
	found, err := issuer.find(ctx, header.KeyID)
	if err != nil {
		return verified{}, err
	}
	claims := identity.Claims{}
	for _, key := range found {
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if parsed.Claims(key.Key, &claims) == nil {
			return v.believe(issuer.config, stated, claims, now)
		}
	}
	return verified{}, refused("no key of its issuer has signed it")
}

// believe reads the claims of a token whose signature is good.
func (v *Verifier) believe(c Config, stated jwt.Claims, claims identity.Claims, now time.Time) (verified, error) {
	switch expiry := stated.Expiry; {
	case !stated.Audience.Contains(c.Audience):
		return verified{}, refused("it is for another audience")
	case expiry == nil:
		return verified{}, refused("it has no end (exp)")
	case !now.Before(expiry.Time().Add(leeway)):
		return verified{}, refused("it expired at %s", expiry.Time().UTC().Format("2006-01-02 15:04:05Z"))
	case expiry.Time().Sub(now) > longest:
		return verified{}, refused("it is good for more than %v from now, which nothing could take back", longest)
	case stated.NotBefore != nil && now.Add(leeway).Before(stated.NotBefore.Time()):
		return verified{}, refused("it is not good yet (nbf)")
	}
	p := identity.Principal{Subject: claims.Text(c.Claims.Subject), Organisation: c.Organisations[0]}
	if p.Subject == "" {
		return verified{}, refused("the claim %s is missing", c.Claims.Subject)
	}
	if confirmed, _ := claims["email_verified"].(bool); c.Claims.Subject == "email" && !confirmed {
		return verified{}, refused("its issuer has not verified the address of the caller (email_verified)")
	}
	if c.Claims.Organisation != "" {
		if p.Organisation = claims.Text(c.Claims.Organisation); !slices.Contains(c.Organisations, p.Organisation) {
			return verified{}, refused("its issuer does not speak for the organisation %q here", p.Organisation)
		}
	}
	for _, r := range claims.List(c.Claims.Roles) {
		if slices.Contains(c.Roles, r) {
			p.Scopes = append(p.Scopes, r)
		}
	}
	for _, g := range claims.List(c.Claims.Groups) {
		if slices.Contains(c.Groups, g) {
			p.Scopes = append(p.Scopes, identity.GroupScope(g))
		}
	}
	if err := p.Check(); err != nil {
		return verified{}, refused("the claim %s is no name of a caller here: %v", c.Claims.Subject, err)
	}
	return verified{p, stated.Expiry.Time().Add(leeway)}, nil
}
