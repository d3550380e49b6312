package certs

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// parse reads the certificates of a PEM file, at least one.
func parse(raw []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("it holds no certificate (PEM)")
	}
	return all, nil
}

// readKey reads a private key (PEM, PKCS 8, ECDSA).
func readKey(file string) (*ecdsa.PrivateKey, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s: not a PEM file", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: want an ECDSA key, it is %T", file, key)
	}
	return private, nil
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return replace(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// replace writes a file whole or not at all, so that a process which reads it
// meanwhile sees the old or the new one. A file that is as it should be stays.
func replace(file string, raw []byte, mode os.FileMode) error {
	if old, err := os.ReadFile(file); err == nil && string(old) == string(raw) {
		return nil
	}
	next := file + ".new"
	_ = os.Remove(next) // of a run that was cut short, whatever its mode
	if err := os.WriteFile(next, raw, mode); err != nil {
		return err
	}
	return os.Rename(next, file)
}
