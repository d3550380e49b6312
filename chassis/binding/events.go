package binding

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
)

// writeLimit is how long one frame may take to leave. It is a limit of the
// network connection: a client that reads no more must not hold the stream.
const writeLimit = 30 * time.Second

// heartbeat is a comment, which clients skip (WHATWG HTML section 9.2.6).
var heartbeat = []byte(": heartbeat\n\n")

// openAfter is how long a subscription waits for its first event, or for its
// refusal, before it begins without one. One that goes on after a cursor may have
// nothing to say for hours, and a client or proxy that sees not even a header
// takes it for dead.
const openAfter = time.Second

// events is a text/event-stream answer. It begins with its first frame, that of a
// subscription soon anyway, and from then on never stays silent for longer than
// the heartbeat interval.
type events struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	clock    clock.Clock
	interval time.Duration
	stop     chan struct{}
	stopped  sync.Once
	beating  sync.WaitGroup

	mu    sync.Mutex
	open  bool
	since time.Time // of the last frame or heartbeat
}

func (x *exchange) newEvents(k kind) *events {
	e := &events{
		w:        x.w,
		control:  http.NewResponseController(x.w),
		clock:    x.Clock,
		interval: x.Heartbeat,
		stop:     make(chan struct{}),
	}
	if k == subscribeKind {
		timer := e.clock.After(openAfter)
		e.beating.Go(func() { e.openAt(timer) })
	}
	return e
}

// openAt begins a stream that has not begun when the timer fires.
func (e *events) openAt(timer <-chan time.Time) {
	select {
	case <-e.stop:
		return
	case <-timer:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		e.begin()
		// The stream's own first write meets the same error.
		_ = e.send(heartbeat)
	}
}

// head changes the headers of the answer, unless they have been sent.
func (e *events) head(change func(http.Header)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		change(e.w.Header())
	}
}

// begun ends the waiting for a first event and tells whether the answer is a
// stream. What is written after it has no heartbeats.
func (e *events) begun() bool {
	e.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// write sends one frame at once, and before the first one the headers.
func (e *events) write(frame []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		e.begin()
	}
	return e.send(frame)
}

func (e *events) begin() {
	header := e.w.Header()
	header.Set("Content-Type", typeStream)
	header.Set("Cache-Control", "no-cache")
	// Ask proxies not to collect events.
	header.Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	e.open = true
	e.since = e.clock.Now()
	// The timer runs before the first frame can be seen.
	timer := e.clock.After(e.interval)
	e.beating.Go(func() { e.beat(timer) })
}

func (e *events) send(b []byte) error {
	// Writers that know no deadline have none to miss. It is lifted again because
	// one that passes in silence would reset an HTTP/2 stream.
	_ = e.control.SetWriteDeadline(time.Now().Add(writeLimit))
	defer func() { _ = e.control.SetWriteDeadline(time.Time{}) }()
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	e.since = e.clock.Now()
	return e.control.Flush()
}

// beat sends a comment whenever the stream has been silent for the interval.
func (e *events) beat(timer <-chan time.Time) {
	for {
		select {
		case <-e.stop:
			return
		case <-timer:
		}
		e.mu.Lock()
		silent := e.clock.Now().Sub(e.since)
		if silent < e.interval {
			timer = e.clock.After(e.interval - silent)
		} else {
			timer = e.clock.After(e.interval)
			// The stream's own next write meets the same error.
			_ = e.send(heartbeat)
		}
		e.mu.Unlock()
	}
}

// close stops the heartbeats. It must be called before the handler returns.
func (e *events) close() {
	e.stopped.Do(func() { close(e.stop) })
	e.beating.Wait()
}

// envelope is what a binding puts around each event.
type envelope struct{ head, tail []byte }

// appendEvent appends the frame of an event, with its cursor as the id.
func appendEvent(b []byte, event *a2apb.StreamResponse, around *envelope, encode encoder) ([]byte, error) {
	b = appendID(b, cursor(event))
	b = append(b, "data: "...)
	if around != nil {
		b = append(b, around.head...)
	}
	b, err := encode(b, event)
	if err != nil {
		return nil, err
	}
	if around != nil {
		b = append(b, around.tail...)
	}
	return append(b, "\n\n"...), nil
}

// appendFrame appends a frame of one line of data that is no event of the task.
// name is its event type; the empty one is that of all other frames.
func appendFrame(b []byte, name string, data []byte) []byte {
	if name != "" {
		b = append(b, "event: "...)
		b = append(b, name...)
		b = append(b, '\n')
	}
	b = append(b, "data: "...)
	b = append(b, data...)
	return append(b, "\n\n"...)
}

func appendID(b []byte, id string) []byte {
	if id == "" {
		return b
	}
	b = append(b, "id: "...)
	b = append(b, id...)
	return append(b, '\n')
}

// cursor is the position of an event in its task; empty for one without.
func cursor(event *a2apb.StreamResponse) string {
	var metadata *structpb.Struct
	switch p := event.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		metadata = p.Task.GetMetadata()
	case *a2apb.StreamResponse_StatusUpdate:
		metadata = p.StatusUpdate.GetMetadata()
	case *a2apb.StreamResponse_ArtifactUpdate:
		metadata = p.ArtifactUpdate.GetMetadata()
	}
	c := metadata.GetFields()[ext.Cursor].GetStringValue()
	if !wellFormed(c) {
		return ""
	}
	return c
}

// wellFormed tells whether c is "epoch.version". Metadata may come from an agent
// outside the platform, and a line break in it would forge a frame.
func wellFormed(c string) bool {
	epoch, version, ok := strings.Cut(c, ".")
	return ok && digits(epoch) && digits(version)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
