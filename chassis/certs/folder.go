// Package certs gives services their identity on the wire: it issues certificates
// from an authority of the platform's own, and serves and dials TLS with what a
// folder holds, taking up what is renewed there without a restart.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
)

// Files of a folder.
const (
	caFile   = "ca.crt"
	certFile = "tls.crt"
	keyFile  = "tls.key"
)

// checkEvery is how often a folder is looked at, at most, and only on a handshake.
const checkEvery = time.Second

// Folder is a certificate with its key, tls.crt and tls.key (PEM), and the
// authorities that are trusted, ca.crt (PEM, one or several). It is safe for
// concurrent use.
type Folder struct {
	dir   string
	files []string
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	seen    string
	held    *held
}

// held is what was read from a folder.
type held struct {
	certificate tls.Certificate
	authorities *x509.CertPool // nil when the folder needs none
}

// Open reads a folder for mutual TLS.
func Open(dir string, c clock.Clock, log *slog.Logger) (*Folder, error) {
	return open(dir, []string{certFile, keyFile, caFile}, c, log)
}

// OpenPublic reads a folder for a port whose clients need no certificate; it
// needs no ca.crt.
func OpenPublic(dir string, c clock.Clock, log *slog.Logger) (*Folder, error) {
	return open(dir, []string{certFile, keyFile}, c, log)
}

func open(dir string, files []string, c clock.Clock, log *slog.Logger) (*Folder, error) {
	f := &Folder{dir: dir, files: files, clock: c, log: log, checked: c.Now()}
	f.seen = f.look()
	var err error
	if f.held, err = f.read(); err != nil {
		return nil, err
	}
	leaf := f.held.certificate.Leaf
	if now := c.Now(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return nil, fmt.Errorf("the certificate in %s is valid from %s to %s, not now; renew it with: sabha certs",
			dir, leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly))
	}
	return f, nil
}

// Name is whom the certificate names: its common name.
func (f *Folder) Name() string { return f.current().certificate.Leaf.Subject.CommonName }

// current is what the folder holds. A change is noticed within a second; one that
// cannot be read, such as half a change, leaves what was held.
func (f *Folder) current() *held {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if now.Sub(f.checked) < checkEvery {
		return f.held
	}
	f.checked = now
	seen := f.look()
	if seen == f.seen {
		return f.held
	}
	f.seen = seen
	h, err := f.read()
	if err != nil {
		f.log.Error("a changed certificate cannot be used; the one before stays in use", "error", err)
		return f.held
	}
	f.held = h
	f.log.Info("a changed certificate is in use", "folder", f.dir, "until", h.certificate.Leaf.NotAfter)
	return h
}

// look describes the files without reading them.
func (f *Folder) look() string {
	var seen string
	for _, name := range f.files {
		info, err := os.Stat(filepath.Join(f.dir, name))
		if err != nil {
			seen += "missing;"
			continue
		}
		seen += fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
	}
	return seen
}

func (f *Folder) read() (*held, error) {
	h := &held{}
	var err error
	h.certificate, err = tls.LoadX509KeyPair(filepath.Join(f.dir, certFile), filepath.Join(f.dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("certificate: %w; make it with: sabha certs", err)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate in %s: %w", f.dir, err)
	}
	if len(f.files) < 3 {
		return h, nil
	}
	file := filepath.Join(f.dir, caFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authority: %w; it belongs beside the certificate, as sabha certs puts it", err)
	}
	h.authorities = x509.NewCertPool()
	if !h.authorities.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s holds no certificate (PEM)", file)
	}
	return h, nil
}
