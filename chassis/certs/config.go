package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// Authorities gives those whose certificates a public port asks its clients for. A
// client may come without one, and what it shows is not verified in the handshake but
// by who serves, who can say what is wrong with it. nil asks for none.
type Authorities func() *x509.CertPool

// Web serves HTTP/2 and HTTP/1.1 over TLS to clients that need no certificate.
func (f *Folder) Web(l net.Listener, clients Authorities) net.Listener {
	return tls.NewListener(l, f.public(clients, "h2", "http/1.1"))
}

// PublicTransport secures a gRPC server for clients that need no certificate.
func (f *Folder) PublicTransport(clients Authorities) credentials.TransportCredentials {
	return credentials.NewTLS(f.public(clients, "h2"))
}

func (f *Folder) public(clients Authorities, protocols ...string) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, Time: f.clock.Now, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &f.current().certificate, nil },
	}
	if clients == nil {
		return c
	}
	asking := c.Clone()
	asking.ClientAuth, asking.ClientCAs = tls.RequestClientCert, clients()
	var mu sync.Mutex
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := clients(); now != asking.ClientCAs { // in use by connections, so not to be changed
			asking = asking.Clone()
			asking.ClientCAs = now
		}
		return asking, nil
	}
	return c
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
