package clientcerts

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
)

// ErrRefused says that a certificate is not to be believed. Its text is for the caller.
var ErrRefused = errors.New("the client certificate is refused")

// held bounds the certificates in memory that were verified; a full memory starts afresh.
const held = 8192

// checkEvery is how often the files are looked at, at most, and only when they are needed.
const checkEvery = time.Second

// Verifier knows callers by their certificates. It is safe for concurrent use.
type Verifier struct {
	configs []Config
	clock   clock.Clock
	log     *slog.Logger

	mu       sync.Mutex
	checked  time.Time
	seen     string
	read     *files
	verified map[[sha256.Size]byte]verified
}

type verified struct {
	principal identity.Principal
	until     time.Time
}

// New reads the files of a configuration that Check finds nothing wrong with.
func New(configs []Config, c clock.Clock, log *slog.Logger) (*Verifier, error) {
	v := &Verifier{configs: configs, clock: c, log: log, checked: c.Now(), seen: look(configs), verified: map[[sha256.Size]byte]verified{}}
	var err error
	v.read, err = readFiles(configs)
	return v, err
}

// Authorities are those whose certificates are taken, for servers to name when they
// ask for one. The same pool is given until a file has changed.
func (v *Verifier) Authorities() *x509.CertPool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refresh()
	return v.read.all
}

// refresh takes up files that have changed; v.mu is held. What cannot be read, such as
// half a change, leaves what was held.
func (v *Verifier) refresh() {
	now := v.clock.Now()
	if now.Sub(v.checked) < checkEvery {
		return
	}
	v.checked = now
	seen := look(v.configs)
	if seen == v.seen {
		return
	}
	v.seen = seen
	read, err := readFiles(v.configs)
	if err != nil {
		v.log.Error("changed authorities of clients cannot be used; those before stay in use", "error", err)
		return
	}
	v.read = read
	clear(v.verified)
}

// Verify gives the caller whom a chain of certificates (DER, the caller's first)
// names. The handshake has shown that the caller holds its key. The error is ErrRefused.
func (v *Verifier) Verify(_ context.Context, chain [][]byte) (identity.Principal, error) {
	sum, now := sha256.Sum256(chain[0]), v.clock.Now()
	v.mu.Lock()
	v.refresh()
	known, ok := v.verified[sum]
	read := v.read
	v.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.principal, nil
	}
	found, err := read.verify(chain, now)
	if err != nil {
		return identity.Principal{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.read != read {
		return found.principal, nil // the files have changed meanwhile; the next call asks them
	}
	if len(v.verified) >= held {
		clear(v.verified)
	}
	v.verified[sum] = found
	return found.principal, nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

func (f *files) verify(chain [][]byte, now time.Time) (verified, error) {
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return verified{}, refused("it cannot be read")
	}
	between := x509.NewCertPool()
	for _, raw := range chain[1:] {
		if c, err := x509.ParseCertificate(raw); err == nil {
			between.AddCert(c)
		}
	}
	if now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return verified{}, refused("it is valid from %s to %s", leaf.NotBefore.UTC().Format(time.DateTime), leaf.NotAfter.UTC().Format(time.DateTime))
	}
	for _, of := range f.each {
		chains, err := leaf.Verify(x509.VerifyOptions{Roots: of.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if err != nil {
			continue
		}
		good := slices.IndexFunc(chains, func(c []*x509.Certificate) bool { return !of.revokes(c) })
		if good < 0 {
			return verified{}, refused("it was revoked")
		}
		p, err := of.principal(leaf)
		if err != nil {
			return verified{}, err
		}
		until := leaf.NotAfter
		for _, c := range chains[good] {
			if c.NotAfter.Before(until) {
				until = c.NotAfter
			}
		}
		return verified{p, until}, nil
	}
	return verified{}, refused("no authority that is trusted here has issued it for clients")
}

// principal is whom a certificate names.
func (c authority) principal(leaf *x509.Certificate) (identity.Principal, error) {
	p := identity.Principal{Subject: leaf.Subject.CommonName, Organisation: c.Organisations[0]}
	var err error
	switch c.Subject {
	case "dns":
		p.Subject, err = only("DNS name", leaf.DNSNames)
	case "email":
		p.Subject, err = only("mail address", leaf.EmailAddresses)
	}
	if err == nil {
		switch c.Organisation {
		case "o":
			p.Organisation, err = only("organisation", leaf.Subject.Organization)
		case "ou":
			p.Organisation, err = only("organisational unit", leaf.Subject.OrganizationalUnit)
		}
	}
	switch {
	case err != nil:
		return identity.Principal{}, err
	case !slices.Contains(c.Organisations, p.Organisation):
		return identity.Principal{}, refused("its authority does not speak for the organisation %q here", p.Organisation)
	}
	if err := p.Check(); err != nil {
		return identity.Principal{}, refused("it has no name of a caller: %s", err)
	}
	return p, nil
}

func only(what string, names []string) (string, error) {
	if len(names) != 1 {
		return "", refused("it must have one %s, and has %d", what, len(names))
	}
	return names[0], nil
}
