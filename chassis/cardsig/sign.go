package cardsig

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// signature is one entry of a card's signatures (specification 4.4.7).
type signature struct {
	Protected string          `json:"protected"`
	Signature string          `json:"signature"`
	Header    json.RawMessage `json:"header,omitempty"` // unprotected, so it is not read
}

// Signer signs cards with one key.
type Signer struct {
	inner jose.Signer
}

// NewSigner makes a signer. The key is Ed25519 (EdDSA), P-256 (ES256) or RSA of 2048
// bits or more (PS256). Its id names it among the published keys, whose address is jku;
// an empty jku says that verifiers have the key already.
func NewSigner(key crypto.Signer, id, jku string) (*Signer, error) {
	algorithm, err := algorithmOf(key.Public())
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New("a key needs an id, by which verifiers find it")
	}
	options := (&jose.SignerOptions{}).WithType("JOSE")
	if jku != "" {
		options = options.WithHeader("jku", jku)
	}
	inner, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, options)
	if err != nil {
		return nil, err
	}
	return &Signer{inner}, nil
}

func algorithmOf(public crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch k := public.(type) {
	case ed25519.PublicKey:
		return jose.EdDSA, nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return jose.ES256, nil
		}
		return "", fmt.Errorf("want an elliptic curve of P-256, it is %s", k.Curve.Params().Name)
	case *rsa.PublicKey:
		if k.N.BitLen() >= 2048 {
			return jose.PS256, nil
		}
		return "", fmt.Errorf("want an RSA key of 2048 bits or more, it has %d", k.N.BitLen())
	}
	return "", fmt.Errorf("want an Ed25519, P-256 or RSA key, it is %T", public)
}

// Sign adds signatures to a card, after those that it has. Where the canonical form
// differs from the one that the official SDKs sign, a second signature over theirs lets
// their clients verify the card too. The rest of the JSON stays to the byte.
func (s *Signer) Sign(card []byte) ([]byte, error) {
	tree, err := parse(card)
	if err != nil {
		return nil, err
	}
	_, has := tree[signaturesMember]
	empty := len(tree) == 0
	canonical := canonicalOf(tree)
	forms := [][]byte{canonical}
	if theirs, err := reduced(card); err == nil && !bytes.Equal(theirs, canonical) {
		forms = append(forms, theirs)
	}
	var own []json.RawMessage
	for _, form := range forms {
		entry, err := s.sign(form)
		if err != nil {
			return nil, err
		}
		own = append(own, entry)
	}
	return splice(card, has, empty, own)
}

func (s *Signer) sign(payload []byte) (json.RawMessage, error) {
	jws, err := s.inner.Sign(payload)
	if err != nil {
		return nil, err
	}
	var full signature
	if err := json.Unmarshal([]byte(jws.FullSerialize()), &full); err != nil {
		return nil, err
	}
	return json.Marshal(signature{Protected: full.Protected, Signature: full.Signature})
}

// splice puts signatures at the end of a card; one that has some is written anew.
func splice(card []byte, has, empty bool, own []json.RawMessage) ([]byte, error) {
	if has {
		var members map[string]json.RawMessage
		var all []json.RawMessage
		if err := json.Unmarshal(card, &members); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(members[signaturesMember], &all); err != nil {
			return nil, fmt.Errorf("the card's signatures: %w", err)
		}
		raw, err := json.Marshal(append(all, own...))
		if err != nil {
			return nil, err
		}
		members[signaturesMember] = raw
		return json.Marshal(members)
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	head := bytes.TrimRight(bytes.TrimSpace(card), " \t\r\n")
	head = bytes.TrimRight(head[:len(head)-1], " \t\r\n")
	signed := bytes.Clone(head)
	if !empty {
		signed = append(signed, ',')
	}
	signed = append(signed, `"`+signaturesMember+`":`...)
	return append(append(signed, raw...), '}'), nil
}
