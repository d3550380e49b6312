package eventlog

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/fault"
)

// watchRoom is how many changed tasks a watcher remembers by name.
const watchRoom = 256

// watchWithin bounds how long NATS may take to know of a watcher.
const watchWithin = 5 * time.Second

// together is how long changes are gathered before they are told. It is the machine's
// time, since it paces the network and decides nothing.
const together = 20 * time.Millisecond

// Watcher hears what changes, such as the tasks of a service, whichever replica
// changes it. Nobody waits for it: what changes while it does not look is one entry
// an id.
type Watcher struct {
	sub   *nats.Subscription
	nc    *nats.Conn
	lost  chan nats.Status
	ready chan struct{}

	mu      sync.Mutex
	changed map[string]struct{}
	more    bool
}

// Watch begins to watch the tasks of a service (see Watch).
func (l *Log) Watch(service string) (*Watcher, error) {
	prefix := subject(service, "")
	return Watch(l.nc, prefix+"*", func(msg *nats.Msg) string { return strings.TrimPrefix(msg.Subject, prefix) })
}

// Watch begins to watch what messages on a subject tell of: id gives what has changed
// by a message, or "". When it returns, what is published from now on is heard. The
// error is ErrAway while NATS is not connected. Close the watcher.
func Watch(nc *nats.Conn, subject string, id func(*nats.Msg) string) (*Watcher, error) {
	w := &Watcher{nc: nc, ready: make(chan struct{}, 1), changed: map[string]struct{}{}}
	w.lost = nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	if !nc.IsConnected() {
		nc.RemoveStatusListener(w.lost)
		return nil, ErrAway
	}
	var err error
	if w.sub, err = nc.Subscribe(subject, func(msg *nats.Msg) {
		if id := id(msg); id != "" {
			w.heard(id)
		}
	}); err != nil {
		nc.RemoveStatusListener(w.lost)
		return nil, err
	}
	if err := nc.FlushTimeout(watchWithin); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Watcher) heard(id string) {
	w.mu.Lock()
	if _, known := w.changed[id]; !known && len(w.changed) >= watchRoom {
		w.more = true
	} else {
		w.changed[id] = struct{}{}
	}
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// Tell tells of what changes until ctx ends, or tell fails, which is its error then. A
// watcher that cannot hear any more ends as UNAVAILABLE, as it does when draining is
// closed.
func (w *Watcher) Tell(ctx context.Context, draining <-chan struct{}, tell func(ids []string, more bool) error) error {
	for {
		select {
		case <-w.ready:
		case <-w.lost:
			return fault.New(fault.Unavailable, "changes cannot be heard at the moment; read again and again meanwhile, and watch anew").Because(ErrAway)
		case <-ctx.Done():
			return nil
		case <-draining:
			return fault.New(fault.Unavailable, "this replica is stopping; watch another one")
		}
		select {
		case <-time.After(together):
		case <-ctx.Done():
			return nil
		}
		if err := tell(w.take()); err != nil {
			return err
		}
	}
}

// take gives what has changed since the last time, and whether more has than it could
// remember.
func (w *Watcher) take() (ids []string, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.changed {
		ids = append(ids, id)
	}
	more = w.more
	clear(w.changed)
	w.more = false
	return ids, more
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.nc.RemoveStatusListener(w.lost)
	_ = w.sub.Unsubscribe()
}
