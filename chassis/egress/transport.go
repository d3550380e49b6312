package egress

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Bounds of a connection. They are the machine's time: they bound the network.
const (
	dialWithin      = 5 * time.Second
	handshakeWithin = 5 * time.Second
	keepIdle        = 90 * time.Second
	maxHeaders      = 16 << 10
)

// Client makes an HTTP client that calls only what the guard permits. It follows
// no redirect, goes through no proxy and reads no environment. A request takes at
// most within, its answer's headers included; perHost connections are kept.
func (g *Guard) Client(within time.Duration, perHost int) *http.Client {
	dialer := &net.Dialer{Timeout: dialWithin, Control: g.control}
	return &http.Client{
		Timeout:       within,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    handshakeWithin,
			ResponseHeaderTimeout:  within,
			MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConnsPerHost:    perHost,
			MaxIdleConns:           16 * perHost,
			IdleConnTimeout:        keepIdle,
			DisableCompression:     true,
		},
	}
}

// control sees the address that a socket is about to connect to, after names have
// been resolved.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return refuse("%s is not TCP", network)
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("%q is no address", address)
	}
	return g.Check(a.Addr())
}
