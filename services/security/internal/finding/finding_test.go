package finding

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/clock"
)

// shelf is a store in memory that can fail.
type shelf struct {
	mu   sync.Mutex
	fail error
	got  []string
}

func (s *shelf) Add(_ context.Context, fs []Finding) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, f := range fs {
		s.got = append(s.got, f.Digest)
	}
	return nil
}

func TestCloseWritesWhatWaits(t *testing.T) {
	s := &shelf{}
	j := NewJournal(s, clock.System{}, slog.New(slog.DiscardHandler))
	for range 1000 {
		j.Note(Finding{Digest: "d"})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if len(s.got) != 1000 {
		t.Errorf("%d findings written, want 1000", len(s.got))
	}
	if err := j.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestCloseSaysWhatWasLost(t *testing.T) {
	broken := errors.New("disk full")
	j := NewJournal(&shelf{fail: broken}, clock.System{}, slog.New(slog.DiscardHandler))
	j.Note(Finding{Digest: "d"})
	if err := j.Close(); !errors.Is(err, ErrLost) || !errors.Is(err, broken) {
		t.Errorf("close gave %v, want ErrLost because the disk is full", err)
	}
}

// stopped is a clock whose waiters are released by hand.
type stopped struct {
	clock.System
	wake chan time.Time
}

func (s stopped) After(time.Duration) <-chan time.Time { return s.wake }

func TestAFailedWriteIsRepeated(t *testing.T) {
	s := &shelf{fail: errors.New("locked")}
	c := stopped{wake: make(chan time.Time)}
	j := NewJournal(s, c, slog.New(slog.DiscardHandler))
	j.Note(Finding{Digest: "d"})
	c.wake <- time.Time{} // received only after the first failure
	s.mu.Lock()
	s.fail = nil
	s.mu.Unlock()
	// The journal may have failed once more between the two lines above.
	select {
	case c.wake <- time.Time{}:
	default:
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if len(s.got) != 1 {
		t.Errorf("%d findings written, want 1", len(s.got))
	}
}
