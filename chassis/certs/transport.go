package certs

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc/credentials"
)

// Transport secures gRPC with the folder's certificate, as it is at each handshake.
// A server of it demands a certificate; a client shows its own and accepts only the
// service that is named. A server needs no name.
func (f *Folder) Transport(service string) credentials.TransportCredentials {
	return &transport{folder: f, service: service}
}

type transport struct {
	folder  *Folder
	service string
}

func (t *transport) ClientHandshake(ctx context.Context, _ string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(t.folder.client(t.service)).ClientHandshake(ctx, t.service, raw)
}

func (t *transport) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := credentials.NewTLS(t.folder.server()).ServerHandshake(raw)
	if err != nil {
		if !errors.Is(err, io.EOF) { // a probe of the port
			t.folder.log.Warn("a connection was refused: its other side has no certificate of this authority, or does not accept ours", "from", raw.RemoteAddr().String(), "error", err)
		}
		return nil, nil, err
	}
	of, _ := info.(credentials.TLSInfo)
	return conn, &caller{TLSInfo: of, name: of.State.PeerCertificates[0].Subject.CommonName}, nil
}

func (t *transport) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (t *transport) Clone() credentials.TransportCredentials { return t.folder.Transport(t.service) }

// OverrideServerName is not supported: whom to accept is the service.
func (t *transport) OverrideServerName(string) error { return nil }

// caller is who has shown a certificate on a connection.
type caller struct {
	credentials.TLSInfo
	name string
}

// CertifiedName is the name in the caller's certificate.
func (c *caller) CertifiedName() string { return c.name }
