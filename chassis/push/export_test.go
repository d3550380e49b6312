package push

import "time"

// Within shortens an attempt, for tests of receivers that never answer.
func (d *Deliverer) Within(t time.Duration) { d.client.Timeout = t }

// Random fixes the jitter.
func (d *Deliverer) Random(f float64) { d.random = func() float64 { return f } }

// Held is how many events wait in memory, and for how many configurations.
func (d *Deliverer) Held() (events, cursors int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, len(d.cursors)
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
