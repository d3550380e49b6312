package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Lifetimes.
const (
	// AuthorityLifetime is how long a new authority is valid.
	AuthorityLifetime = 10 * 365 * 24 * time.Hour
	// Kept is how long a certificate must still be valid to be kept.
	Kept = 30 * 24 * time.Hour
	// backdated is how far clocks may differ.
	backdated = time.Hour
)

// authorityKey is the file with the authority's private key.
const authorityKey = "ca.key"

// Order says which certificates a folder is to have.
type Order struct {
	// Services to issue certificates for. The name becomes the common name and the
	// first of the subject's alternative names, beside localhost and the loopback addresses.
	Services []string
	// Hosts are further alternative names (host names and IP addresses) by service;
	// those under the empty name are for all.
	Hosts map[string][]string
	// Lifetime of a certificate.
	Lifetime time.Duration
}

// Issued is a certificate that a folder has.
type Issued struct {
	// Name of the service; empty for the authority.
	Name  string
	Until time.Time
	// New says that it was made now.
	New bool
}

var serviceName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Issue makes an authority and a certificate for each service (ECDSA P-256), as
// far as they are missing:
//
//	dir/ca.crt dir/ca.key           the authority; ca.crt may hold further ones that are trusted
//	dir/SERVICE/{ca.crt,tls.crt,tls.key}
//
// What is there is kept; a certificate is replaced, its key with it, when it
// is valid for 30 days or less, was issued by another authority, or lacks a host.
// Hosts that it had it keeps.
func Issue(dir string, o Order, now time.Time) ([]Issued, error) {
	for _, s := range o.Services {
		if !serviceName.MatchString(s) {
			return nil, fmt.Errorf("%q is no name of a service; use small letters, digits and hyphens", s)
		}
	}
	for of, hosts := range o.Hosts {
		for _, h := range hosts {
			if h != of && slices.Contains(o.Services, h) {
				return nil, fmt.Errorf("host %q is the name of another service, which its certificate alone may carry", h)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	a, made, err := openAuthority(dir, now)
	if err != nil {
		return nil, err
	}
	issued := []Issued{{Until: a.certificate.NotAfter, New: made}}
	for _, s := range o.Services {
		i, err := a.renew(filepath.Join(dir, s), s, append(slices.Clone(o.Hosts[""]), o.Hosts[s]...), o.Lifetime, now)
		if err != nil {
			return nil, fmt.Errorf("certificate of %s: %w", s, err)
		}
		issued = append(issued, i)
	}
	return issued, nil
}

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	bundle      []byte // ca.crt as it is
}

func openAuthority(dir string, now time.Time) (*authority, bool, error) {
	certPath, keyPath := filepath.Join(dir, caFile), filepath.Join(dir, authorityKey)
	bundle, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		a, err := newAuthority(certPath, keyPath, now)
		return a, true, err
	}
	if err != nil {
		return nil, false, err
	}
	key, err := readKey(keyPath)
	if err != nil {
		return nil, false, fmt.Errorf("authority: %w; certificates are renewed where its key is", err)
	}
	certificates, err := parse(bundle)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", certPath, err)
	}
	for _, c := range certificates {
		if key.PublicKey.Equal(c.PublicKey) {
			return &authority{c, key, bundle}, false, nil
		}
	}
	return nil, false, fmt.Errorf("%s does not belong to any certificate in %s", keyPath, certPath)
}

func newAuthority(certPath, keyPath string, now time.Time) (*authority, error) {
	if _, err := os.Stat(keyPath); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is %s without its certificate; put %s back, or remove the key for a new authority", keyPath, certPath)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Sabha authority", Organization: []string{"Sabha"}}, NotBefore: now.Add(-backdated), NotAfter: now.Add(AuthorityLifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	a := &authority{certificate: template, key: key}
	if a.certificate, a.bundle, err = a.sign(template, key); err != nil {
		return nil, err
	}
	if err := writeKey(keyPath, key); err != nil {
		return nil, err
	}
	return a, replace(certPath, a.bundle, 0o644)
}

// sign issues a certificate for a key.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, []byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	c, err := x509.ParseCertificate(der)
	return c, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// renew brings the folder of a service up to date.
func (a *authority) renew(dir, service string, hosts []string, lifetime time.Duration, now time.Time) (Issued, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Issued{}, err
	}
	if err := replace(filepath.Join(dir, caFile), a.bundle, 0o644); err != nil {
		return Issued{}, err
	}
	hosts = append([]string{service, "localhost", "127.0.0.1", "::1"}, hosts...)
	before := present(dir)
	if before != nil && a.keeps(before, dir, service, hosts, now) {
		return Issued{Name: service, Until: before.NotAfter}, nil
	}
	until := now.Add(lifetime)
	if until.After(a.certificate.NotAfter) {
		return Issued{}, fmt.Errorf("it would outlive the authority, which ends on %s; make a new authority", a.certificate.NotAfter.Format(time.DateOnly))
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: service}, NotBefore: now.Add(-backdated), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	if before != nil {
		template.DNSNames, template.IPAddresses = before.DNSNames, before.IPAddresses
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip == nil && !slices.Contains(template.DNSNames, h) {
			template.DNSNames = append(template.DNSNames, h)
		} else if ip != nil && !slices.ContainsFunc(template.IPAddresses, ip.Equal) {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Issued{}, err
	}
	_, raw, err := a.sign(template, key)
	if err != nil {
		return Issued{}, err
	}
	if err := writeKey(filepath.Join(dir, keyFile), key); err != nil {
		return Issued{}, err
	}
	return Issued{Name: service, Until: until, New: true}, replace(filepath.Join(dir, certFile), raw, 0o644)
}

// present is the certificate that a folder has; nil when none can be read.
func present(dir string) *x509.Certificate {
	raw, err := os.ReadFile(filepath.Join(dir, certFile))
	if err != nil {
		return nil
	}
	chain, err := parse(raw)
	if err != nil {
		return nil
	}
	return chain[0]
}

// keeps tells whether the certificate in a folder is good for long enough.
func (a *authority) keeps(c *x509.Certificate, dir, service string, hosts []string, now time.Time) bool {
	key, err := readKey(filepath.Join(dir, keyFile))
	if err != nil || !key.PublicKey.Equal(c.PublicKey) || c.Subject.CommonName != service || c.CheckSignatureFrom(a.certificate) != nil {
		return false
	}
	for _, h := range hosts {
		if c.VerifyHostname(h) != nil {
			return false
		}
	}
	return c.NotAfter.After(now.Add(Kept))
}
