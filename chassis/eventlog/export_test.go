package eventlog

// Heard is what a message from NATS does.
func (w *Watcher) Heard(id string) { w.heard(id) }

// Take gives what has changed.
func (w *Watcher) Take() (ids []string, more bool) { return w.take() }
