package push

import (
	"math"
	"time"

	"sabha.dev/chassis/taskstore"
)

// Bounds of the wait after a failure.
const (
	firstBackoff  = time.Second
	maxBackoff    = 15 * time.Minute
	minBackoff    = 50 * time.Millisecond
	maxRetryAfter = time.Hour
)

// staff lets go what may go. The caller holds the lock.
func (d *Deliverer) staff() {
	for d.work != nil && d.running < maxFlying {
		f := d.lanes.pop()
		if f.cursor == nil {
			return
		}
		d.running++
		d.workers.Add(1)
		go d.deliver(f)
	}
}

// deliver makes attempts, one after the other, as long as there is something to do.
func (d *Deliverer) deliver(f flight) {
	defer d.workers.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	var buffer []byte
	for f.cursor != nil {
		// After a stall the claim may be another's; what it sends must not be overtaken.
		held := d.Store.Held(f.claimedAt)
		j := job{key: f.key, config: f.config, claim: f.claim, event: d.next(f.cursor), version: f.version, traceparent: f.traceparent}
		d.mu.Unlock()
		var r result
		if held {
			r = d.attempt(d.work, j, &buffer)
		}
		d.mu.Lock()
		d.landed(f, j.claim, r)
		// First the next for this goroutine, whose stack and buffer have grown, then
		// others for what may go besides.
		f = d.lanes.pop()
		d.staff()
	}
	d.running--
}

// landed takes note of an attempt's result.
func (d *Deliverer) landed(f flight, claim int64, r result) {
	for _, over := range d.lanes.landed(f, r.outcome == delivered && r.took < slow) {
		d.putOff(over, f.lane.later(d.random()))
	}
	c := f.cursor
	c.busy = false
	now := d.Clock.Now()
	switch r.outcome {
	case "":
	case delivered:
		d.delivered.Inc()
	default:
		d.Metrics.PushDeliveries.WithLabelValues(r.outcome).Inc()
	}
	switch {
	case c.done:
		d.forget(c)
	case c.claim != claim: // replaced meanwhile
		d.enqueue(c)
	case r.taskGone:
		c.done = true
		d.forget(c)
	case r.outcome == "":
		d.putOff(c, firstBackoff)
	case r.outcome == delivered:
		d.Metrics.PushLag.Observe(now.Sub(r.at).Seconds())
		d.advance(c, r.version, now)
	default:
		d.fail(c, r, now)
	}
}

// advance moves a cursor on.
func (d *Deliverer) advance(c *cursor, version int64, now time.Time) {
	c.version, c.failures, c.reason = max(c.version, version), 0, ""
	if c.target > c.version {
		if now.Sub(c.settledAt) >= settleEvery {
			d.settle(c, taskstore.Settlement{})
		}
		d.enqueue(c)
		return
	}
	d.settle(c, taskstore.Settlement{})
}

// fail gives a cursor back until its next attempt, or for good.
func (d *Deliverer) fail(c *cursor, r result, now time.Time) {
	c.done = true
	c.failures, c.reason = c.failures+1, r.reason
	s := taskstore.Settlement{Failures: c.failures, Reason: c.reason}
	if r.outcome == gone || c.failures >= d.MaxFailures {
		s.Disable = true
		d.Log.Warn("a push configuration is disabled", "task_id", c.key.TaskID, "config", c.key.ID, "host", c.host, "failures", c.failures, "reason", c.reason)
	} else {
		s.RetryAt = now.Add(max(backoff(c.failures, d.random()), r.retryAfter))
	}
	d.settle(c, s)
}

// backoff is exponential with full jitter: any time up to a bound that doubles.
func backoff(failures int, random float64) time.Duration {
	bound := math.Min(float64(firstBackoff)*math.Pow(2, float64(failures-1)), float64(maxBackoff))
	return max(time.Duration(random*bound), minBackoff)
}
