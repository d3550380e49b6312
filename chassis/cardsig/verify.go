package cardsig

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/clock"
)

// Algorithms that are believed unless a verifier says otherwise. There is no "none", and
// no shared secret.
var Algorithms = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.RS256}

// maxSignatures of a card that are looked at.
const maxSignatures = 8

var (
	// ErrUnsigned means that a card has no signature.
	ErrUnsigned = errors.New("the card is not signed")
	// ErrReduced means that a signature is good for what the official SDKs sign, which is
	// less than the card.
	ErrReduced = errors.New("it signs the card without its empty and unknown members, so they are not protected")
)

// Verifier verifies cards. Keys and Clock must be set.
type Verifier struct {
	Keys  Keys
	Clock clock.Clock
	// Algorithms that are believed; nil means [Algorithms].
	Algorithms []jose.SignatureAlgorithm
}

// Signature is what was found of one signature of a card.
type Signature struct {
	KeyID     string
	Algorithm string
	JKU       string
	// Err says why it does not count; nil if it is good.
	Err error
}

// Verify looks at every signature of a card as it was received. Without an error one of
// them at least is good: the key that it names is trusted and has signed this card.
func (v *Verifier) Verify(ctx context.Context, card []byte) ([]Signature, error) {
	tree, err := parse(card)
	if err != nil {
		return nil, err
	}
	signatures, ok := tree[signaturesMember].([]any)
	if !ok && tree[signaturesMember] != nil {
		return nil, errors.New("the card's signatures are not a list")
	}
	canonical := canonicalOf(tree)
	switch n := len(signatures); {
	case n == 0:
		return nil, ErrUnsigned
	case n > maxSignatures:
		return nil, fmt.Errorf("the card has %d signatures, more than %d", n, maxSignatures)
	}
	var found []Signature
	var reasons []string
	for _, entry := range signatures {
		members, _ := entry.(map[string]any)
		s := signature{Protected: text(members, "protected"), Signature: text(members, "signature")}
		one := v.verify(ctx, s, canonical, card)
		found = append(found, one)
		if one.Err == nil {
			continue
		}
		reasons = append(reasons, fmt.Sprintf("key %q: %s", one.KeyID, one.Err))
	}
	if len(reasons) == len(found) {
		return found, fmt.Errorf("no signature of the card is good: %s", strings.Join(reasons, "; "))
	}
	return found, nil
}

func (v *Verifier) verify(ctx context.Context, s signature, canonical, card []byte) (one Signature) {
	one, one.Err = v.header(s)
	if one.Err != nil {
		return one
	}
	key, err := v.Keys(ctx, one.KeyID, one.JKU)
	now := v.Clock.Now()
	switch {
	case err != nil:
		one.Err = err
	case !key.RevokedAt.IsZero():
		one.Err = errors.New("the key has been revoked")
	case !key.NotAfter.IsZero() && !now.Before(key.NotAfter):
		one.Err = fmt.Errorf("the key expired at %s", key.NotAfter.UTC().Format("2006-01-02 15:04:05Z"))
	case key.Algorithm != "" && key.Algorithm != one.Algorithm:
		one.Err = fmt.Errorf("the key is for %s, the signature is %s", key.Algorithm, one.Algorithm)
	case v.signed(s, key, canonical) == nil:
	default:
		one.Err = errors.New("it is not a signature of this card")
		if theirs, err := reduced(card); err == nil && !bytes.Equal(theirs, canonical) && v.signed(s, key, theirs) == nil {
			one.Err = ErrReduced
		}
	}
	return one
}

// header reads what a signature says of itself, in the part that it protects.
func (v *Verifier) header(s signature) (one Signature, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(s.Protected)
	if err != nil {
		return one, errors.New("its protected header is not base64url")
	}
	h, err := parse(raw)
	if err != nil {
		return one, errors.New("its protected header is not a JSON object that can be read")
	}
	one = Signature{KeyID: text(h, "kid"), Algorithm: text(h, "alg"), JKU: text(h, "jku")}
	switch {
	case one.KeyID == "":
		return one, errors.New("its protected header names no key (kid)")
	case !v.believes(one.Algorithm):
		return one, fmt.Errorf("the algorithm %q is not allowed", one.Algorithm)
	case h["crit"] != nil:
		return one, errors.New("its protected header has critical parameters, of which none are known")
	}
	return one, nil
}

// text is a member by its exact name; empty if it is none or no text.
func text(members map[string]any, name string) string {
	s, _ := members[name].(string)
	return s
}

func (v *Verifier) algorithms() []jose.SignatureAlgorithm {
	if v.Algorithms == nil {
		return Algorithms
	}
	return v.Algorithms
}

func (v *Verifier) believes(algorithm string) bool {
	for _, a := range v.algorithms() {
		if string(a) == algorithm {
			return true
		}
	}
	return false
}

// signed verifies one signature over one form of the card.
func (v *Verifier) signed(s signature, key Key, form []byte) error {
	raw, err := json.Marshal(map[string]string{
		"payload": base64.RawURLEncoding.EncodeToString(form), "protected": s.Protected, "signature": s.Signature,
	})
	if err != nil {
		return err
	}
	jws, err := jose.ParseSignedJSON(string(raw), v.algorithms())
	if err != nil {
		return err
	}
	_, err = jws.Verify(key.Key)
	return err
}
