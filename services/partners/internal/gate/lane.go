package gate

import (
	"sync"
	"time"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/partner"
)

// lane is what this replica knows of one skill of a partner.
type lane struct {
	address partner.Address
	counted *counted

	mu       sync.Mutex // held whenever the breakers are asked or told
	settings agreement.Breaker
	breakers *pair // nil until the first call
	running  int
	minute   minute
	retries  retries
	// What was told last of the breakers.
	state State
	why   Cause
	since time.Time
}

// renew makes the breakers by the terms. Terms that say something else begin with closed
// ones.
func (l *lane) renew(t *agreement.Terms) {
	if l.breakers == nil || l.settings != t.Breaker {
		l.settings, l.breakers = t.Breaker, newPair(t.Breaker)
	}
}

// enter lets a call through or says why not. The breakers come last: whom they let through
// they count.
func (l *lane) enter(t *agreement.Terms, now time.Time, replicas int) (*Pass, *Closed) {
	if l.running >= share(t.Throughput.Concurrent, replicas) {
		return nil, &Closed{Why: Busy}
	}
	l.minute.sized(t.Throughput.PerMinute)
	allowed := share(t.Throughput.PerMinute, replicas)
	if at, ok := l.minute.free(now, allowed); !ok {
		return nil, &Closed{Why: Rate, RetryAt: at}
	}
	done, err := l.breakers.allow()
	if err != nil {
		return nil, &Closed{Why: Open, RetryAt: l.breakers.retryAt()}
	}
	l.minute.add(now)
	l.retries.call(now)
	l.running++
	l.counted.running(l.running)
	return &Pass{Began: now, terms: t, lane: l, tell: done}, nil
}

// share of what was agreed on that one of several replicas uses: rounded up, so that each
// has something.
func share(agreed, replicas int) int {
	replicas = max(replicas, 1)
	return (agreed + replicas - 1) / replicas
}

// changes gives what became of the breakers since it was last asked.
func (l *lane) changes(now time.Time) []Change {
	to, why := l.breakers.state()
	if to == l.state {
		return nil
	}
	c := Change{Address: l.address, From: l.state, To: to, Why: why, At: now, RetryAt: l.breakers.retryAt()}
	if to == Shut { // told is what it was that is over
		c.Why, why = l.why, ""
	}
	l.state, l.why, l.since = to, why, now
	l.counted.state(to)
	return []Change{c}
}
