package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
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
	sample  atomic.Pointer[[]byte]
	// release lets hanging requests go.
	release chan struct{}
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
	r.count.Add(1)
	if r.sample.Load() == nil && bytes.Contains(body, []byte("artifactUpdate")) {
		r.sample.Store(&body)
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
		n, done := r.next.Add(1), make(chan struct{})
		r.ended.Store(n, done)
		if err := push(ctx, client, fmt.Sprintf("http://%s/%d", r.address, n)); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Second):
			return errors.New("the end of a task did not arrive within 30 s")
		}
	}
}

func push(ctx context.Context, client a2apb.A2AServiceClient, url string) error {
	req := request("burst")
	req.Configuration = &a2apb.SendMessageConfiguration{
		ReturnImmediately: true, TaskPushNotificationConfig: &a2apb.TaskPushNotificationConfig{Url: url},
	}
	_, err := client.SendMessage(versioned(ctx), req)
	return err
}

// post posts a body as a bare HTTP client does.
func post(c *http.Client, r *receiver, body []byte) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.address+"/0", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/a2a+json")
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}
}

// webhooks measures deliveries against a bare client that posts the same bodies
// to the same receiver, and what receivers that fail do to one that does not.
func (b *bench) webhooks(ctx context.Context) (err error) {
	r, err := newReceiver()
	if err != nil {
		return err
	}
	defer r.close()
	ours, err := start(ctx, "ours", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	deliver := notified(ours.client, r)
	if err := deliver(ctx); err != nil { // gives the sample
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: posts}}
	bare := &side{call: post(client, r, *r.sample.Load())}
	mine := &side{call: deliver}
	var rates []float64
	for range b.rounds {
		before, began := r.count.Load(), time.Now()
		if err := b.turn(ctx, callers, mine); err != nil {
			return err
		}
		rates = append(rates, float64(r.count.Load()-before)/time.Since(began).Seconds())
		if err := b.turn(ctx, posts, bare); err != nil {
			return err
		}
	}
	slices.Sort(rates)
	rate := rates[len(rates)/2]
	b.compare(fmt.Sprintf("webhook deliveries, %d at once / bare HTTP client", posts), fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.0f", bare.rate()), "/s", rate/bare.rate())
	return b.failing(ctx, ours, r, deliver)
}

// badReceivers fail: half of them hang, half answer 500.
const badReceivers = 100

// failing compares the time from a task's start to the arrival of its end at a
// receiver that answers, with and without receivers that fail.
func (b *bench) failing(ctx context.Context, ours *process, r *receiver, deliver func(context.Context) error) error {
	const few = 4
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
			if err := push(ctx, ours.client, fmt.Sprintf("http://%s/%d", l.Addr(), n)); err != nil {
				return err
			}
		}
	}
	if err := b.turns(ctx, few, among); err != nil {
		return err
	}
	what := fmt.Sprintf("  task to its last notification, p50 / with %d failing", badReceivers)
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
