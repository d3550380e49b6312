// Package credential shows the executor's secrets to the servers that it calls: values of
// files, and tokens that a client of OAuth gets.
package credential

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"sabha.dev/chassis/egress"
)

// tokenWithin bounds one call of a token endpoint.
const tokenWithin = 10 * time.Second

// OAuth is the client credentials grant (RFC 6749 section 4.4).
type OAuth struct {
	TokenURL, ClientID, SecretFile, Audience string
	Scopes                                   []string
}

// Tokens are those of one client of OAuth. They are safe for concurrent use.
type Tokens struct {
	*OAuth
	// Next is what the token endpoint is reached by.
	Next http.RoundTripper

	mu    sync.Mutex
	token *oauth2.Token
}

// Get gives a token that is valid, asking for one if need be.
func (t *Tokens) Get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.Valid() {
		return t.token.AccessToken, nil
	}
	client, err := Read(t.SecretFile)
	if err != nil {
		return "", err
	}
	c := clientcredentials.Config{ClientID: t.ClientID, ClientSecret: client, TokenURL: t.TokenURL, Scopes: t.Scopes}
	if t.Audience != "" {
		c.EndpointParams = url.Values{"audience": {t.Audience}}
	}
	ctx, cancel := context.WithTimeout(ctx, tokenWithin)
	defer cancel()
	t.token, err = c.Token(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport: t.Next, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if err != nil { // its text may hold secrets
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response != nil {
			return "", fmt.Errorf("the token endpoint refuses with status %d; look at client_id, secret_file and scopes", refused.Response.StatusCode)
		}
		return "", errors.New("the token endpoint cannot be reached, or answers with no token")
	}
	return t.token.AccessToken, nil
}

// Drop forgets a token that was not taken.
func (t *Tokens) Drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != nil && t.token.AccessToken == token {
		t.token = nil
	}
}

// Read reads a secret from its file, so that a new one is used as soon as it is there.
func Read(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(raw))
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s is empty, or has more than a line", file)
	}
	return text, nil
}

// CheckURL refuses what cannot be called, and secrets that would leave this machine unencrypted.
func CheckURL(guard *egress.Guard, text string, secret bool) error {
	if err := guard.CheckURL(text); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); secret && u.Scheme != "https" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("credentials are sent over https only; write https://")
	}
	return nil
}
