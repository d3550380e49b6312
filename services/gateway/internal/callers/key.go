// Package callers keeps the API keys of those who call from outside: who holds
// one, what it grants, and whether it is still good.
package callers

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"sabha.dev/chassis/identity"
)

// Prefix begins every API key, so that keys are found by secret scanners and
// told from other bearer tokens.
const Prefix = "sk-"

// secretSize is the randomness of a key, bytes.
const secretSize = 32

// Errors of this package.
var (
	// ErrUnknown says that no key in force has this secret.
	ErrUnknown = errors.New("the API key is not known")
	// ErrNoKey says that there is no key of this id.
	ErrNoKey = errors.New("there is no API key of this id")
	// ErrOwner says that a principal cannot hold a key; the chain says why.
	ErrOwner = errors.New("the key's owner is not well formed")
)

// Key is what is kept of an API key. The secret itself is not kept.
type Key struct {
	// ID names the key in lists and when it is revoked. It is no secret.
	ID        string
	Principal identity.Principal
	Created   time.Time
	// Revoked is zero while the key is in force.
	Revoked time.Time
	// LastUsed is a UTC day such as 2026-01-31, or empty if it was never used.
	LastUsed string
}

// digest is how a secret is looked up. A plain hash is enough here: a secret has
// 256 random bits, so there is nothing that a slow or salted hash would protect
// from guessing, and every call pays for it. How long a lookup by digest takes
// tells nothing either, since nobody can aim at a digest without its secret.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func newSecret() string {
	b := make([]byte, secretSize)
	_, _ = rand.Read(b) // it never fails (crypto/rand)
	return Prefix + hex.EncodeToString(b)
}

// wellFormed tells whether a string can be a secret of ours at all.
func wellFormed(secret string) bool {
	if len(secret) != len(Prefix)+2*secretSize || secret[:len(Prefix)] != Prefix {
		return false
	}
	for i := len(Prefix); i < len(secret); i++ {
		if c := secret[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func newID() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b)
	return "key-" + hex.EncodeToString(b)
}

// checkOwner says why a principal cannot hold a key. The error is ErrOwner.
func checkOwner(p identity.Principal) error {
	if err := p.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrOwner, err)
	}
	return nil
}
