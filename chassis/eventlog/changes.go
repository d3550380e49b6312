package eventlog

import "github.com/nats-io/nats.go"

// Changes are those of one kind of thing that a service keeps beside its tasks. They are
// hints and not kept: who was not there, or could not hear, reads for itself.
type Changes struct {
	nc      *nats.Conn
	subject string
}

// NewChanges makes the changes of a kind, such as discussions, in a service. Without a
// connection nothing is told, and nothing can be watched.
func NewChanges(nc *nats.Conn, service, kind string) Changes {
	return Changes{nc, "sabha.changed." + service + "." + kind}
}

// Tell tells that something has changed, after it has. It does not wait, and tells nobody
// while NATS is not connected.
func (c Changes) Tell(id string) {
	if c.nc != nil && c.nc.IsConnected() {
		_ = c.nc.Publish(c.subject, []byte(id))
	}
}

// Watch begins to watch what changes (see [Watch]).
func (c Changes) Watch() (*Watcher, error) {
	if c.nc == nil {
		return nil, ErrAway
	}
	return Watch(c.nc, c.subject, func(msg *nats.Msg) string { return string(msg.Data) })
}
