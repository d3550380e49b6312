package account

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Argon2id (RFC 9106) with the parameters that OWASP recommends first for servers:
// 19 MiB, two passes, one lane. A guess costs tens of milliseconds and as much
// memory; how many are made at once is bounded in Directory.
const (
	hashMemory = 19 << 10 // KiB
	hashPasses = 2
	hashLanes  = 1
	saltSize   = 16 // bytes
	hashSize   = 32 // bytes
)

// Bounds of a password.
const (
	minPassword = 12  // characters
	maxPassword = 256 // bytes
)

// hash gives the hash of a password with its parameters, as it is stored (PHC string format).
func hash(password string) string {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails (crypto/rand)
	return written(salt, argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashLanes, hashSize))
}

// nobody is a hash that is as much work to check as any, and that no password has.
var nobody = written(make([]byte, saltSize), make([]byte, hashSize))

func written(salt, sum []byte) string {
	enc := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes, enc(salt), enc(sum))
}

// matches tells whether a hash is that of a password, with the parameters that the
// hash states. What is no such hash matches nothing.
func matches(hash, password string) bool {
	var version int
	var memory, passes uint32
	var lanes uint8
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &lanes); err != nil || version != argon2.Version {
		return false
	}
	if passes == 0 || passes > 16 || lanes == 0 || memory > 256<<10 {
		return false // nothing that we write
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	sum, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(sum) < saltSize {
		return false
	}
	return subtle.ConstantTimeCompare(sum, argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(sum)))) == 1
}

// checkPassword says what of a password that a person chooses cannot be. The error is ErrBad.
func checkPassword(a Account, password string) error {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return fmt.Errorf("%w: a password has at least %d characters", ErrBad, minPassword)
	case len(password) > maxPassword:
		return fmt.Errorf("%w: a password has at most %d bytes", ErrBad, maxPassword)
	case strings.EqualFold(password, a.Full()) || strings.EqualFold(password, a.Name):
		return fmt.Errorf("%w: a password must not be a name", ErrBad)
	}
	return nil
}

// alphabet of passwords that we make: nothing that is mistaken for something else.
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// newPassword makes a password of 20 random characters in groups of 5: 99 bits.
func newPassword() string {
	var b strings.Builder
	random := make([]byte, 1)
	for n := 0; n < 20; {
		_, _ = rand.Read(random)
		if int(random[0]) >= len(alphabet)*(256/len(alphabet)) {
			continue // it would make the first characters likelier
		}
		if n > 0 && n%5 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(alphabet[int(random[0])%len(alphabet)])
		n++
	}
	return b.String()
}
