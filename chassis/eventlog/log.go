// Package eventlog carries committed events from a service's outbox to
// JetStream and from there, and from this process, to readers.
package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/trace"
	eventv1 "sabha.dev/gen/sabha/event/v1"
)

// Stream is the JetStream stream that holds the events of every service.
const Stream = "SABHA_EVENTS"

// Retention of the stream: what is older or beyond is gone, and a reader that
// asks for it is told of the gap.
type Retention struct {
	// MaxAge of an event; 0 means 24 h.
	MaxAge time.Duration
	// MaxBytes of the stream; 0 means 512 MiB.
	MaxBytes int64
}

// Log is the event log.
type Log struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	config jetstream.StreamConfig
	mu     sync.Mutex // held while the stream is being made
	stream atomic.Value
}

// Open connects the log to its stream and makes the stream when it is missing.
// While NATS is away it leaves that to the first who uses the log afterwards.
func Open(ctx context.Context, nc *nats.Conn, r Retention) (*Log, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	if r.MaxAge == 0 {
		r.MaxAge = 24 * time.Hour
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = 512 << 20
	}
	l := &Log{nc: nc, js: js, config: jetstream.StreamConfig{
		Name: Stream, Subjects: []string{"sabha.events.>"}, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardOld, MaxAge: r.MaxAge, MaxBytes: r.MaxBytes, AllowDirect: true,
	}}
	if _, err := l.open(ctx); err != nil && !errors.Is(err, ErrAway) {
		return nil, err
	}
	return l, nil
}

// open gives the stream, which the first call makes. The error is ErrAway while
// NATS is not connected.
func (l *Log) open(ctx context.Context) (jetstream.Stream, error) {
	if !l.nc.IsConnected() {
		return nil, ErrAway
	}
	if stream, ok := l.stream.Load().(jetstream.Stream); ok {
		return stream, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stream, ok := l.stream.Load().(jetstream.Stream); ok {
		return stream, nil
	}
	stream, err := Ensure(ctx, l.js, l.config)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	l.stream.Store(stream)
	return stream, nil
}

const (
	// replicas of a stream in a NATS cluster, so that it stays when a server is lost.
	replicas = 3
	// gathering is how long a cluster that has just started may take until its servers
	// know of each other, before a stream is held by fewer.
	gathering = 5 * time.Second
)

// Ensure makes a stream, or brings one of another configuration up to date. One
// that is as it should be is left alone. In a cluster it is held by three servers,
// or, when they do not gather within 5 s, by as many as there are.
func Ensure(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Replicas = 1
	if js.Conn().ConnectedClusterName() != "" {
		c.Replicas = replicas
	}
	stream, err := put(ctx, js, c)
	patience, cancel := context.WithTimeout(ctx, gathering)
	defer cancel()
	for fewServers(err) && patience.Err() == nil {
		select {
		case <-patience.Done():
		case <-time.After(gathering / 50):
		}
		stream, err = put(ctx, js, c)
	}
	for c.Replicas > 1 && fewServers(err) {
		c.Replicas--
		stream, err = put(ctx, js, c)
	}
	return stream, err
}

// fewServers tells that a stream cannot be held by as many servers as it should:
// "no suitable peers for placement" of the NATS server.
func fewServers(err error) bool {
	const noPeers = 10005
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == noPeers
}

func put(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := js.CreateStream(ctx, c)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return js.UpdateStream(ctx, c)
	}
	return stream, err
}

func subject(service, taskID string) string { return "sabha.events." + service + "." + taskID }

// ErrAway is the error of a log that is not connected.
var ErrAway = errors.New("event log: NATS is not connected")

// publication is a bundle on its way to the log.
type publication struct {
	jetstream.PubAckFuture
	span *trace.Span
}

// publish sends a bundle. While NATS is away it gives an error at once: what the
// connection would buffer would be published again from the outbox.
func (l *Log) publish(t *trace.Tracer, b *eventv1.Bundle) (publication, error) {
	if _, err := l.open(context.Background()); err != nil {
		return publication{}, err
	}
	raw, err := proto.Marshal(b)
	if err != nil {
		return publication{}, err
	}
	parent, span := spanOf(t, b)
	msg := &nats.Msg{Subject: subject(b.GetService(), b.GetTaskId()), Data: raw}
	if parent != "" {
		msg.Header = nats.Header{trace.Header: {parent}}
	}
	ack, err := l.js.PublishMsgAsync(msg)
	if err != nil {
		span.Fail("publish")
		span.End()
	}
	return publication{ack, span}, err
}

// spanOf begins the span of a publication in the trace of its task, and gives the
// traceparent for its readers.
func spanOf(t *trace.Tracer, b *eventv1.Bundle) (string, *trace.Span) {
	if t == nil || b.GetTraceparent() == "" {
		return b.GetTraceparent(), nil
	}
	c, ok := trace.Parse(b.GetTraceparent())
	if !ok {
		return "", nil
	}
	ctx, span := trace.Start(t.At(context.Background(), c), trace.Producer, "publish "+subject(b.GetService(), "*"))
	span.Set(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "send"),
		attribute.String("messaging.operation.name", "publish"), attribute.String("messaging.destination.template", subject(b.GetService(), "*")),
		attribute.String("sabha.task.id", b.GetTaskId()), attribute.Int("messaging.batch.message_count", len(b.GetEvents())),
	)
	return trace.Of(ctx).String(), span
}

// Replay reads the events of a task after a version, as far as the log holds
// them: consecutive versions from after+1. It returns none when the next one is
// gone from the log or not there yet. The log may hold an event twice and, after
// an outage, a later one before an earlier one. The error is ErrAway while NATS is
// not connected.
func (l *Log) Replay(ctx context.Context, service, taskID string, epoch, after int64) ([]Update, error) {
	held := map[int64]Update{}
	err := l.read(ctx, service, taskID, epoch, func(u Update, _ time.Time) { held[u.Version] = u })
	if err != nil {
		return nil, err
	}
	var updates []Update
	for {
		u, ok := held[after+1]
		if !ok {
			return updates, nil
		}
		updates = append(updates, u)
		after++
	}
}

// Stored is an event as the log holds it.
type Stored struct {
	Update
	// At is when the log took it.
	At time.Time
}

// History reads all events of a task that the log holds, each once, in the order of
// their versions. Unlike Replay it steps over those that are gone. The error is
// ErrAway while NATS is not connected.
func (l *Log) History(ctx context.Context, service, taskID string, epoch int64) ([]Stored, error) {
	held := map[int64]Stored{}
	err := l.read(ctx, service, taskID, epoch, func(u Update, at time.Time) {
		if _, again := held[u.Version]; !again {
			held[u.Version] = Stored{u, at}
		}
	})
	return slices.SortedFunc(maps.Values(held), func(a, b Stored) int { return cmp.Compare(a.Version, b.Version) }), err
}

// read hands over the events of a task as they stand in the log.
func (l *Log) read(ctx context.Context, service, taskID string, epoch int64, each func(Update, time.Time)) error {
	stream, err := l.open(ctx)
	if err != nil {
		return err
	}
	next := uint64(1)
	for {
		msg, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject(service, taskID)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("event log: %w", err)
		}
		next = msg.Sequence + 1
		bundle := &eventv1.Bundle{}
		if err := proto.Unmarshal(msg.Data, bundle); err != nil {
			return fmt.Errorf("event log: %w", err)
		}
		if bundle.GetEpoch() != epoch {
			continue
		}
		for _, u := range Decode(bundle) {
			each(u, msg.Time)
		}
	}
}
