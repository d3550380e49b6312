package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"

	"google.golang.org/grpc/credentials"
)

// Web serves HTTP/2 and HTTP/1.1 over TLS to clients that need no certificate.
func (f *Folder) Web(l net.Listener) net.Listener {
	return tls.NewListener(l, f.public("h2", "http/1.1"))
}

// PublicTransport secures a gRPC server for clients that need no certificate.
func (f *Folder) PublicTransport() credentials.TransportCredentials {
	return credentials.NewTLS(f.public("h2"))
}

func (f *Folder) public(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Time: f.clock.Now, NextProtos: protocols,
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
