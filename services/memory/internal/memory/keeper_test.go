package memory

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"sabha.dev/testrig/clocktest"
)

// spy is a store that tells when it is purged.
type spy struct {
	Store
	added  Memory
	purged chan [2]time.Time
	fails  error
}

func (s *spy) Add(_ context.Context, _ Receipt, m Memory, _ int) (Added, error) {
	s.added = m
	return Added{ID: m.ID}, nil
}

func (s *spy) Purge(_ context.Context, now, old time.Time) error {
	s.purged <- [2]time.Time{now, old}
	return s.fails
}

func TestRememberFillsInOwnerAndTimes(t *testing.T) {
	s := &spy{}
	k := NewKeeper(s, 0, clocktest.New(now), slog.New(slog.DiscardHandler))
	first, err := k.Remember(t.Context(), Receipt{Owner: "acme/alice"}, Memory{Text: "x"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.added.Owner != "acme/alice" || !s.added.CreatedAt.Equal(now) || !s.added.ExpiresAt.Equal(now.Add(time.Minute)) {
		t.Errorf("stored %+v", s.added)
	}
	second, err := k.Remember(t.Context(), Receipt{Owner: "acme/alice"}, Memory{Text: "x"}, 0)
	if err != nil || second.ID == first.ID || !s.added.ExpiresAt.IsZero() {
		t.Errorf("stored %+v, ids %+v and %+v, error %v", s.added, first, second, err)
	}
}

func TestExpiredMemoriesAreRemovedEveryMinute(t *testing.T) {
	clock := clocktest.New(now)
	s := &spy{purged: make(chan [2]time.Time), fails: errors.New("the database is away")}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		NewKeeper(s, 0, clock, slog.New(slog.DiscardHandler)).Run(ctx)
	}()
	for range 3 { // a failure does not end it
		got := <-s.purged
		if at := clock.Now(); !got[0].Equal(at) || !got[1].Equal(at.Add(-ReceiptLifetime)) {
			t.Errorf("purged at %v, receipts before %v", got[0], got[1])
		}
		clock.BlockUntil(1)
		clock.Advance(purgeEvery)
	}
	<-s.purged
	stop()
	<-ended
}
