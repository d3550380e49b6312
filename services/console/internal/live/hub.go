// Package live keeps what viewers look at up to date: one reader a topic and
// person, however many of the person's pages watch it, and none while nobody does.
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

// Feed renders a topic as it is now, and names what changes it (see Wake). It is
// called by one goroutine at a time, and should keep within the deadline of its
// context. nil leaves the topic as it was.
type Feed func(context.Context) (html []byte, wakes []string)

// Bounds of a hub.
const (
	// every is how often a topic is read while somebody watches it, whatever happens,
	// unless its changes are told (see Follow).
	every = time.Second
	// soon is how long after a reading a topic that was woken is read again at least,
	// and restWoken the same as a multiple of how long the reading took.
	soon      = 40 * time.Millisecond
	restWoken = 2
	// readWithin bounds one reading.
	readWithin = 5 * time.Second
	// rest after a reading, as a multiple of how long it took: a platform that
	// answers slowly is asked less often.
	rest = 9
	// slowest is how long a topic is left unread at most.
	slowest = 10 * time.Second
	// together is how many topics are read at once, the others in their turn: one event
	// may wake them all, and each would take as long as all of them, and rest accordingly.
	// Their turn comes after patience at the latest, whatever the readings of others wait for.
	together = 4
	patience = 250 * time.Millisecond
	// maxViewers watch at once.
	maxViewers = 256
)

// Hub reads topics and tells viewers when they have changed.
type Hub struct {
	open  func(ctx context.Context, topic string) (Feed, bool)
	clock clock.Clock

	mu      sync.Mutex
	stopped bool
	topics  map[key]*topic
	viewers map[*Viewer]struct{}
	readers sync.WaitGroup
	places  chan struct{}
	// covered are the names whose changes are told, and arrival is closed when the
	// next viewer comes.
	covered map[string]bool
	arrival chan struct{}
}

// key of a topic: pages of one address may differ by who looks at them.
type key struct{ who, name string }

type topic struct {
	last    []byte
	wakes   []string
	woken   chan struct{}
	viewers map[*Viewer]struct{}
	stop    context.CancelFunc
}

// Frame is a topic as it has last been rendered.
type Frame struct {
	Topic string
	HTML  []byte
}

// New makes a hub. open makes the feed of a topic when its first viewer comes.
func New(open func(ctx context.Context, topic string) (Feed, bool), c clock.Clock) *Hub {
	return &Hub{
		open: open, clock: c, topics: map[key]*topic{}, viewers: map[*Viewer]struct{}{}, covered: map[string]bool{}, arrival: make(chan struct{}),
		places: make(chan struct{}, together),
	}
}

// Watch begins to watch topics as somebody: of ctx the values are used, for every
// reading. The viewer gets each topic as it is, then every change. The errors are
// ErrNoTopic, ErrFull and ErrStopped.
func (h *Hub) Watch(ctx context.Context, who string, names ...string) (*Viewer, error) {
	ctx = context.WithoutCancel(ctx)
	feeds := map[string]Feed{}
	for _, name := range names {
		feed, ok := h.open(ctx, name)
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
	v := &Viewer{hub: h, who: who, names: slices.Sorted(maps.Keys(feeds)), changed: map[string][]byte{}, ready: make(chan struct{}, 1), done: make(chan struct{})}
	h.viewers[v] = struct{}{}
	close(h.arrival)
	h.arrival = make(chan struct{})
	for name, feed := range feeds {
		t := h.topics[key{who, name}]
		if t == nil {
			ctx, stop := context.WithCancel(ctx)
			t = &topic{viewers: map[*Viewer]struct{}{}, woken: make(chan struct{}, 1), stop: stop}
			h.topics[key{who, name}] = t
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
		leave := h.place(ctx)
		select {
		case <-t.woken: // by what this reading sees
		default:
		}
		began := h.clock.Now()
		within, cancel := context.WithTimeout(ctx, readWithin)
		html, wakes := feed(within)
		cancel()
		leave()
		if ctx.Err() != nil {
			return
		}
		h.publish(name, t, html, wakes)
		took := h.clock.Now().Sub(began)
		select {
		case <-h.clock.After(min(max(h.pace(t), rest*took), slowest)):
		case <-t.woken:
			select {
			case <-h.clock.After(min(max(soon, restWoken*took), slowest)):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// place waits for a place among those who read, but not for ever.
func (h *Hub) place(ctx context.Context) (leave func()) {
	leave = func() { <-h.places }
	select {
	case h.places <- struct{}{}:
		return leave
	default:
	}
	select {
	case h.places <- struct{}{}:
		return leave
	case <-h.clock.After(patience):
	case <-ctx.Done():
	}
	return func() {}
}

func (h *Hub) publish(name string, t *topic, html []byte, wakes []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if html == nil {
		return
	}
	t.wakes = wakes
	if bytes.Equal(html, t.last) {
		return
	}
	t.last = html
	for v := range t.viewers {
		v.put(name, html)
	}
}

// Wake has the topics read at once that one of the names changes. It does not block.
func (h *Hub) Wake(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		// What changes a topic is known when it has been read once.
		if t.last == nil || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(t.wakes, n) }) {
			t.wake()
		}
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
