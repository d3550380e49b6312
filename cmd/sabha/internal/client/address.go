package client

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ParseServer reads the address of a platform as a person writes it: a URL, or
// a host with a port, which is taken for http.
func ParseServer(s string) (*url.URL, error) {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is no server address; want a URL such as http://127.0.0.1:8080", s)
	}
	return u, nil
}

// target is where gRPC is spoken.
type target struct {
	address string // host:port
	tls     bool
}

// parseTarget reads the URL of a card's GRPC interface. Cards write it with a
// scheme or as host:port; without one the scheme of the server decides on TLS.
func parseTarget(s string, server *url.URL) (target, error) {
	t := target{address: s, tls: server.Scheme == "https"}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		switch scheme {
		case "https", "grpcs":
			t.tls = true
		case "http", "grpc":
			t.tls = false
		default:
			return target{}, fmt.Errorf("the card of %s names the gRPC address %q, whose scheme is not known", server, s)
		}
		t.address = strings.TrimSuffix(rest, "/")
	}
	host, _, err := net.SplitHostPort(t.address)
	if err != nil {
		port := "80"
		if t.tls {
			port = "443"
		}
		host, t.address = t.address, net.JoinHostPort(t.address, port)
	}
	if host == "" || strings.ContainsAny(t.address, "/?#") {
		return target{}, fmt.Errorf("the card of %s names the gRPC address %q, which is not host:port", server, s)
	}
	return t, nil
}
