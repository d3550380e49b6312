package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// CardPath is where an agent publishes its card (A2A specification 8.2).
const CardPath = "/.well-known/agent-card.json"

// Bounds of fetching a card.
const (
	cardLimit   = 1 << 20 // bytes
	cardTimeout = 15 * time.Second
)

// Fetched is a card as it came.
type Fetched struct {
	// URL that was asked.
	URL    string
	Body   []byte
	Header http.Header
}

// CardURL is the address of the card of a base address; one that already names
// a .json file stays as it is.
func CardURL(base *url.URL) *url.URL {
	u := *base
	if path.Ext(u.Path) != ".json" {
		u.Path = strings.TrimSuffix(u.Path, "/") + CardPath
	}
	return &u
}

// Fetch gets the card of a base address; over https the authorities decide whom to
// trust, those of the system when there are none. A server that does not answer gives
// *Unreachable, an answer other than 200 gives *NoCard.
func Fetch(ctx context.Context, base *url.URL, authorities *x509.CertPool) (*Fetched, error) {
	u := CardURL(base)
	body, header, err := get(ctx, base, u, authorities)
	if err != nil {
		return nil, err
	}
	return &Fetched{URL: u.String(), Body: body, Header: header}, nil
}

// Get gets a document that belongs to a card, such as the keys of its signatures.
func Get(ctx context.Context, u *url.URL, authorities *x509.CertPool) ([]byte, error) {
	body, _, err := get(ctx, u, u, authorities)
	var none *NoCard
	if errors.As(err, &none) {
		return nil, fmt.Errorf("%s answers %s", none.URL, none.Status)
	}
	return body, err
}

func get(ctx context.Context, base, u *url.URL, authorities *x509.CertPool) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/a2a+json, application/json;q=0.9")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = trusting(authorities)
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, nil, &Unreachable{Address: base.String(), Err: err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, nil, &NoCard{URL: u.String(), Status: res.Status}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, cardLimit+1))
	if err != nil {
		return nil, nil, &Unreachable{Address: base.String(), Err: err}
	}
	if len(body) > cardLimit {
		return nil, nil, fmt.Errorf("what is at %s is larger than %d bytes", u, cardLimit)
	}
	return body, res.Header, nil
}

// trusting is TLS that trusts the authorities, or those of the system.
func trusting(authorities *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
}
