// Package telling publishes what happens to partners on NATS. An event is a row of the
// transaction that makes it happen, and is gone when the stream has it: a replica that
// dies in between has it published twice under one id, which the stream drops.
package telling

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/services/partners/internal/registry"
)

// Stream holds the events of partners, on subjects sabha.partners.PARTNER.WHAT.
const Stream = "SABHA_PARTNERS"

// Bounds of the stream: what is older or beyond is gone.
const (
	maxAge   = 7 * 24 * time.Hour
	maxBytes = 64 << 20
	atOnce   = 100
	// lookEvery is how soon an event is told.
	lookEvery = time.Second
)

// Rows are events that wait.
type Rows interface {
	Events(ctx context.Context, limit int) ([]registry.Event, error)
	EventsTold(ctx context.Context, ids []string) error
}

// Teller tells.
type Teller struct {
	rows  Rows
	nc    *nats.Conn
	clock clock.Clock
	log   *slog.Logger
	js    jetstream.JetStream // nil until the stream is there
}

// New makes a teller; without a connection it tells nothing.
func New(rows Rows, nc *nats.Conn, c clock.Clock, log *slog.Logger) *Teller {
	return &Teller{rows: rows, nc: nc, clock: c, log: log}
}

// Run tells events until the context ends.
func (t *Teller) Run(ctx context.Context) {
	for {
		more, err := t.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.log.WarnContext(ctx, "events of partners are told later", "error", err)
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-t.clock.After(lookEvery):
		}
	}
}

var errAway = errors.New("NATS is not connected")

func (t *Teller) round(ctx context.Context) (more bool, err error) {
	events, err := t.rows.Events(ctx, atOnce)
	if err != nil || len(events) == 0 {
		return false, err
	}
	if err := t.ready(ctx); err != nil {
		return false, err
	}
	var told []string
	for _, e := range events {
		_, err = t.js.PublishMsg(ctx, &nats.Msg{Subject: e.Subject, Data: e.Body, Header: nats.Header{"Content-Type": {"application/json"}}}, jetstream.WithMsgID(e.ID))
		if err != nil {
			break
		}
		told = append(told, e.ID)
	}
	return err == nil && len(events) == atOnce, errors.Join(err, t.rows.EventsTold(ctx, told))
}

func (t *Teller) ready(ctx context.Context) error {
	switch {
	case t.nc == nil || !t.nc.IsConnected():
		return errAway
	case t.js != nil:
		return nil
	}
	js, err := jetstream.New(t.nc)
	if err != nil {
		return err
	}
	if _, err := eventlog.Ensure(ctx, js, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{registry.Subject(">")}, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardOld, MaxAge: maxAge, MaxBytes: maxBytes, AllowDirect: true,
	}); err != nil {
		return err
	}
	t.js = js
	return nil
}
