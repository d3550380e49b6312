package live

// Viewer gets the frames of what it watches. Nobody waits for it: of what changes
// while it does not look, it finds the newest.
type Viewer struct {
	hub   *Hub
	who   string
	names []string
	// changed holds the frames that have not been taken; guarded by the hub's lock.
	changed map[string][]byte
	ready   chan struct{}
	done    chan struct{}
	closed  bool
}

// put hands over a frame; the hub's lock is held.
func (v *Viewer) put(name string, html []byte) {
	v.changed[name] = html
	select {
	case v.ready <- struct{}{}:
	default:
	}
}

// Ready receives when there are frames to take.
func (v *Viewer) Ready() <-chan struct{} { return v.ready }

// Done is closed when the viewer has ended.
func (v *Viewer) Done() <-chan struct{} { return v.done }

// Take gives the topics that have changed since the last time, by name, each as
// it is now.
func (v *Viewer) Take() []Frame {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	frames := make([]Frame, 0, len(v.changed))
	for _, name := range v.names {
		if html, ok := v.changed[name]; ok {
			frames = append(frames, Frame{Topic: name, HTML: html})
		}
	}
	clear(v.changed)
	return frames
}

// Close ends the viewer. A topic that nobody else watches is read no more.
func (v *Viewer) Close() {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.closed {
		return
	}
	v.closed = true
	close(v.done)
	delete(h.viewers, v)
	for _, name := range v.names {
		t := h.topics[key{v.who, name}]
		delete(t.viewers, v)
		if len(t.viewers) == 0 {
			t.stop()
			delete(h.topics, key{v.who, name})
		}
	}
}
