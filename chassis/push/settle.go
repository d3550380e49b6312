package push

import (
	"time"

	"sabha.dev/chassis/taskstore"
)

// settles are outcomes on their way to the database: one commit takes all that
// have come together.
type settles struct {
	waiting []taskstore.Settlement
	// out says that a commit with earlier ones is on its way.
	out bool
}

// settle stores a cursor's place with the next commit.
func (d *Deliverer) settle(c *cursor, s taskstore.Settlement) {
	s.PushKey, s.Claim, s.Version = c.key, c.claim, c.version
	c.settled, c.settledAt = c.version, d.Clock.Now()
	d.settles.waiting = append(d.settles.waiting, s)
	d.flush()
}

func (d *Deliverer) flush() {
	if d.settles.out || len(d.settles.waiting) == 0 {
		return
	}
	list := d.settles.waiting
	d.settles.waiting, d.settles.out = nil, true
	d.Store.SettlePushes(list, func(done []taskstore.Settled, err error) { d.stored(list, done, err) })
}

// retrySettle is how long a failed commit of settlements waits, by the machine's time.
const retrySettle = time.Second

// stored is told by the store, in the order of commits.
func (d *Deliverer) stored(list []taskstore.Settlement, done []taskstore.Settled, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settles.out = false
	if err != nil {
		if d.closed.Load() {
			return
		}
		d.Log.Error("the places of pushes were not stored", "error", err)
		d.settles.waiting = append(list, d.settles.waiting...)
		time.AfterFunc(retrySettle, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.flush()
		})
		return
	}
	for i, s := range done {
		d.settled(list[i], s)
	}
	d.flush()
	d.staff()
}

func (d *Deliverer) settled(asked taskstore.Settlement, s taskstore.Settled) {
	if at := asked.RetryAt; !at.IsZero() && at.Before(d.wakeAt) {
		d.Kick()
	}
	c := d.cursors[s.PushKey]
	if c == nil || c.claim != s.Claim {
		return // claimed anew since
	}
	switch {
	case s.Lost:
		// Replaced, deleted, or taken over while this replica was stalled.
		c.done = true
		if !c.busy {
			d.forget(c)
		}
	case c.done:
		d.forget(c)
	case c.busy:
	case max(s.Target, c.target) > c.version:
		c.target = max(s.Target, c.target)
		d.enqueue(c)
	case asked.Version == c.version:
		d.forget(c)
	}
}

// leave stores how far places have come before the replica gives its claims back.
func (d *Deliverer) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.cursors {
		if c.version > c.settled && !c.done {
			d.settle(c, taskstore.Settlement{Failures: c.failures, Reason: c.reason})
		}
	}
}
