package edge

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
)

// Limit is a token bucket: so many calls a second over time, so many at once.
type Limit struct {
	PerSecond float64 `yaml:"per_second"`
	Burst     int     `yaml:"burst"`
}

// buckets are the token buckets of one kind of caller, by name.
type buckets struct {
	limit Limit
	clock clock.Clock

	mu     sync.Mutex
	byName map[string]*rate.Limiter
}

// maxBuckets bounds memory. When it is reached, buckets that are full again are
// dropped, which changes nothing for their callers; if none is, all are.
const maxBuckets = 16384

func newBuckets(l Limit, c clock.Clock) *buckets {
	return &buckets{limit: l, clock: c, byName: map[string]*rate.Limiter{}}
}

// take takes a token. Without one the error says when there will be one.
func (b *buckets) take(name string) error {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	bucket, ok := b.byName[name]
	if !ok {
		b.makeRoom(now)
		bucket = rate.NewLimiter(rate.Limit(b.limit.PerSecond), b.limit.Burst)
		b.byName[name] = bucket
	}
	reserved := bucket.ReserveN(now, 1)
	wait := reserved.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reserved.CancelAt(now)
	e := fault.New(fault.RateLimited, "over the limit of %g calls a second, %d at once; try again in %v",
		b.limit.PerSecond, b.limit.Burst, wait.Round(time.Millisecond))
	e.RetryAfter = wait
	return e
}

func (b *buckets) makeRoom(now time.Time) {
	if len(b.byName) < maxBuckets {
		return
	}
	for name, bucket := range b.byName {
		if bucket.TokensAt(now) >= float64(b.limit.Burst) {
			delete(b.byName, name)
		}
	}
	if len(b.byName) >= maxBuckets {
		clear(b.byName)
	}
}

// ClientName is how an address is limited: an IPv4 address, or the /64 of an
// IPv6 address, since a subscriber holds that many.
func ClientName(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	subnet, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return subnet.String()
}
