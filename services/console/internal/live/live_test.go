package live_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/services/console/internal/live"
	"sabha.dev/testrig/clocktest"
)

var began = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// whoKey has the name of who looks in a context.
type whoKey struct{}

// rig is a hub over topics that count how often they are read; what they show
// changes when the test says so.
type rig struct {
	*live.Hub
	clock *clocktest.Clock
	reads atomic.Int64
	shown atomic.Int64
}

func start(t *testing.T) *rig {
	r := &rig{clock: clocktest.New(began)}
	r.Hub = live.New(func(_ context.Context, topic string) (live.Feed, bool) {
		if topic == "unknown" {
			return nil, false
		}
		return func(ctx context.Context) ([]byte, []string) {
			r.reads.Add(1)
			who, _ := ctx.Value(whoKey{}).(string)
			return []byte(topic + " " + strconv.FormatInt(r.shown.Load(), 10) + who), []string{topic, "all"}
		}, true
	}, r.clock)
	t.Cleanup(r.Stop)
	return r
}

func (r *rig) watch(t *testing.T, topics ...string) *live.Viewer {
	t.Helper()
	v, err := r.Watch(t.Context(), "", topics...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// second lets the sleeping readers read once more and waits until they sleep again.
func (r *rig) second(readers int) {
	r.clock.BlockUntil(readers)
	r.clock.Advance(time.Second)
	r.clock.BlockUntil(readers)
}

func frames(v *live.Viewer) string {
	<-v.Ready()
	all := ""
	for _, f := range v.Take() {
		all += "[" + f.Topic + ": " + string(f.HTML) + "]"
	}
	return all
}

func TestViewersShareOneReader(t *testing.T) {
	r := start(t)
	first := r.watch(t, "tasks")
	if got := frames(first); got != "[tasks: tasks 0]" {
		t.Fatalf("the first viewer got %s", got)
	}
	second := r.watch(t, "tasks")
	if got := frames(second); got != "[tasks: tasks 0]" {
		t.Fatalf("the second viewer got %s", got)
	}
	r.shown.Store(1)
	r.second(1)
	for _, v := range []*live.Viewer{first, second} {
		if got := frames(v); got != "[tasks: tasks 1]" {
			t.Errorf("after a change: %s", got)
		}
	}
	if n := r.reads.Load(); n != 2 {
		t.Errorf("%d readings for two viewers over two seconds, want 2", n)
	}
}

func TestWhatStaysTheSameIsNotSent(t *testing.T) {
	r := start(t)
	v := r.watch(t, "tasks")
	frames(v)
	r.second(1)
	if got := v.Take(); len(got) != 0 {
		t.Errorf("sent again: %v", got)
	}
}

func TestAViewerThatDoesNotLookFindsTheNewest(t *testing.T) {
	r := start(t)
	v := r.watch(t, "tasks", "task.a", "tasks")
	for i := range 5 {
		r.shown.Store(int64(i))
		r.second(2)
	}
	if got := frames(v); got != "[task.a: task.a 4][tasks: tasks 4]" {
		t.Errorf("got %s", got)
	}
	if got := v.Take(); len(got) != 0 {
		t.Errorf("taken twice: %v", got)
	}
}

func TestNobodyReadsWhatNobodyWatches(t *testing.T) {
	r := start(t)
	v := r.watch(t, "tasks")
	frames(v)
	r.clock.BlockUntil(1)
	v.Close()
	v.Close() // once more changes nothing
	r.Stop()  // waits for readers; returns, so there is none left
	read := r.reads.Load()
	r.clock.Advance(time.Minute)
	if n := r.reads.Load(); n != read {
		t.Errorf("read %d more times", n-read)
	}
}

func TestATopicThatIsWatchedAnewIsReadAnew(t *testing.T) {
	r := start(t)
	v := r.watch(t, "tasks")
	frames(v)
	v.Close()
	r.shown.Store(3)
	if got := frames(r.watch(t, "tasks")); got != "[tasks: tasks 3]" {
		t.Errorf("got %s", got)
	}
}

func TestWhatCannotBeWatchedIsRefused(t *testing.T) {
	r := start(t)
	if _, err := r.Watch(t.Context(), "", "tasks", "unknown"); !errors.Is(err, live.ErrNoTopic) {
		t.Errorf("unknown topic: %v", err)
	}
	var last *live.Viewer
	for range 256 {
		last = r.watch(t, "tasks")
	}
	if _, err := r.Watch(t.Context(), "", "tasks"); !errors.Is(err, live.ErrFull) {
		t.Errorf("viewer 257: %v", err)
	}
	last.Close()
	last = r.watch(t, "tasks")
	r.Stop()
	<-last.Done()
	if _, err := r.Watch(t.Context(), "", "tasks"); !errors.Is(err, live.ErrStopped) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestASlowPlatformIsAskedLessOften(t *testing.T) {
	clock := clocktest.New(began)
	var reads atomic.Int64
	hub := live.New(func(context.Context, string) (live.Feed, bool) {
		return func(context.Context) ([]byte, []string) {
			reads.Add(1)
			clock.Advance(500 * time.Millisecond) // how long it took
			return []byte("x"), nil
		}, true
	}, clock)
	t.Cleanup(hub.Stop)
	if _, err := hub.Watch(t.Context(), "", "tasks"); err != nil {
		t.Fatal(err)
	}
	clock.BlockUntil(1)
	clock.Advance(4 * time.Second)
	clock.BlockUntil(1)
	if n := reads.Load(); n != 1 {
		t.Errorf("read %d times within 4 s after a reading of half a second, want 1", n)
	}
	clock.Advance(time.Second)
	clock.BlockUntil(1)
	if n := reads.Load(); n != 2 {
		t.Errorf("read %d times within 5 s, want 2", n)
	}
}

func TestEachPersonHasTheirOwnReader(t *testing.T) {
	r := start(t)
	var got []string
	for _, who := range []string{"alma", "bert"} {
		v, err := r.Watch(context.WithValue(t.Context(), whoKey{}, " for "+who), who, "tasks")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, frames(v))
	}
	if got[0] != "[tasks: tasks 0 for alma]" || got[1] != "[tasks: tasks 0 for bert]" {
		t.Errorf("got %q", got)
	}
}

func TestWhatHappensIsShownBeforeTheSecondIsOver(t *testing.T) {
	r := start(t)
	v := r.watch(t, "tasks", "task.a")
	r.clock.BlockUntil(2) // both have been read
	frames(v)
	r.shown.Store(1)
	r.Wake("task.b", "task.a")
	for r.clock.BlockUntil(3); r.reads.Load() < 3; { // the woken reader rests first
		r.clock.Advance(50 * time.Millisecond)
		time.Sleep(time.Millisecond)
		if r.clock.Now().Sub(began) > 900*time.Millisecond {
			t.Fatal("it was not read before its second was over")
		}
	}
	if got := frames(v); got != "[task.a: task.a 1]" {
		t.Errorf("got %s", got)
	}
}

func TestWhatHappensOftenIsReadInIntervals(t *testing.T) {
	r := start(t)
	frames(r.watch(t, "tasks"))
	r.clock.BlockUntil(1)
	for range 1000 {
		r.Wake("all")
	}
	r.clock.BlockUntil(2) // it rests
	if n := r.reads.Load(); n != 1 {
		t.Errorf("read %d times without a rest, want once", n)
	}
}

// TestTopicsAreReadInTurn wakes many topics at once. Few are read at the same time, and
// readings that hang do not keep the others away.
func TestTopicsAreReadInTurn(t *testing.T) {
	c := clocktest.New(began)
	var now, most atomic.Int64
	hang := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(hang) })
	reading := make(chan string, 100)
	h := live.New(func(_ context.Context, topic string) (live.Feed, bool) {
		return func(context.Context) ([]byte, []string) {
			for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			reading <- topic
			<-hang
			now.Add(-1)
			return []byte(topic), nil
		}, true
	}, c)
	t.Cleanup(h.Stop)
	t.Cleanup(letGo)
	const topics = 12
	for n := range topics {
		if _, err := h.Watch(t.Context(), "", strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		<-reading
	}
	c.BlockUntil(topics - 4) // the others wait for their turn
	if n := most.Load(); n != 4 {
		t.Errorf("%d topics were read at once, want 4", n)
	}
	c.Advance(250 * time.Millisecond)
	for range topics - 4 {
		<-reading
	}
	letGo()
}
