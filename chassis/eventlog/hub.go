package eventlog

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	eventv1 "sabha.dev/gen/sabha/event/v1"
)

// Update is one event of a task with its place. Without an event it says how far
// the stored task is.
type Update struct {
	Epoch, Version int64
	Event          *a2apb.StreamResponse
}

// Hub hands the events of tasks to the readers in this process: what this
// process commits directly, what others commit through NATS. A reader may see an
// event twice; it drops the versions it has seen.
type Hub struct {
	service string
	nc      *nats.Conn
	mu      sync.Mutex
	topics  map[string]*topic
}

type topic struct {
	readers map[*Reader]struct{}
	remote  *nats.Subscription
	// version is the newest that readers were told of.
	version int64
}

// Reader receives the updates of one task. Close it.
type Reader struct {
	hub    *Hub
	taskID string
	// C carries updates. When the reader falls behind, updates are dropped and it
	// finds a hole in the versions.
	C chan Update
	// dropped is set when an update was.
	dropped atomic.Bool
}

// Behind tells, once, that updates were dropped since it was last asked.
func (r *Reader) Behind() bool { return r.dropped.Swap(false) }

// readerBuffer is how far a reader may fall behind.
const readerBuffer = 64

// NewHub makes the hub of a service.
func NewHub(service string, nc *nats.Conn) *Hub {
	return &Hub{service: service, nc: nc, topics: map[string]*topic{}}
}

// announced bounds how long a reader waits for NATS to know of it.
const announced = 200 * time.Millisecond

// Subscribe registers a reader of a task. When it returns, NATS knows of the
// subscription, so what others commit from now on arrives; while NATS is away it
// does not wait.
func (h *Hub) Subscribe(taskID string) (*Reader, error) {
	r, err := h.register(taskID)
	if err == nil && h.nc.IsConnected() {
		_ = h.nc.FlushTimeout(announced) // a reader also compares with the store
	}
	return r, err
}

func (h *Hub) register(taskID string) (*Reader, error) {
	r := &Reader{hub: h, taskID: taskID, C: make(chan Update, readerBuffer)}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[taskID]
	if t == nil {
		sub, err := h.nc.Subscribe(subject(h.service, taskID), h.receive)
		if err != nil {
			return nil, err
		}
		t = &topic{readers: map[*Reader]struct{}{}, remote: sub}
		h.topics[taskID] = t
	}
	t.readers[r] = struct{}{}
	return r, nil
}

// TaskID is the task whose updates the reader receives.
func (r *Reader) TaskID() string { return r.taskID }

// Close ends the subscription.
func (r *Reader) Close() {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[r.taskID]
	if t == nil {
		return
	}
	delete(t.readers, r)
	if len(t.readers) == 0 {
		delete(h.topics, r.taskID)
		_ = t.remote.Unsubscribe()
	}
}

// Publish hands events that this process has committed to its readers. version is
// that of the last one.
func (h *Hub) Publish(taskID string, epoch, version int64, events []*a2apb.StreamResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[taskID]
	if t == nil {
		return
	}
	first := version - int64(len(events)) + 1
	for i, ev := range events {
		t.send(Update{Epoch: epoch, Version: first + int64(i), Event: ev})
	}
}

// Watched lists the tasks that have readers here.
func (h *Hub) Watched() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.topics))
}

// Stored tells the readers of a task how far the stored one is, unless they have
// been sent that version.
func (h *Hub) Stored(taskID string, epoch, version int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[taskID]; t != nil && version > t.version {
		t.send(Update{Epoch: epoch, Version: version})
	}
}

func (t *topic) send(u Update) {
	t.version = max(t.version, u.Version)
	for r := range t.readers {
		select {
		case r.C <- u:
		default:
			r.dropped.Store(true)
		}
	}
}

func (h *Hub) receive(msg *nats.Msg) {
	bundle := &eventv1.Bundle{}
	if err := proto.Unmarshal(msg.Data, bundle); err != nil {
		return
	}
	updates := Decode(bundle)
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[bundle.GetTaskId()]
	if t == nil {
		return
	}
	for _, u := range updates {
		t.send(u)
	}
}

// Decode reads the events of a bundle; those that cannot be read are left out,
// which readers notice as a hole.
func Decode(b *eventv1.Bundle) []Update {
	updates := make([]Update, 0, len(b.GetEvents()))
	for _, e := range b.GetEvents() {
		ev := &a2apb.StreamResponse{}
		if err := proto.Unmarshal(e.GetStreamResponse(), ev); err != nil {
			continue
		}
		updates = append(updates, Update{Epoch: b.GetEpoch(), Version: e.GetVersion(), Event: ev})
	}
	return updates
}
