// Package consoletest signs tests in to the web console, as a browser does.
package consoletest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// SignIn gives a client that has signed in at the console under a URL.
func SignIn(tb testing.TB, base, name, password string) *http.Client {
	tb.Helper()
	c, err := Client(tb.Context(), http.DefaultTransport, base, name, password)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Client is SignIn for callers without a test, over a transport of their own.
func Client(ctx context.Context, transport http.RoundTripper, base, name, password string) (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	// The redirect is not followed: it leads to a page that asks the platform.
	c := &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := url.Values{"name": {name}, "password": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusSeeOther {
		body, _ := io.ReadAll(io.LimitReader(res.Body, 10_000))
		return nil, fmt.Errorf("the console does not sign %s in: %s: %s", name, res.Status, body)
	}
	return c, nil
}
