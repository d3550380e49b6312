package eventlog

// Heard is what a message from NATS does.
func (w *Watcher) Heard(id string) { w.heard(id) }
