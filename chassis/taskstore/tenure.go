package taskstore

import (
	"sync/atomic"
	"time"
)

// tenure is for how long this replica's lease has held without a break, by its own
// clock. A replica that was stalled learns from it, before it asks the database,
// that what it claimed may be another's by now.
type tenure struct{ since, until atomic.Int64 }

// extend notes a lease that was stored at a time.
func (t *tenure) extend(at time.Time, lease time.Duration) {
	if at.UnixNano() >= t.until.Load() {
		t.since.Store(at.UnixNano())
	}
	t.until.Store(at.Add(lease).UnixNano())
}

// Held tells whether the lease has held from a time until now.
func (s *Store) Held(from time.Time) bool {
	return from.UnixNano() >= s.tenure.since.Load() && s.clock.Now().UnixNano() < s.tenure.until.Load()
}
