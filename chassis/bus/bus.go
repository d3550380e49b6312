// Package bus takes work for a persona from NATS and reports back: delegations
// arrive as KALKI frames on kalki.agents.<persona>, become A2A tasks under the
// same admission as any call, and their progress and result return as frames.
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/trace"
	busv1 "sabha.dev/gen/sabha/bus/v1"
)

// Streams of the bus: work that waits for a persona, and frames that nobody could read.
const (
	WorkStream = "KALKI_AGENTS"
	DeadStream = "KALKI_DEAD"
)

// Subjects.
const (
	workSubject  = "kalki.agents."
	replySubject = "kalki.replies."
	deadSubject  = "kalki.dead."
)

// TokenHeader of a NATS message carries the parent's service token, signed for
// the persona.
const TokenHeader = "Sabha-Token"

// ackWait is how long a frame stays with a replica that no longer reports progress.
const ackWait = 30 * time.Second

// Config of a persona's side of the bus.
type Config struct {
	Persona string
	// Agent is the persona's engine.
	Agent    Agent
	NATS     *nats.Conn
	Verifier *identity.Verifier
	Clock    clock.Clock
	Log      *slog.Logger
	// Tracer makes the spans of frames; nil makes none.
	Tracer *trace.Tracer
}

// Agent is what the bus needs of an A2A server.
type Agent interface {
	SendMessage(context.Context, *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error)
	GetTask(context.Context, *a2apb.GetTaskRequest) (*a2apb.Task, error)
}

// Bus is a running subscription.
type Bus struct {
	Config
	js   jetstream.JetStream
	base context.Context
	halt context.CancelFunc
	work sync.WaitGroup
}

// Start subscribes a persona to its subject. While NATS is away it goes on and
// subscribes when it is back.
func Start(ctx context.Context, c Config) (*Bus, error) {
	js, err := jetstream.New(c.NATS)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	b := &Bus{Config: c, js: js}
	b.base, b.halt = context.WithCancel(context.WithoutCancel(ctx))
	if c.NATS.IsConnected() {
		if err := b.subscribe(ctx); err != nil {
			b.halt()
			return nil, fmt.Errorf("bus: %w", err)
		}
		return b, nil
	}
	b.work.Go(b.subscribeLater)
	return b, nil
}

// lookAgain is how often it is looked whether NATS is back.
const lookAgain = 250 * time.Millisecond

func (b *Bus) subscribeLater() {
	for {
		select {
		case <-b.base.Done():
			return
		case <-time.After(lookAgain):
		}
		if !b.NATS.IsConnected() {
			continue
		}
		err := b.subscribe(b.base)
		if err == nil || b.base.Err() != nil {
			return
		}
		b.Log.Warn("the bus cannot be subscribed to; it is tried again", "error", err)
	}
}

func (b *Bus) subscribe(ctx context.Context) error {
	for _, s := range []jetstream.StreamConfig{
		{Name: WorkStream, Subjects: []string{workSubject + "*"}, Retention: jetstream.WorkQueuePolicy, MaxAge: 24 * time.Hour, MaxBytes: 256 << 20},
		{Name: DeadStream, Subjects: []string{deadSubject + "*"}, MaxAge: 7 * 24 * time.Hour, MaxBytes: 64 << 20, Discard: jetstream.DiscardOld},
	} {
		if _, err := eventlog.Ensure(ctx, b.js, s); err != nil {
			return err
		}
	}
	consumer, err := b.js.CreateOrUpdateConsumer(ctx, WorkStream, jetstream.ConsumerConfig{
		Durable: b.Persona, FilterSubject: workSubject + b.Persona, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: 256,
	})
	if err != nil {
		return err
	}
	consume, err := consumer.Consume(func(msg jetstream.Msg) {
		b.work.Add(1)
		go func() {
			defer b.work.Done()
			b.take(msg)
		}()
	}, jetstream.PullMaxMessages(64))
	if err != nil {
		return err
	}
	b.work.Go(func() {
		<-b.base.Done()
		consume.Stop()
		<-consume.Closed() // from then on no frame comes
	})
	return nil
}

// Stop leaves the subject. Frames whose subtasks still run go to another replica,
// which finds their tasks.
func (b *Bus) Stop() {
	b.halt()
	b.work.Wait()
}

