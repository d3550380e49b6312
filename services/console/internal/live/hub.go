// Package live keeps what viewers look at up to date: one reader a topic, however
// many watch it, and none while nobody does.
package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
)

// Errors of Watch.
var (
	// ErrNoTopic says that there is nothing of that name to watch.
	ErrNoTopic = errors.New("there is no such topic")
	// ErrFull says that as many viewers watch as the hub bears.
	ErrFull = errors.New("too many viewers")
	// ErrStopped says that the hub has ended.
	ErrStopped = errors.New("the console is stopping")
)

// Feed renders a topic as it is now. It is called by one goroutine at a time, and
// should keep within the deadline of its context. nil leaves the topic as it was.
type Feed func(context.Context) []byte

// Bounds of a hub.
const (
	// every is how often a topic is read while somebody watches it.
	every = time.Second
	// readWithin bounds one reading.
	readWithin = 5 * time.Second
	// rest after a reading, as a multiple of how long it took: a platform that
	// answers slowly is asked less often.
	rest = 9
	// slowest is how long a topic is left unread at most.
	slowest = 10 * time.Second
	// maxViewers watch at once.
	maxViewers = 256
)

// Hub reads topics and tells viewers when they have changed.
type Hub struct {
	open  func(topic string) (Feed, bool)
	clock clock.Clock

	mu      sync.Mutex
	stopped bool
	topics  map[string]*topic
	viewers map[*Viewer]struct{}
	readers sync.WaitGroup
}

type topic struct {
	last    []byte
	viewers map[*Viewer]struct{}
	stop    context.CancelFunc
}

// Frame is a topic as it has last been rendered.
type Frame struct {
	Topic string
	HTML  []byte
}

// New makes a hub. open makes the feed of a topic when its first viewer comes.
func New(open func(topic string) (Feed, bool), c clock.Clock) *Hub {
	return &Hub{open: open, clock: c, topics: map[string]*topic{}, viewers: map[*Viewer]struct{}{}}
}

// Watch begins to watch topics. The viewer gets each of them as it is, then every
// change. The errors are ErrNoTopic, ErrFull and ErrStopped.
func (h *Hub) Watch(names ...string) (*Viewer, error) {
	feeds := map[string]Feed{}
	for _, name := range names {
		feed, ok := h.open(name)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrNoTopic, name)
		}
		feeds[name] = feed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stopped:
		return nil, ErrStopped
	case len(h.viewers) >= maxViewers:
		return nil, ErrFull
	}
	v := &Viewer{hub: h, names: slices.Sorted(maps.Keys(feeds)), changed: map[string][]byte{}, ready: make(chan struct{}, 1), done: make(chan struct{})}
	h.viewers[v] = struct{}{}
	for name, feed := range feeds {
		t := h.topics[name]
		if t == nil {
			ctx, stop := context.WithCancel(context.Background())
			t = &topic{viewers: map[*Viewer]struct{}{}, stop: stop}
			h.topics[name] = t
			h.readers.Go(func() { h.read(ctx, name, t, feed) })
		}
		t.viewers[v] = struct{}{}
		if t.last != nil {
			v.put(name, t.last)
		}
	}
	return v, nil
}

func (h *Hub) read(ctx context.Context, name string, t *topic, feed Feed) {
	for {
		began := h.clock.Now()
		within, cancel := context.WithTimeout(ctx, readWithin)
		html := feed(within)
		cancel()
		if ctx.Err() != nil {
			return
		}
		h.publish(name, t, html)
		took := h.clock.Now().Sub(began)
		select {
		case <-h.clock.After(min(max(every, rest*took), slowest)):
		case <-ctx.Done():
			return
		}
	}
}

func (h *Hub) publish(name string, t *topic, html []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if html == nil || bytes.Equal(html, t.last) {
		return
	}
	t.last = html
	for v := range t.viewers {
		v.put(name, html)
	}
}

// Stop ends every viewer and waits for the readers.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.stopped = true
	all := slices.Collect(maps.Keys(h.viewers))
	h.mu.Unlock()
	for _, v := range all {
		v.Close()
	}
	h.readers.Wait()
}
