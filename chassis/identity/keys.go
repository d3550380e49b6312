package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Keyring holds the public keys of the services that are trusted, by service.
type Keyring map[string]ed25519.PublicKey

// LoadKeyring reads every <service>.pub of a folder (PEM, PKIX, Ed25519).
func LoadKeyring(dir string) (Keyring, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.pub"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no *.pub keys in %s; make them with: sabha keys %s", dir, dir)
	}
	ring := Keyring{}
	for _, f := range files {
		der, err := readPEM(f)
		if err != nil {
			return nil, err
		}
		key, err := x509.ParsePKIXPublicKey(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		pub, ok := key.(ed25519.PublicKey)
		if !ok {
			return nil, fmt.Errorf("%s: want an Ed25519 key, it is %T", f, key)
		}
		ring[strings.TrimSuffix(filepath.Base(f), ".pub")] = pub
	}
	return ring, nil
}

// LoadKey reads a private key (PEM, PKCS 8, Ed25519).
func LoadKey(file string) (ed25519.PrivateKey, error) {
	der, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: want an Ed25519 key, it is %T", file, key)
	}
	return private, nil
}

// MakeKeys writes <service>.key and <service>.pub into a folder for each service
// that has none yet.
func MakeKeys(dir string, services ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, s := range services {
		private := filepath.Join(dir, s+".key")
		if _, err := os.Stat(private); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		pub, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return err
		}
		pubDER, err := x509.MarshalPKIXPublicKey(pub)
		if err != nil {
			return err
		}
		// The public half first: a private key without one would never be replaced.
		if err := writePEM(filepath.Join(dir, s+".pub"), "PUBLIC KEY", pubDER, 0o644); err != nil {
			return err
		}
		if err := writePEM(private, "PRIVATE KEY", der, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func readPEM(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s: not a PEM file", file)
	}
	return block.Bytes, nil
}

func writePEM(file, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
