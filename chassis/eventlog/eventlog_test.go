package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	eventv1 "sabha.dev/gen/sabha/event/v1"
	"sabha.dev/testrig/natstest"
)

const service = "echo"

func event(says string) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING, Message: &a2apb.Message{
			Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: says}}},
		}},
	}}}
}

// commit is one with a single task's events of these versions.
func commit(tb testing.TB, task string, epoch int64, versions ...int64) *eventv1.Commit {
	tb.Helper()
	b := &eventv1.Bundle{Service: service, TaskId: task, ContextId: "c", Epoch: epoch}
	for _, v := range versions {
		raw, err := proto.Marshal(event(fmt.Sprint(v)))
		if err != nil {
			tb.Fatal(err)
		}
		b.Events = append(b.Events, &eventv1.Event{Version: v, StreamResponse: raw})
	}
	return &eventv1.Commit{Bundles: []*eventv1.Bundle{b}}
}

// box is an outbox in memory.
type box struct {
	mu      sync.Mutex
	entries []eventlog.Entry
	seq     int64
	ready   chan struct{}
}

func newBox() *box { return &box{ready: make(chan struct{}, 1)} }

func (b *box) put(c *eventv1.Commit) {
	b.mu.Lock()
	b.seq++
	b.entries = append(b.entries, eventlog.Entry{Position: eventlog.Position{Replica: "a", Seq: b.seq}, Commit: c})
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *box) Ready() <-chan struct{} { return b.ready }

func (b *box) Waiting(_ context.Context, limit int) ([]eventlog.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries[:min(limit, len(b.entries))]), nil
}

func (b *box) Relayed(_ context.Context, done []eventlog.Position) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = slices.DeleteFunc(b.entries, func(e eventlog.Entry) bool { return slices.Contains(done, e.Position) })
	return nil
}

func (b *box) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

