package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/clock"
)

const (
	// refreshAfter is how long keys are held before they are asked for again when a token
	// names one that is not among them: whoever makes tokens up cannot make the gateway
	// ask the issuer for each.
	refreshAfter = 10 * time.Second
	// keysFor is how long keys are held at most, so that one that was withdrawn ends.
	keysFor = 10 * time.Minute
	// answerWithin bounds each question to an issuer, maxAnswer its answer in bytes.
	answerWithin = 5 * time.Second
	maxAnswer    = 1 << 20
)

// keys of one issuer.
type keys struct {
	config Config
	clock  clock.Clock
	client *http.Client

	mu    sync.Mutex
	url   string
	set   jose.JSONWebKeySet
	asked time.Time
	err   error // of the last question
}

// find gives the key of an id. The error is ErrUnreachable when there are no keys at
// all; keys that could be had once are used while the issuer cannot be asked.
func (k *keys) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.set.Key(id)
	if age := k.clock.Now().Sub(k.asked); k.asked.IsZero() || age >= keysFor || (len(found) == 0 && age >= refreshAfter) {
		// Others wait for this answer too, so it does not end with the one who asked.
		set, err := k.ask(context.WithoutCancel(ctx))
		k.asked, k.err = k.clock.Now(), err
		if err == nil {
			k.set = set
		}
		found = k.set.Key(id)
	}
	if len(found) == 0 && k.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, k.err)
	}
	return found, nil
}

func (k *keys) ask(ctx context.Context) (set jose.JSONWebKeySet, err error) {
	if k.config.KeysFile != "" {
		raw, err := os.ReadFile(k.config.KeysFile)
		if err != nil {
			return set, err
		}
		return parseKeys(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if k.url == "" {
		if k.url, err = k.discover(ctx); err != nil {
			return set, err
		}
	}
	raw, err := k.get(ctx, k.url)
	if err != nil {
		return set, err
	}
	return parseKeys(raw)
}

// parseKeys reads a JWKS. Keys of kinds that are not known here are left out.
func parseKeys(raw []byte) (set jose.JSONWebKeySet, err error) {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return set, fmt.Errorf("the keys are no JWKS: %w", err)
	}
	for _, one := range doc.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(one) == nil && k.Valid() && k.IsPublic() && k.KeyID != "" && k.Use != "enc" {
			set.Keys = append(set.Keys, k)
		}
	}
	if len(set.Keys) == 0 {
		return set, errors.New("there is no key with an id among them that could verify")
	}
	return set, nil
}

// discover finds where the keys are.
func (k *keys) discover(ctx context.Context) (string, error) {
	if k.config.KeysURL != "" {
		return k.config.KeysURL, nil
	}
	raw, err := k.get(ctx, strings.TrimSuffix(k.config.Issuer, "/")+DiscoveryPath)
	if err != nil {
		return "", err
	}
	var doc struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	switch err := json.Unmarshal(raw, &doc); {
	case err != nil:
		return "", fmt.Errorf("the discovery document is no JSON: %w", err)
	case doc.Issuer != k.config.Issuer:
		return "", fmt.Errorf("the discovery document is that of %q", doc.Issuer)
	case !secure(doc.Keys):
		return "", fmt.Errorf("the discovery document names %q for the keys; want https:// with a host", doc.Keys)
	}
	return doc.Keys, nil
}

func (k *keys) get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answers %s", url, res.Status)
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("%s answers with more than %d bytes", url, maxAnswer)
	}
	return raw, nil
}
