package notice

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/services/review/internal/item"
)

// Stream holds the events of items, on subjects sabha.review.QUEUE.WHAT.
const Stream = "SABHA_REVIEW"

// Bounds of the stream: what is older or beyond is gone.
const (
	maxAge   = 24 * time.Hour
	maxBytes = 64 << 20
)

// event is what is published: the item as it is after the event, without what a
// person decides on and without what people wrote.
type event struct {
	Item        string    `json:"item"`
	Version     int64     `json:"version"`
	What        string    `json:"what"`
	By          string    `json:"by"`
	At          time.Time `json:"at"`
	State       string    `json:"state"`
	Kind        string    `json:"kind"`
	Title       string    `json:"title"`
	Queue       string    `json:"queue"`
	Groups      []string  `json:"groups,omitempty"`
	Product     string    `json:"product,omitempty"`
	Risk        string    `json:"risk,omitempty"`
	Priority    int       `json:"priority"`
	Requester   string    `json:"requester"`
	Holder      string    `json:"holder,omitempty"`
	HeldUntil   time.Time `json:"held_until,omitzero"`
	DueAt       time.Time `json:"due_at,omitzero"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`
	Escalations int       `json:"escalations"`
	RootTask    string    `json:"root_task,omitempty"`
	TraceID     string    `json:"trace_id,omitempty"`
}

func published(i *item.Item, what, by string, at time.Time) ([]byte, error) {
	e := event{
		Item: i.ID, Version: i.Version, What: what, By: by, At: at.UTC(), State: short(i.State.String()), Kind: short(i.Kind.String()), Title: i.Title,
		Queue: i.Queue, Groups: i.Groups, Product: i.Product, Risk: i.Risk, Priority: i.Priority, Requester: i.Requester, DueAt: i.DueAt.UTC(),
		ExpiresAt: i.ExpiresAt.UTC(), Escalations: i.Escalations, RootTask: i.RootTaskID, TraceID: i.TraceID,
	}
	if holder := i.HolderAt(at); holder != "" {
		e.Holder, e.HeldUntil = holder, i.HeldUntil.UTC()
	}
	return json.Marshal(e)
}

// Watch begins to watch which items change, whichever replica changes them. What changes
// an item is an event of it, so it is heard when the event is published.
func (s *Sender) Watch() (*eventlog.Watcher, error) {
	if s.events.nc == nil {
		return nil, eventlog.ErrAway
	}
	return eventlog.Watch(s.events.nc, Subject(">"), func(msg *nats.Msg) string {
		var e struct{ Item string }
		if json.Unmarshal(msg.Data, &e) != nil {
			return ""
		}
		return e.Item
	})
}

// short is the name of an enum's value as JSON has it here: STATE_OPEN is open.
func short(name string) string {
	_, name, _ = strings.Cut(name, "_")
	return strings.ToLower(name)
}

// publisher publishes events to a stream, which is made when it is first needed.
type publisher struct {
	nc *nats.Conn

	mu sync.Mutex
	js jetstream.JetStream // nil until the stream is there
}

// errAway says that NATS is not connected.
var errAway = errors.New("NATS is not connected")

// publish gives an event to the stream and waits until it is kept there.
func (p *publisher) publish(ctx context.Context, id, subject string, body []byte) error {
	js, err := p.stream(ctx)
	if err != nil {
		return err
	}
	_, err = js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: body, Header: nats.Header{"Content-Type": {"application/json"}}}, jetstream.WithMsgID(id))
	return err
}

func (p *publisher) stream(ctx context.Context) (jetstream.JetStream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.nc == nil || !p.nc.IsConnected():
		return nil, errAway
	case p.js != nil:
		return p.js, nil
	}
	js, err := jetstream.New(p.nc)
	if err != nil {
		return nil, err
	}
	if _, err := eventlog.Ensure(ctx, js, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{Subject(">")}, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardOld, MaxAge: maxAge, MaxBytes: maxBytes, AllowDirect: true,
	}); err != nil {
		return nil, err
	}
	p.js = js
	return js, nil
}

// Subject of the events of a queue.
func Subject(queueAndWhat ...string) string {
	return strings.Join(append([]string{"sabha.review"}, queueAndWhat...), ".")
}