func open(t testing.TB, nc *nats.Conn) *eventlog.Log {
	t.Helper()
	log, err := eventlog.Open(t.Context(), nc, eventlog.Retention{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// relaying runs a relay until the test ends.
func relaying(t testing.TB, log *eventlog.Log, b *box) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&eventlog.Relay{Log: log, Outbox: b, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
}

func soon(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(60 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

func versions(updates []eventlog.Update) string {
	var out []string
	for _, u := range updates {
		out = append(out, fmt.Sprint(u.Version))
	}
	return strings.Join(out, " ")
}

func replay(t testing.TB, log *eventlog.Log, task string, epoch, after int64) []eventlog.Update {
	t.Helper()
	updates, err := log.Replay(t.Context(), service, task, epoch, after)
	if err != nil {
		t.Fatal(err)
	}
	return updates
}

func TestReplayContinuesAfterAVersion(t *testing.T) {
	nc := natstest.New(t).Connect(t)
	log, b := open(t, nc), newBox()
	b.put(commit(t, "t1", 1, 1, 2))
	b.put(commit(t, "other", 1, 1))
	b.put(commit(t, "t1", 1, 3))
	b.put(commit(t, "t1", 1, 4, 5))
	relaying(t, log, b)
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
	for _, c := range []struct {
		task         string
		epoch, after int64
		want         string
	}{
		{"t1", 1, 0, "1 2 3 4 5"},
		{"t1", 1, 1, "2 3 4 5"},
		{"t1", 1, 4, "5"},
		{"t1", 1, 5, ""},
		{"t1", 1, 50, ""},
		{"t1", 2, 0, ""},
		{"other", 1, 0, "1"},
		{"none", 1, 0, ""},
	} {
		got := replay(t, log, c.task, c.epoch, c.after)
		if versions(got) != c.want {
			t.Errorf("%s after %d.%d: versions %q, want %q", c.task, c.epoch, c.after, versions(got), c.want)
		}
		for _, u := range got {
			if !proto.Equal(u.Event, event(fmt.Sprint(u.Version))) || u.Epoch != c.epoch {
				t.Errorf("version %d of epoch %d is %v", u.Version, u.Epoch, u.Event)
			}
		}
	}
}

// The log may hold an event twice and, after an outage, later ones before earlier ones.
func TestReplaySortsWhatTheLogHolds(t *testing.T) {
	nc := natstest.New(t).Connect(t)
	log, b := open(t, nc), newBox()
	for _, vs := range [][]int64{{1}, {3, 4}, {2}, {3, 4}, {2}, {7}} {
		b.put(commit(t, "t1", 1, vs...))
	}
	b.put(commit(t, "t1", 2, 5)) // another epoch's is not the next
	relaying(t, log, b)
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
	if got := versions(replay(t, log, "t1", 1, 0)); got != "1 2 3 4" {
		t.Errorf("versions %s, want 1 2 3 4: those after the hole are of no use", got)
	}
	if got := versions(replay(t, log, "t1", 1, 6)); got != "7" {
		t.Errorf("after the hole: %s, want 7", got)
	}
}

func TestReplayGivesNothingOnceTheNextEventIsPurged(t *testing.T) {
	nc := natstest.New(t).Connect(t)
	log, b := open(t, nc), newBox()
	for v := range int64(5) {
		b.put(commit(t, "t1", 1, v+1))
	}
	relaying(t, log, b)
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), eventlog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(4)); err != nil { // 1 to 3 are gone
		t.Fatal(err)
	}
	if got := versions(replay(t, log, "t1", 1, 1)); got != "" {
		t.Errorf("after 1, with 2 and 3 gone: %s, want nothing", got)
	}
	if got := versions(replay(t, log, "t1", 1, 3)); got != "4 5" {
		t.Errorf("after 3: %s, want 4 5", got)
	}
}

func TestTheRelayOutlivesAnOutage(t *testing.T) {
	server := natstest.New(t)
	log, b := open(t, server.Connect(t)), newBox()
	relaying(t, log, b)
	next := int64(1)
	put := func(n int) {
		for range n {
			b.put(commit(t, "t1", 1, next))
			next++
		}
	}
	put(50)
	soon(t, "the first are relayed", func() bool { return b.len() == 0 })
	for range 2 {
		put(5) // some are on their way when the server goes
		server.Stop()
		put(150)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		soon(t, "the outbox is empty again", func() bool { return b.len() == 0 })
	}
	got := replay(t, log, "t1", 1, 0)
	if int64(len(got)) != next-1 {
		t.Fatalf("the log gives %d of %d events: %s", len(got), next-1, versions(got))
	}
	for i, u := range got {
		if u.Version != int64(i+1) {
			t.Fatalf("event %d has version %d", i+1, u.Version)
		}
	}
}

// A log on a cluster is held by three servers, so that it goes on without one.
func TestInAClusterTheLogOutlivesTheServerThatLeadsIt(t *testing.T) {
	cluster := natstest.NewCluster(t)
	nc := cluster.Connect(t)
	log := open(t, nc)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), eventlog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	if info.Config.Replicas != 3 || len(info.Cluster.Replicas) != 2 {
		t.Fatalf("%d replicas, %v", info.Config.Replicas, info.Cluster)
	}
	b := newBox()
	relaying(t, log, b)
	const before, after = 50, 50
	for v := range before {
		b.put(commit(t, "t", 1, int64(v+1)))
	}
	for _, s := range cluster.Servers {
		if s.Name() == info.Cluster.Leader {
			s.Stop()
		}
	}
	for v := range after {
		b.put(commit(t, "t", 1, int64(before+v+1)))
	}
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
	soon(t, "the log has all events", func() bool {
		updates, err := log.Replay(t.Context(), service, "t", 1, 0)
		return err == nil && len(updates) == before+after
	})
}

func TestHistoryStepsOverWhatIsGone(t *testing.T) {
	nc := natstest.New(t).Connect(t)
	log, b := open(t, nc), newBox()
	for _, vs := range [][]int64{{1}, {2, 3}, {6}, {5}, {6}, {8}} {
		b.put(commit(t, "t1", 1, vs...))
	}
	b.put(commit(t, "t1", 2, 7)) // of another epoch
	relaying(t, log, b)
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), eventlog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(2)); err != nil { // 1 is gone
		t.Fatal(err)
	}
	held, err := log.History(t.Context(), service, "t1", 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range held {
		got = append(got, fmt.Sprint(ev.Version))
		if !proto.Equal(ev.Event, event(fmt.Sprint(ev.Version))) || time.Since(ev.At) > time.Hour {
			t.Errorf("version %d is %v of %v", ev.Version, ev.Event, ev.At)
		}
	}
	if strings.Join(got, " ") != "2 3 5 6 8" {
		t.Errorf("versions %v, want 2 3 5 6 8", got)
	}
}

func TestAWatcherHearsWhichTasksChange(t *testing.T) {
	nc := natstest.New(t).Connect(t)
	log, b := open(t, nc), newBox()
	b.put(commit(t, "before", 1, 1))
	relaying(t, log, b)
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
	w, err := log.Watch(service)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for v := range int64(3) {
		b.put(commit(t, "t1", 1, v+1))
	}
	b.put(commit(t, "t2", 1, 1))
	heard := map[string]bool{}
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Tell(within, nil, func(ids []string, more bool) error {
		for _, id := range ids {
			heard[id] = true
		}
		if more {
			t.Error("there are more than two")
		}
		if len(heard) == 2 {
			cancel()
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if !heard["t1"] || !heard["t2"] {
		t.Errorf("heard of %v", heard)
	}
	soon(t, "the outbox is empty", func() bool { return b.len() == 0 })
}

func TestAWatcherThatCannotHearSaysSo(t *testing.T) {
	server := natstest.New(t)
	nc := server.Connect(t)
	draining := make(chan struct{})
	close(draining)
	watch := func() *eventlog.Watcher {
		w, err := eventlog.Watch(nc, "a.>", func(*nats.Msg) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		return w
	}
	if err := watch().Tell(t.Context(), draining, nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("of a replica that stops: %v, want UNAVAILABLE", err)
	}
	w := watch()
	server.Stop()
	if err := w.Tell(t.Context(), nil, nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without NATS: %v, want UNAVAILABLE", err)
	}
	soon(t, "NATS is away", func() bool { return !nc.IsConnected() })
	if _, err := eventlog.Watch(nc, "a.>", nil); !errors.Is(err, eventlog.ErrAway) {
		t.Errorf("while NATS is away: %v", err)
	}
}

func TestAWatcherThatDoesNotLookSaysThatThereIsMore(t *testing.T) {
	w, err := open(t, natstest.New(t).Connect(t)).Watch(service)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 300 {
		w.Heard(fmt.Sprintf("m%d", i))
		w.Heard("m0") // known already
	}
	if ids, more := w.Take(); len(ids) != 256 || !more {
		t.Errorf("it names %d, more %v; want 256 and more", len(ids), more)
	}
	if ids, more := w.Take(); len(ids) != 0 || more {
		t.Errorf("afterwards it names %d, more %v", len(ids), more)
	}
}
