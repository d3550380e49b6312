package fetch

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
)

func handshake(ctx context.Context, conn net.Conn, name string) error {
	return tls.Client(conn, &tls.Config{ServerName: name, NextProtos: []string{"h2", "http/1.1"}}).HandshakeContext(ctx)
}

// Ask asks an interface over HTTP whether anybody is there: a GET without credentials that
// does nothing. Every answer but a failure of the server says yes: a
// refusal or a redirect, which is not followed, too.
func (f *Fetcher) Ask(ctx context.Context, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return refuse("%s is no URL that can be called", u)
	}
	req.Header.Set("User-Agent", "sabha-partners")
	res, err := f.probe.Do(req)
	if err != nil {
		return Why(u, err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusInternalServerError && res.StatusCode != http.StatusNotImplemented {
		return refuse("%s answers with HTTP %d", u.Host, res.StatusCode)
	}
	return nil
}
