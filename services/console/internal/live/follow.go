package live

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Changes tells what changes until ctx ends or it cannot tell any more, which is
// its error: begun once it has begun, told from then on with the ids of what has
// changed, and whether more has than is named.
type Changes func(ctx context.Context, begun func(), told func(ids []string, more bool)) error

// Followed is a source of changes and what they mean for topics.
type Followed struct {
	Changes Changes
	// Lists are names that every change wakes, such as "tasks"; Each begins the name
	// that the change of one id wakes, such as "task:", or is empty.
	Lists []string
	Each  string
	// Whole says that nothing else changes what the names stand for, so topics that
	// are woken by them alone need not be read again and again.
	Whole bool
}

const (
	// seldom is how often a topic is read whose changes are told.
	seldom = 5 * time.Second
	// followAgain is how long after a source has broken off it is asked again.
	followAgain = time.Second
	// followIdle is how long nobody may watch before changes are not asked for.
	followIdle = time.Minute
)

// Follow wakes topics by what a source tells, for as long as somebody watches. It
// returns when ctx ends. Whenever the source begins, all topics are read: what was
// not told before is seen then.
func (h *Hub) Follow(ctx context.Context, f Followed, log *slog.Logger) {
	broken := false
	for h.busy(ctx) {
		begun, err := h.follow(ctx, f)
		h.cover(f, false)
		if begun && broken {
			log.Info("changes were told again", "of", f.Lists)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if !begun && !broken {
			log.Warn("changes are not told; pages are read again and again meanwhile", "of", f.Lists, "error", err)
		}
		broken = !begun
		select {
		case <-h.clock.After(followAgain):
		case <-ctx.Done():
		}
	}
}

// follow is Follow until the source breaks off, or until nobody watches, which is no error.
func (h *Hub) follow(ctx context.Context, f Followed) (begun bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var idle time.Time
	left := false
	err = f.Changes(ctx, func() {
		begun = true
		h.cover(f, true)
		h.WakeAll()
	}, func(ids []string, more bool) {
		if more {
			h.WakeAll()
		} else {
			names := slices.Clone(f.Lists)
			if f.Each != "" {
				for _, id := range ids {
					names = append(names, f.Each+id)
				}
			}
			h.Wake(names...)
		}
		switch now := h.clock.Now(); {
		case h.watched():
			idle = time.Time{}
		case idle.IsZero():
			idle = now
		case now.Sub(idle) > followIdle:
			left = true
			stop()
		}
	})
	if left {
		return begun, nil
	}
	return begun, err
}

// busy waits until somebody watches; false when ctx has ended first.
func (h *Hub) busy(ctx context.Context) bool {
	for ctx.Err() == nil {
		h.mu.Lock()
		watched, arrival := len(h.viewers) > 0, h.arrival
		h.mu.Unlock()
		if watched {
			return true
		}
		select {
		case <-arrival:
		case <-ctx.Done():
		}
	}
	return false
}

func (h *Hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) > 0
}

// cover notes whether the changes behind names are told.
func (h *Hub) cover(f Followed, told bool) {
	if !f.Whole {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range append(slices.Clone(f.Lists), f.Each) {
		h.covered[name] = told
	}
}

// pace is how often a topic is read when nothing wakes it.
func (h *Hub) pace(t *topic) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range t.wakes {
		if kind, _, one := strings.Cut(name, ":"); !h.covered[name] && (!one || !h.covered[kind+":"]) {
			return every
		}
	}
	if len(t.wakes) == 0 {
		return every
	}
	return seldom
}

// WakeAll has every topic read at once.
func (h *Hub) WakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		t.wake()
	}
}

func (t *topic) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}
