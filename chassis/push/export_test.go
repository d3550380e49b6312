package push

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/taskstore"
)

// Within shortens an attempt, for tests of receivers that never answer.
func (d *Deliverer) Within(t time.Duration) { d.client.Within(t) }

// Random fixes the jitter.
func (d *Deliverer) Random(f float64) { d.random = func() float64 { return f } }

// Held is how many events wait in memory, and for how many configurations.
func (d *Deliverer) Held() (events, cursors int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, len(d.cursors)
}

// Disclose gives an event as it may leave to a webhook.
func (d *Deliverer) Disclose(ctx context.Context, url string, ev *a2apb.StreamResponse) (*a2apb.StreamResponse, error) {
	return d.disclose(ctx, job{config: &a2apb.TaskPushNotificationConfig{Url: url}}, ev)
}

// Signer makes what signs notifications.
func Signer(service string, key ed25519.PrivateKey, c clock.Clock) (func(url string, key taskstore.PushKey, place string, body []byte) string, error) {
	s, err := newSigner(service, key, c)
	if err != nil {
		return nil, err
	}
	return s.sign, nil
}

// RetryAfter and Backoff are what the header and the failures say.
var (
	RetryAfter = retryAfter
	Backoff    = backoff
)

// Bounds.
const (
	MaxHeldEach = maxHeldEach
	MaxFresh    = maxFresh
	MaxBad      = maxBad
)
