package push

import (
	"net/url"
	"time"
)

// class of a receiver, by its last answer.
type class int

const (
	// good receivers have answered well and quickly, fresh ones not at all yet, bad
	// ones badly.
	good class = iota
	fresh
	bad
	classes
)

// Bounds of what is on its way at once.
const (
	// maxFlying attempts are on their way, of which few to receivers that may not
	// answer, so that those who do always find room.
	maxFlying = 256
	maxFresh  = 96
	maxBad    = 32
	// laneWidth attempts go to one receiver at once.
	laneWidth = 16
	// What may wait for one receiver, by its class.
	maxWaiting, maxWaitingFresh, maxWaitingBad = maxActive / 4, 512, 64
	// slow answers count like bad ones here: they occupy room.
	slow = time.Second
	// maxLanes are remembered; idle ones go first.
	maxLanes = 4096
)

// lane is one receiver: a host with its port. It is widened answer by answer,
// like a connection that starts slowly, and narrowed to one by a failure.
type lane struct {
	waiting       []*cursor
	flying, limit int
	// proven says that it has ever answered well.
	proven bool
	// failures in a row. What was on its way together counts as one.
	failures int
	listed   bool
}

func (l *lane) class() class {
	switch {
	case l.failures > 0:
		return bad
	case l.proven:
		return good
	}
	return fresh
}

// later is when a configuration that finds too many waiting comes back.
func (l *lane) later(random float64) time.Duration {
	d := time.Second << min(l.failures, 6)
	return d/2 + time.Duration(random*float64(d)/2)
}

// lanes share the room between receivers, each in its turn.
type lanes struct {
	byHost map[string]*lane
	queues [classes]queue
	turn   class
	closed bool
}

// queue holds the lanes of a class with something to send and room for it, in turn.
type queue struct {
	lanes        []*lane
	flying, most int
}

func newLanes() lanes {
	return lanes{byHost: map[string]*lane{}, queues: [classes]queue{good: {most: maxFlying}, fresh: {most: maxFresh}, bad: {most: maxBad}}}
}

// hostOf is the receiver of a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Host
}

func (s *lanes) of(host string) *lane {
	if l := s.byHost[host]; l != nil {
		return l
	}
	if len(s.byHost) >= maxLanes {
		for h, l := range s.byHost {
			if l.flying == 0 && len(l.waiting) == 0 {
				delete(s.byHost, h)
			}
		}
	}
	l := &lane{limit: 1}
	s.byHost[host] = l
	return l
}

// add lets a cursor wait; false when too many do.
func (s *lanes) add(l *lane, c *cursor) bool {
	if len(l.waiting) >= [...]int{good: maxWaiting, fresh: maxWaitingFresh, bad: maxWaitingBad}[l.class()] {
		return false
	}
	l.waiting = append(l.waiting, c)
	s.list(l)
	return true
}

func (s *lanes) list(l *lane) {
	if l.listed || len(l.waiting) == 0 || l.flying >= l.limit {
		return
	}
	q := &s.queues[l.class()]
	q.lanes = append(q.lanes, l)
	l.listed = true
}

// flight is a cursor on its way, with its lane and the class that it counts in.
type flight struct {
	*cursor
	lane  *lane
	class class
	// failures of the receiver when it left.
	failures int
}

// pop takes the next cursor that may go; its cursor is nil when none may.
func (s *lanes) pop() flight {
	if s.closed {
		return flight{}
	}
	for range classes {
		k := s.turn
		s.turn = (s.turn + 1) % classes
		q := &s.queues[k]
		for len(q.lanes) > 0 && q.flying < q.most {
			l := q.lanes[0]
			q.lanes = q.lanes[1:]
			l.listed = false
			if l.class() != k { // it has changed since it was listed
				s.list(l)
				continue
			}
			q.flying++
			return flight{s.launch(l), l, k, l.failures}
		}
	}
	return flight{}
}

func (s *lanes) launch(l *lane) *cursor {
	c := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	l.flying++
	s.list(l)
	return c
}

// landed takes note of an answer and returns the cursors that the receiver has no
// room for any more.
func (s *lanes) landed(f flight, well bool) []*cursor {
	l := f.lane
	l.flying--
	s.queues[f.class].flying--
	var over []*cursor
	if well {
		l.proven, l.failures, l.limit = true, 0, min(l.limit+1, laneWidth)
	} else {
		l.limit = 1
		if l.failures <= f.failures { // else one that left with it has said so
			l.failures++
		}
		if n := len(l.waiting); n > maxWaitingBad {
			over = append(over, l.waiting[maxWaitingBad:]...)
			l.waiting = l.waiting[:maxWaitingBad]
		}
	}
	s.list(l)
	return over
}

func (s *lanes) close() { s.closed = true }
