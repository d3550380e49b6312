package live_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sabha.dev/services/console/internal/live"
	"sabha.dev/testrig/clocktest"
)

// teller is a source of changes that a test drives.
type teller struct {
	mu     sync.Mutex
	asked  int
	told   func([]string, bool)
	broken chan struct{}
	began  chan struct{}
}

func (s *teller) changes(ctx context.Context, begun func(), told func([]string, bool)) error {
	s.mu.Lock()
	s.asked++
	s.told, s.broken = told, make(chan struct{})
	broken := s.broken
	s.mu.Unlock()
	begun()
	s.began <- struct{}{}
	select {
	case <-broken:
		return errors.New("broken off")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *teller) tell(ids ...string) {
	s.mu.Lock()
	told := s.told
	s.mu.Unlock()
	told(ids, false)
}

func (s *teller) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// followed is a hub that follows a teller while the test runs.
func followed(t *testing.T) (*rig, *teller) {
	r := &rig{clock: clocktest.New(began)}
	r.Hub = live.New(func(_ context.Context, topic string) (live.Feed, bool) {
		return func(context.Context) ([]byte, []string) {
			r.reads.Add(1)
			return []byte(topic), []string{topic}
		}, true
	}, r.clock)
	s := &teller{began: make(chan struct{}, 100)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Follow(ctx, live.Followed{Changes: s.changes, Lists: []string{"tasks"}, Each: "task:", Whole: true}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { stop(); <-ended; r.Stop() })
	return r, s
}

// reach lets short times go by until so many readings have been made.
func (r *rig) reach(t *testing.T, reads int64) {
	t.Helper()
	for range 2000 {
		if r.reads.Load() >= reads {
			return
		}
		r.clock.Advance(10 * time.Millisecond)
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d readings, want %d", r.reads.Load(), reads)
}

// begins lets short times go by until the source has begun.
func (r *rig) begins(t *testing.T, s *teller) {
	t.Helper()
	for range 5000 {
		select {
		case <-s.began:
			return
		case <-time.After(time.Millisecond):
			r.clock.Advance(10 * time.Millisecond)
		}
	}
	t.Fatal("the source never began")
}

func TestNothingIsAskedForUntilSomebodyWatches(t *testing.T) {
	r, s := followed(t)
	if n := s.count(); n != 0 {
		t.Errorf("asked %d times while nobody watches", n)
	}
	r.watch(t, "tasks")
	r.begins(t, s)
	if n := s.count(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestWhatIsToldIsReadAtOnceAndTheRestSeldom(t *testing.T) {
	r, s := followed(t)
	r.watch(t, "task:a")
	r.begins(t, s)
	r.reach(t, 2) // it is read when it comes, and when the source begins
	before, quiet := int64(0), false
	for n := 0; n < 10 && !quiet; n++ { // were its changes not told, it would be read in each of these spans
		before = r.reads.Load()
		s.tell("b")
		for range 20 {
			r.clock.Advance(100 * time.Millisecond)
			time.Sleep(2 * time.Millisecond)
		}
		quiet = r.reads.Load() == before
	}
	if !quiet {
		t.Error("it is read again and again, or for the changes of another")
	}
	s.tell("a")
	r.reach(t, before+1)
	r.reach(t, before+2) // and it is read anyway, seldom
}

func TestASourceThatBreaksOffIsAskedAgainAndAllIsRead(t *testing.T) {
	r, s := followed(t)
	r.watch(t, "tasks")
	r.begins(t, s)
	r.reach(t, 2)
	before := r.reads.Load()
	s.mu.Lock()
	close(s.broken)
	s.mu.Unlock()
	r.begins(t, s)
	r.reach(t, before+1)
}

func TestChangesAreNotAskedForWhenEverybodyHasLeft(t *testing.T) {
	r, s := followed(t)
	v := r.watch(t, "tasks")
	r.begins(t, s)
	v.Close()
	s.tell("a")
	r.clock.Advance(2 * time.Minute)
	s.tell("a") // a source that is told of nothing costs nothing
	r.watch(t, "tasks")
	r.begins(t, s)
	if n := s.count(); n != 2 {
		t.Errorf("asked %d times, want again for the new viewer", n)
	}
}
