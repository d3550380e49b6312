// Package fetch gets small documents that others have named the address of: cards and
// keys. It reaches what its guard permits, follows no redirect to another place, and reads
// no more than it was told to.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/fault"
)

// Bounds of one question.
const (
	within       = 10 * time.Second
	maxRedirects = 3
)

// Fetcher fetches.
type Fetcher struct {
	guard     *egress.Guard
	client    *http.Client
	probe     *http.Client
	transport *http.Transport
}

// New makes a fetcher that reaches public addresses and the networks that are opened, as
// CIDRs.
func New(networks []string) (*Fetcher, error) {
	guard, err := egress.New(networks)
	if err != nil {
		return nil, err
	}
	f := &Fetcher{guard: guard, transport: guard.Transport(nil, 2)}
	f.client = &http.Client{Transport: f.transport, Timeout: within, CheckRedirect: f.redirect}
	f.probe = &http.Client{Transport: f.transport, Timeout: within, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return f, nil
}

// Close closes connections that are kept.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

// redirect follows a redirect on the same host only: another host was not named.
func (f *Fetcher) redirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return errors.New("it redirects too often")
	case next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme:
		return &egress.Refused{Reason: fmt.Sprintf("it redirects to %s://%s, which was not named", next.URL.Scheme, next.URL.Host)}
	}
	return nil
}

// Request of a document.
type Request struct {
	URL, Accept string
	// ETag of what is there already; empty for none.
	ETag string
	// Most that is read, bytes.
	Most int64
}

// Document that was fetched.
type Document struct {
	Status int
	ETag   string
	Body   []byte
	// Same says that what is there already is what it would be.
	Same bool
}

// Get fetches a document. The error has the reason CARD_REFUSED and a sentence for whoever
// named the URL.
func (f *Fetcher) Get(ctx context.Context, r Request) (*Document, error) {
	if err := f.Check(r.URL); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, refuse("%s is no URL that can be called", r.URL)
	}
	req.Header.Set("Accept", r.Accept)
	req.Header.Set("User-Agent", "sabha-partners")
	if r.ETag != "" {
		req.Header.Set("If-None-Match", r.ETag)
	}
	res, err := f.client.Do(req)
	if err != nil {
		return nil, Why(req.URL, err)
	}
	defer func() { _ = res.Body.Close() }()
	d := &Document{Status: res.StatusCode, ETag: res.Header.Get("ETag"), Same: res.StatusCode == http.StatusNotModified && r.ETag != ""}
	if len(d.ETag) > maxETag {
		d.ETag = ""
	}
	if d.Body, err = io.ReadAll(io.LimitReader(res.Body, r.Most+1)); err != nil {
		return nil, Why(req.URL, err)
	}
	if int64(len(d.Body)) > r.Most {
		return nil, refuse("what is at %s has more than %d bytes", r.URL, r.Most)
	}
	return d, nil
}

// maxETag is how long one may be to be kept, bytes.
const maxETag = 200

// Check refuses a URL that may not be called, as far as it shows.
func (f *Fetcher) Check(raw string) error {
	if err := f.guard.CheckURL(raw); err != nil {
		return refuse("the URL %q %v", raw, err)
	}
	return nil
}

// Why says why a host could not be asked, without what is for logs only.
func Why(u *url.URL, err error) error {
	var refused *egress.Refused
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return refuse("%s may not be called: %v", u.Host, refused).Because(err)
	case errors.As(err, &name):
		return refuse("the host %s is not known", u.Hostname()).Because(err)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return refuse("%s did not answer in time", u.Host).Because(err)
	}
	return refuse("%s cannot be reached, or its answer cannot be read", u.Host).Because(err)
}

func refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.CardRefused, format, args...)
}

// Reach makes a connection to a host and port, with TLS where it is told so, and gives it
// up again.
func (f *Fetcher) Reach(ctx context.Context, u *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	secure := u.Scheme == "https" || u.Scheme == "grpcs" || u.Scheme == "grpc" && u.Port() == "443"
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[secure]
	}
	conn, err := f.guard.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return Why(u, err)
	}
	defer func() { _ = conn.Close() }()
	if !secure {
		return nil
	}
	if err := handshake(ctx, conn, u.Hostname()); err != nil {
		return refuse("%s makes no TLS connection that can be trusted", u.Host).Because(err)
	}
	return nil
}
