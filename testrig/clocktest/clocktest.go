// Package clocktest is a clock that stands still until a test moves it, so that
// no test waits for real time or depends on the speed of the machine.
package clocktest

import (
	"sort"
	"sync"
	"time"
)

// Clock is a fake clock. It is safe for concurrent use; make one with New.
type Clock struct {
	mu       sync.Mutex
	changed  *sync.Cond // signalled whenever a sleeper is added
	now      time.Time
	sleepers []sleeper // ordered by due time, then by arrival
}

type sleeper struct {
	due  time.Time
	wake chan time.Time
}

// New returns a clock that shows start.
func New(start time.Time) *Clock {
	c := &Clock{now: start}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After returns a channel that receives the due time once the clock has been
// advanced by d. A d of zero or less is due at once.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := make(chan time.Time, 1)
	if d <= 0 {
		wake <- c.now
		return wake
	}
	due := c.now.Add(d)
	at := sort.Search(len(c.sleepers), func(i int) bool { return c.sleepers[i].due.After(due) })
	c.sleepers = append(c.sleepers, sleeper{})
	copy(c.sleepers[at+1:], c.sleepers[at:])
	c.sleepers[at] = sleeper{due: due, wake: wake}
	c.changed.Broadcast()
	return wake
}

// Advance moves the clock on by d and wakes every sleeper that is then due,
// earliest first. It does not wait for what the woken goroutines do. A negative
// d moves the clock back and wakes nobody.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	woken := 0
	for woken < len(c.sleepers) && !c.sleepers[woken].due.After(c.now) {
		c.sleepers[woken].wake <- c.sleepers[woken].due
		woken++
	}
	c.sleepers = c.sleepers[woken:]
}

// BlockUntil returns once at least n calls of After are waiting to become due,
// which says that the goroutines under test have gone to sleep. A channel that
// its caller abandoned counts until its time has come.
func (c *Clock) BlockUntil(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.sleepers) < n {
		c.changed.Wait()
	}
}
