package credential

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

	"sabha.dev/chassis/clock"
)

const (
	// fetchWithin bounds one call of a token endpoint.
	fetchWithin = 10 * time.Second
	// spareTime is how long before its end a token is no longer used.
	spareTime = 15 * time.Second
	// unstated is how long a token is used whose end the endpoint does not state.
	unstated = 5 * time.Minute
)

// tokens are those of one client of OAuth2.
type tokens struct {
	config *Config
	secret *file[string]
	client http.RoundTripper
	clock  clock.Clock

	mu    sync.Mutex
	token string
	until time.Time
}

func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && t.clock.Now().Before(t.until) {
		return t.token, nil
	}
	secret, err := t.secret.get()
	if err != nil {
		return "", err
	}
	c := clientcredentials.Config{ClientID: t.config.ClientID, ClientSecret: secret, TokenURL: t.config.TokenURL, Scopes: t.config.Scopes}
	if t.config.Audience != "" {
		c.EndpointParams = url.Values{"audience": {t.config.Audience}}
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	began := t.clock.Now()
	got, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport: t.client, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if err != nil {
		return "", told(ctx, err)
	}
	t.token, t.until = got.AccessToken, began.Add(unstated)
	if !got.Expiry.IsZero() { // which is by the machine's clock
		life := time.Until(got.Expiry).Round(time.Second)
		t.until = began.Add(max(life-spareTime, life/2))
	}
	return t.token, nil
}

// told is what may be told of a failure to get a token: the endpoint's answer and the
// request hold secrets.
func told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("the token endpoint did not answer in time")
	}
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return fmt.Errorf("the token endpoint refuses with status %d; look at client_id, file and scopes in the agreement", refused.Response.StatusCode)
	}
	return errors.New("the token endpoint cannot be reached, or answers with no token")
}

// drop forgets a token that was not taken, and tells whether to ask for another.
func (t *tokens) drop(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
	return true
}
