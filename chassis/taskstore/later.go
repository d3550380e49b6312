package taskstore

import (
	"context"
	"time"
)

// Later writes rows of the service's own with the next commit and does not wait for it:
// records of calls that make no task. They may be written again after an outage, so they
// say ON CONFLICT DO NOTHING. Rows that cannot be written are logged and lost, as are
// those of more than 16,384 calls that wait for a database that is away.
func (s *Store) Later(what string, rows Rows) {
	s.committer.lazy((&laterWrite{s: s, what: what, rows: rows}).write())
}

type laterWrite struct {
	s    *Store
	what string
	rows Rows
}

func (w *laterWrite) write() *write {
	return &write{do: func(ctx context.Context, b *batch) error { return w.rows(ctx, b.tx) }, done: w.done}
}

func (w *laterWrite) done(err error) {
	switch {
	case err == nil:
		return
	case Interrupted(err) && w.s.laterKept.Add(1) <= maxKept:
		time.AfterFunc(keepAgain, func() {
			w.s.laterKept.Add(-1)
			w.s.committer.enqueue(w.write())
		})
		return
	case Interrupted(err):
		w.s.laterKept.Add(-1)
	}
	w.s.log.Error("rows of a call that made no task were not written", "what", w.what, "error", err)
}
