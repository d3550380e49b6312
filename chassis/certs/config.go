package certs

import (
	"crypto/tls"
	"crypto/x509"
)

// Public is the configuration of a port whose clients need no certificate.
func (f *Folder) Public() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Time: f.clock.Now,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &f.current().certificate, nil },
	}
}

// server is the configuration for one handshake of a port that demands a
// certificate of the authority. No session outlives its connection, so that what
// is no longer trusted has to show itself again.
func (f *Folder) server() *tls.Config {
	h := f.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Time: f.clock.Now, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{h.certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: h.authorities,
	}
}

// client is the configuration for one handshake with a service. The certificate
// of the other side must name the service, whatever host it was found at.
func (f *Folder) client(service string) *tls.Config {
	h := f.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Time: f.clock.Now, ServerName: service,
		Certificates: []tls.Certificate{h.certificate}, RootCAs: h.authorities,
	}
}

// Certificate is the present certificate, for clients that ask before each connection.
func (f *Folder) Certificate() (tls.Certificate, error) { return f.current().certificate, nil }

// Authorities are those that are trusted at present, for clients that ask before
// each connection.
func (f *Folder) Authorities() (*x509.CertPool, error) { return f.current().authorities, nil }
