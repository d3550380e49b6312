package push

import (
	"testing"
	"time"
)

// wide is a receiver that has answered well until all it may get at once is on its way,
// with more that wait.
func wide(t *testing.T) (*lanes, *lane, []flight) {
	s := newLanes()
	l := s.of("a")
	for range 2*laneWidth + maxWaitingBad {
		if !s.add(l, &cursor{}) {
			t.Fatal("there is no room")
		}
	}
	var flying []flight
	for len(flying) < laneWidth {
		f := s.pop()
		if f.cursor == nil {
			t.Fatalf("only %d are on their way", len(flying))
		}
		flying = append(flying, f)
		if l.limit < laneWidth {
			s.landed(f, true)
			s.add(l, f.cursor)
			flying = flying[:len(flying)-1]
		}
	}
	return &s, l, flying
}

func TestAReceiverThatStallsOnceIsPutOffOnce(t *testing.T) {
	s, l, flying := wide(t)
	for _, f := range flying {
		s.landed(f, false)
		if got := l.later(1); got != 2*time.Second {
			t.Fatalf("what finds no room is put off by %s", got)
		}
	}
	for want := 4 * time.Second; want <= 64*time.Second; want *= 2 {
		f := s.pop()
		if f.cursor == nil || s.pop().cursor != nil {
			t.Fatal("a receiver that fails does not get one at a time")
		}
		s.landed(f, false)
		if got := l.later(1); got != want {
			t.Fatalf("a receiver that goes on to fail is put off by %s, want %s", got, want)
		}
	}
	s.landed(s.pop(), true)
	if got := l.later(1); got != time.Second || l.class() != good {
		t.Errorf("after a good answer it is put off by %s, class %d", got, l.class())
	}
}

func TestAnswersThatWereOnTheirWayDoNotHideAFailure(t *testing.T) {
	s, l, flying := wide(t)
	s.landed(flying[0], false)
	s.landed(flying[1], true)
	s.landed(flying[2], false)
	if got := l.later(1); got != 2*time.Second || l.class() != bad {
		t.Errorf("it is put off by %s, class %d", got, l.class())
	}
}
