package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// Dial connects over TCP to an address that the guard permits: it looks at each address
// that the name of the host leads to, when it is dialled. The error of an address that
// may not be called holds *Refused.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialWithin, Control: g.control}
	return d.DialContext(ctx, network, address)
}

// Transport makes a transport of net/http that dials through the guard, goes through no
// proxy and reads no environment. It keeps perHost connections to a host. config is that
// of TLS; nil trusts what the system does. A caller that must not be sent elsewhere sets
// http.Client.CheckRedirect too.
func (g *Guard) Transport(config *tls.Config, perHost int) *http.Transport {
	return &http.Transport{
		DialContext: g.Dial, TLSClientConfig: config, TLSHandshakeTimeout: handshakeWithin, ForceAttemptHTTP2: true,
		MaxIdleConns: maxIdleHosts * perHost, MaxIdleConnsPerHost: perHost, IdleConnTimeout: keepIdle, MaxResponseHeaderBytes: maxHeaders,
	}
}