// take carries one frame from its arrival to its last reply. The frame is
// acknowledged at the end, so that another replica goes on when this one dies: the
// subtask id finds the task that it became.
func (b *Bus) take(msg jetstream.Msg) {
	contentType := msg.Headers().Get("Content-Type")
	f, err := decode(contentType, msg.Data())
	if err == nil {
		err = check(b.Persona, f)
	}
	if err != nil {
		b.refuse(msg, f, contentType, fault.New(fault.InvalidArgument, "%s", err))
		return
	}
	call, err := b.Verifier.VerifyAt(msg.Headers().Get(TokenHeader), b.published(msg))
	if err != nil {
		b.Log.Warn("a frame was refused", "parent", f.GetParentAgent(), "error", err)
		b.refuse(msg, f, contentType, fault.New(fault.Unauthenticated, "header %s: the token does not verify; sign one for %s with a key that is on the keyring", TokenHeader, b.Persona))
		return
	}
	if call.Actor != name(f.GetParentAgent()) {
		b.refuse(msg, f, contentType, fault.New(fault.PermissionDenied, "parent_agent is %q but the token is signed by %q", f.GetParentAgent(), call.Actor))
		return
	}
	call.Edge = true
	s := &subtask{bus: b, frame: f, contentType: contentType, call: call, msg: msg}
	ctx, span := s.span(b.base)
	err = s.run(ctx)
	if err != nil {
		span.Fail(status.Code(err).String())
	}
	span.End()
	switch {
	case b.base.Err() != nil:
		_ = msg.Nak()
	case err != nil && again(err) && deliveries(msg) < maxDeliveries:
		b.Log.Warn("a frame is delivered again", "subtask_id", f.GetPayload().GetSubtaskId(), "error", err)
		_ = msg.NakWithDelay(min(time.Second<<min(deliveries(msg)-1, 5), ackWait))
	case err != nil:
		b.refuse(msg, f, contentType, err)
	default:
		_ = msg.Ack()
	}
}

// published is when the stream took a frame. A token must have been good then: a
// frame may wait for its persona longer than tokens last.
func (b *Bus) published(msg jetstream.Msg) time.Time {
	md, err := msg.Metadata()
	if err != nil {
		return b.Clock.Now()
	}
	return md.Timestamp
}

// maxDeliveries bounds how often a frame is tried whose subtask nobody could start
// or follow: about a quarter of an hour with the waits between.
const maxDeliveries = 30

func deliveries(msg jetstream.Msg) uint64 {
	md, err := msg.Metadata()
	if err != nil {
		return 1
	}
	return md.NumDelivered
}

func again(err error) bool {
	s := fault.Status(err)
	f := fault.FromStatus(s.Err())
	return f == nil || f.Reason == fault.Unavailable
}

// refuse answers a frame that cannot be worked on and keeps it as a dead letter.
func (b *Bus) refuse(msg jetstream.Msg, f *busv1.Frame, contentType string, err error) {
	e := &busv1.Error{Reason: "INTERNAL", Message: "the frame could not be worked on; the operator finds it in the log by its subtask id"}
	if known := fault.FromStatus(fault.Status(err).Err()); known != nil {
		e.Reason, e.Message = string(known.Reason), known.Message
	} else {
		b.Log.Error("a frame could not be worked on", "subtask_id", f.GetPayload().GetSubtaskId(), "error", err)
	}
	if parent := name(f.GetParentAgent()); parent != "" {
		b.reply(b.base, f, contentType, Failure, &busv1.Payload{SubtaskId: f.GetPayload().GetSubtaskId(), Error: e})
	}
	dead := &nats.Msg{Subject: deadSubject + b.Persona, Data: msg.Data(), Header: nats.Header{
		"Content-Type": {contentType}, "Sabha-Reason": {e.Reason}, "Sabha-Message": {strconv.QuoteToASCII(e.Message)},
	}}
	ctx, cancel := context.WithTimeout(b.base, 5*time.Second)
	defer cancel()
	if _, err := b.js.PublishMsg(ctx, dead); err != nil && !errors.Is(err, context.Canceled) {
		b.Log.Error("a dead letter was not kept; the frame is delivered again", "error", err)
		_ = msg.NakWithDelay(time.Second)
		return
	}
	_ = msg.Term()
}

// reply sends a frame to the parent of another.
func (b *Bus) reply(ctx context.Context, to *busv1.Frame, contentType, kind string, payload *busv1.Payload) {
	raw, err := encode(contentType, &busv1.Frame{
		TraceId: to.GetTraceId(), ParentAgent: to.GetParentAgent(), TargetAgent: to.GetTargetAgent(), MessageType: kind, Payload: payload,
		TimestampUtc: b.Clock.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		b.Log.Error("a reply cannot be encoded", "error", err)
		return
	}
	header := nats.Header{"Content-Type": {JSON}}
	if contentType == Protobuf {
		header.Set("Content-Type", Protobuf)
	}
	if c := trace.Of(ctx); trace.Known(ctx) {
		header[trace.Header] = []string{c.String()}
	}
	if err := b.NATS.PublishMsg(&nats.Msg{Subject: replySubject + name(to.GetParentAgent()), Header: header, Data: raw}); err != nil {
		b.Log.Warn("a reply was not sent", "error", err)
	}
}
