package toolhost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// tokenWithin bounds one call of a token endpoint.
const tokenWithin = 10 * time.Second

// tokens are those of one client of OAuth.
type tokens struct {
	*OAuth
	next http.RoundTripper

	mu    sync.Mutex
	token *oauth2.Token
}

// get gives a token that is valid, asking for one if need be.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.Valid() {
		return t.token.AccessToken, nil
	}
	client, err := secret(t.SecretFile)
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
		Transport: t.next, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
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

// drop forgets a token that was not taken.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != nil && t.token.AccessToken == token {
		t.token = nil
	}
}
