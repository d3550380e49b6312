package web

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/person"
)

// Bounds of a stream of events.
const (
	// beatEvery is how often a viewer hears from the console, whatever else it is
	// sent. The script takes a stream for lost when two beats have not come.
	beatEvery = 10 * time.Second
	// writeWithin is how long a viewer may take to receive what it is sent. One that
	// takes longer is dropped; its browser comes back and begins with what is then.
	writeWithin = 10 * time.Second
	// maxTopics that one stream may bring.
	maxTopics = 64
)

// events streams the fragments of the topics that are asked for: each as it is,
// then every change. An event has the name of its topic (HTML standard, 9.2).
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	topics := r.URL.Query()["watch"]
	if len(topics) == 0 || len(topics) > maxTopics {
		http.Error(w, "Name from 1 to 64 topics, each as watch=TOPIC.", http.StatusBadRequest)
		return
	}
	viewer, err := s.hub.Watch(r.Context(), viewerOf(r), topics...)
	switch {
	case errors.Is(err, live.ErrNoTopic):
		http.Error(w, "A topic is the address of a page of the console, such as /tasks.", http.StatusNotFound)
		return
	case err != nil:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "The console serves no further viewer now; try again later.", http.StatusServiceUnavailable)
		return
	}
	defer viewer.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that would hold events back
	if r.Method == http.MethodHead {
		return
	}
	out := &stream{w: w, rc: http.NewResponseController(w), now: time.Now}
	if out.send([]byte("retry: 2000\n\n")) != nil {
		return
	}
	beat := s.clock.After(beatEvery)
	for {
		select {
		case <-viewer.Ready():
			for _, f := range viewer.Take() {
				if out.send(frame(f.Topic, f.HTML)) != nil {
					return
				}
			}
		case <-beat:
			beat = s.clock.After(beatEvery)
			if p, ok := person.Of(r.Context()); ok && p.Signed != nil && !p.Signed(r.Context()) {
				_ = out.send(frame("ended", nil)) // the browser then shows that nobody is signed in
				return
			}
			if out.send(frame("beat", nil)) != nil {
				return
			}
		case <-viewer.Done():
			return
		case <-r.Context().Done():
			return
		}
	}
}

// stream writes to a viewer and bounds how long that may take.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	now func() time.Time // of the machine: a connection's deadline knows no other
}

func (s *stream) send(b []byte) error {
	if err := s.rc.SetWriteDeadline(s.now().Add(writeWithin)); err != nil {
		return err
	}
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.rc.Flush()
}

// frame is an event as it travels: each line of data behind its field name.
func frame(event string, data []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(data) + len(event) + 32)
	b.WriteString("event: ")
	b.WriteString(event)
	b.WriteByte('\n')
	// The format knows three ends of line; a carriage return left alone would end a field.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}
