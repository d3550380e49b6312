package signin

import (
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

// maxNames bounds the names in memory. When as many are guessed at, further ones
// share one allowance.
const maxNames = 10_000

// guesses counts those that were wrong. It is of this process: each replica counts
// for itself, and a start begins afresh.
type guesses struct {
	clock clock.Clock
	mu    sync.Mutex
	// full is when a name may be guessed at as often as ever again.
	full map[string]time.Time
}

func newGuesses(c clock.Clock) *guesses {
	return &guesses{clock: c, full: map[string]time.Time{}}
}

// take counts a guess at a name. When it is one too many, it is not counted, and wait
// is after what time another is allowed.
func (g *guesses) take(name string, l limit) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	name = g.held(name, now)
	full := g.full[name]
	if full.Before(now) {
		full = now
	}
	full = full.Add(l.each)
	if over := full.Sub(now) - time.Duration(l.burst)*l.each; over > 0 {
		return over
	}
	g.full[name] = full
	return 0
}

// back takes a guess back that was right.
func (g *guesses) back(name string, l limit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name = g.held(name, g.clock.Now())
	if full, ok := g.full[name]; ok {
		g.full[name] = full.Add(-l.each)
	}
}

// held is under what name the guesses of a name are counted. What is as good as
// forgotten makes room for it.
func (g *guesses) held(name string, now time.Time) string {
	if _, ok := g.full[name]; ok || len(g.full) < maxNames {
		return name
	}
	for n, full := range g.full {
		if !full.After(now) {
			delete(g.full, n)
		}
	}
	if len(g.full) < maxNames {
		return name
	}
	return ""
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
