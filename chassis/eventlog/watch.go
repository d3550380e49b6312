package eventlog

import (
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// watchRoom is how many changed tasks a watcher remembers by name.
const watchRoom = 256

// watchWithin bounds how long NATS may take to know of a watcher.
const watchWithin = 5 * time.Second

// Watcher hears which tasks of a service change, whichever replica changes them.
// Nobody waits for it: what changes while it does not look is one entry a task.
type Watcher struct {
	sub   *nats.Subscription
	ready chan struct{}

	mu      sync.Mutex
	changed map[string]struct{}
	more    bool
}

// Watch begins to watch the tasks of a service. When it returns, what is published
// from now on is heard. Close the watcher.
func (l *Log) Watch(service string) (*Watcher, error) {
	if !l.nc.IsConnected() {
		return nil, ErrAway
	}
	w := &Watcher{ready: make(chan struct{}, 1), changed: map[string]struct{}{}}
	prefix := subject(service, "")
	var err error
	if w.sub, err = l.nc.Subscribe(prefix+"*", func(msg *nats.Msg) { w.heard(strings.TrimPrefix(msg.Subject, prefix)) }); err != nil {
		return nil, err
	}
	if err := l.nc.FlushTimeout(watchWithin); err != nil {
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

// Ready receives when something has changed.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Take gives the tasks that have changed since the last time, and whether there are
// more than it could remember.
func (w *Watcher) Take() (ids []string, more bool) {
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
func (w *Watcher) Close() { _ = w.sub.Unsubscribe() }
