package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/bench/load"
)

// posts is how many notifications go to one receiver at once, on both sides.
const posts = 16

// receiver is a webhook in this process, the same for both sides. The path of a
// task's notifications is its number.
type receiver struct {
	address string
	server  *http.Server
	count   atomic.Int64
	next    atomic.Int64
	ended   sync.Map // of a number the channel that is closed at the task's end
	sample  atomic.Pointer[sample]
	// release lets hanging requests go.
	release chan struct{}
	// busy is closed when the receiver, too busy so far, answers quickly again; nil
	// when it does anyway.
	busy atomic.Pointer[chan struct{}]
}

var completed = []byte(`TASK_STATE_COMPLETED`)

func newReceiver() (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{address: l.Addr().String(), release: make(chan struct{})}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

func (r *receiver) close() { close(r.release); _ = r.server.Close() }

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	if busy := r.busy.Load(); busy != nil {
		select {
		case <-*busy:
		case <-time.After(busyFor):
		}
	}
	r.count.Add(1)
	if r.sample.Load() == nil && bytes.Contains(body, []byte("artifactUpdate")) {
		r.sample.Store(&sample{"http://" + r.address + "/0", q.Header, body})
	}
	if bytes.Contains(body, completed) {
		if n, err := strconv.ParseInt(q.URL.Path[1:], 10, 64); err == nil {
			if done, ok := r.ended.LoadAndDelete(n); ok {
				close(done.(chan struct{}))
			}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// notified sends a task of many artifacts with a webhook and waits until
// its end has arrived there.
func notified(client a2apb.A2AServiceClient, r *receiver) func(context.Context) error {
	return func(ctx context.Context) error {
		done, url := r.expect()
		if err := push(ctx, client, url, true); err != nil {
			return err
		}
		return await(ctx, done)
	}
}

// expect gives a webhook's URL and the channel that is closed when a task's end has
// arrived there.
func (r *receiver) expect() (<-chan struct{}, string) {
	n, done := r.next.Add(1), make(chan struct{})
	r.ended.Store(n, done)
	return done, fmt.Sprintf("http://%s/%d", r.address, n)
}

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(30 * time.Second):
		return errors.New("the end of a task did not arrive within 30 s")
	}
}

func push(ctx context.Context, client a2apb.A2AServiceClient, url string, immediately bool) error {
	req := request("burst")
	req.Configuration = &a2apb.SendMessageConfiguration{
		ReturnImmediately: immediately, TaskPushNotificationConfig: &a2apb.TaskPushNotificationConfig{Url: url},
	}
	_, err := client.SendMessage(versioned(ctx), req)
	return err
}

// webhooks measures deliveries against a bare client that posts the same bodies
// and headers to the same receiver, from a process of its own as ours does.
func (b *bench) webhooks(ctx context.Context) (err error) {
	r, err := newReceiver()
	if err != nil {
		return err
	}
	defer r.close()
	ours, err := b.start(ctx, "ours", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	deliver := notified(ours.client, r)
	if err := deliver(ctx); err != nil { // gives the sample
		return err
	}
	var backlog, steady, peer []delivery
	for range b.rounds {
		d, err := r.backlog(ctx, ours)
		if err != nil {
			return err
		}
		backlog = append(backlog, d)
		if d, err = r.measure(ours, func() error { return b.turn(ctx, callers, &side{call: deliver}) }); err != nil {
			return err
		}
		steady = append(steady, d)
		if d, err = b.bare(ctx, r); err != nil {
			return err
		}
		peer = append(peer, d)
	}
	b.versus("webhooks, a backlog", backlog, peer)
	b.versus("webhooks, while tasks are made", steady, peer)
	return nil
}

// badReceivers fail: half of them hang, half answer 500.
const badReceivers = 100

// failing compares the time from a task's start to the arrival of its end at a
// receiver that answers, with and without receivers that fail.
func (b *bench) failing(ctx context.Context) (err error) {
	const few = 4
	r, err := newReceiver()
	if err != nil {
		return err
	}
	defer r.close()
	ours, err := b.start(ctx, "ours", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	deliver := notified(ours.client, r)
	alone, among := &side{call: deliver}, &side{call: deliver}
	if err := b.turns(ctx, few, alone); err != nil {
		return err
	}
	var tried atomic.Int64
	for i := range badReceivers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		bad := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			tried.Add(1)
			if i%2 == 0 {
				select {
				case <-r.release:
				case <-q.Context().Done():
				}
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
		})}
		go func() { _ = bad.Serve(l) }()
		defer func() { _ = bad.Close() }()
		for n := range 10 {
			if err := push(ctx, ours.client, fmt.Sprintf("http://%s/%d", l.Addr(), n), true); err != nil {
				return err
			}
		}
	}
	if err := b.turns(ctx, few, among); err != nil {
		return err
	}
	what := fmt.Sprintf("task to its last webhook, p50 / with %d failing", badReceivers)
	b.compare(what, fmt.Sprintf("%.1f", among.p(.5)), fmt.Sprintf("%.1f", alone.p(.5)), "ms", alone.p(.5)/among.p(.5))
	b.compare("  p99", fmt.Sprintf("%.1f", among.p(.99)), fmt.Sprintf("%.1f", alone.p(.99)), "ms", alone.p(.99)/among.p(.99))
	b.line("%-52s %14s", "  attempts to the failing ones meanwhile", strconv.FormatInt(tried.Load(), 10))
	return nil
}

// turn runs one side once.
func (b *bench) turn(ctx context.Context, callers int, s *side) error {
	res, err := load.Run(ctx, callers, b.length, s.call)
	s.runs = append(s.runs, res)
	return err
}
