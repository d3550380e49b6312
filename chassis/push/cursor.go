package push

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/taskstore"
)

// cursor is the place of a claimed configuration. The deliverer's lock guards it.
type cursor struct {
	key    taskstore.PushKey
	config *a2apb.TaskPushNotificationConfig
	host   string
	claim  int64
	// claimedAt is when this replica learnt of the claim.
	claimedAt time.Time
	// version was delivered, target is committed, settled is stored.
	version, target, settled int64
	settledAt                time.Time
	failures                 int
	reason                   string
	traceparent              string
	// events to deliver. Where they do not continue the version, the task as it is goes
	// instead.
	events []event
	busy   bool // queued or on its way
	// done says that the last settlement has been asked for: nothing more is delivered
	// under this claim.
	done bool
}

// event is one event that waits.
type event struct {
	version int64
	ev      *a2apb.StreamResponse
	at      time.Time
}

// adopt makes the cursor of a claimed configuration, or brings the one that is
// here to a newer claim. It returns nil for a claim that has been given back.
func (d *Deliverer) adopt(p *taskstore.Push) *cursor {
	c := d.cursors[p.PushKey]
	switch {
	case c == nil:
		c = &cursor{key: p.PushKey}
		d.cursors[p.PushKey] = c
		d.active.Add(1)
	case p.Claim > c.claim:
		d.held -= len(c.events)
		c.events = nil
	case p.Claim < c.claim || c.done:
		return nil
	default:
		return c
	}
	c.config, c.host, c.claim, c.done = p.Config, hostOf(p.Config.GetUrl()), p.Claim, false
	c.claimedAt = d.Clock.Now()
	c.version, c.settled, c.settledAt = p.Version, p.Version, c.claimedAt
	c.failures, c.reason = p.Failures, p.Reason
	return c
}

// hold keeps an event for its turn, if there is room.
func (d *Deliverer) hold(c *cursor, e event) {
	if e.version <= c.version {
		return
	}
	if len(c.events) >= maxHeldEach || d.held >= maxHeld {
		d.held -= len(c.events)
		c.events = nil // what follows does not continue the version: a snapshot goes instead
		return
	}
	c.events = append(c.events, e)
	d.held++
}

// next gives the event that continues the version; nil when the task as it is has
// to go instead.
func (d *Deliverer) next(c *cursor) *event {
	n := 0
	for n < len(c.events) && c.events[n].version <= c.version {
		n++
	}
	c.events = c.events[n:]
	d.held -= n
	if len(c.events) > 0 && c.events[0].version == c.version+1 {
		e := c.events[0]
		return &e
	}
	return nil
}

// enqueue puts a cursor with something to deliver into its lane, or puts it off
// where too many wait for the same receiver.
func (d *Deliverer) enqueue(c *cursor) {
	if c.busy || c.done || c.target <= c.version {
		return
	}
	l := d.lanes.of(c.host)
	if !d.lanes.add(l, c) {
		d.putOff(c, l.later(d.random()))
		return
	}
	c.busy = true
}

// putOff gives a configuration back until later, without counting a failure.
func (d *Deliverer) putOff(c *cursor, wait time.Duration) {
	c.done, c.busy = true, false
	d.settle(c, taskstore.Settlement{RetryAt: d.Clock.Now().Add(wait), Failures: c.failures, Reason: c.reason})
}

// forget ends a cursor.
func (d *Deliverer) forget(c *cursor) {
	d.held -= len(c.events)
	c.events = nil
	delete(d.cursors, c.key)
	d.active.Add(-1)
}
