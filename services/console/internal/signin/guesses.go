package signin

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
)

// limit bounds guesses: so many at once, and another one each so often.
type limit struct {
	burst int
	each  time.Duration
}

// Limits of guesses. An account is guessed at 8,650 times a day at most, whoever
// guesses; a password that the console makes has 99 bits. An address may be that of
// a proxy before many people, so it is bounded less.
var (
	ofAccount = limit{burst: 10, each: 10 * time.Second}
	ofAddress = limit{burst: 50, each: time.Second}
)

// Counter counts guesses, for all replicas together.
type Counter interface {
	// Guess counts a guess at a name. When it is one too many, it is not counted, and wait
	// is after what time another is allowed.
	Guess(ctx context.Context, name string, burst int, each time.Duration, now time.Time) (wait time.Duration, err error)
	// Right takes a guess back that was right.
	Right(ctx context.Context, name string, each time.Duration) error
	// Forget removes what may be guessed at as often as ever again.
	Forget(ctx context.Context, now time.Time) error
}

// forgetEvery is how often a replica has forgotten what nobody guesses at any more.
const forgetEvery = time.Minute

// guesses counts those that were wrong.
type guesses struct {
	counter Counter
	clock   clock.Clock

	mu     sync.Mutex
	forget time.Time
}

// take counts a guess; see Counter.
func (g *guesses) take(ctx context.Context, name string, l limit) (wait time.Duration, err error) {
	now := g.clock.Now()
	g.mu.Lock()
	due := !now.Before(g.forget)
	if due {
		g.forget = now.Add(forgetEvery)
	}
	g.mu.Unlock()
	if due {
		if err := g.counter.Forget(ctx, now); err != nil {
			return 0, err
		}
	}
	return g.counter.Guess(ctx, name, l.burst, l.each, now)
}

// back takes a guess back that was right.
func (g *guesses) back(ctx context.Context, name string, l limit) error {
	return g.counter.Right(ctx, name, l.each)
}

// addressOf names whom a request comes from: an IPv4 address, or the network of an
// IPv6 address, which one person has whole.
func addressOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return remote
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
