package taskstore

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// burst gathers audit rows of calls that made no task until the next commit.
type burst struct {
	mu   sync.Mutex
	hops []Hop
	// kept counts rows that wait until the database is back.
	kept int
}

// Bounds of rows that wait while the database is away.
const (
	maxKept   = 16 << 10
	keepAgain = time.Second
)

// Record writes the row of a call that made no task. It joins the next commit and
// is not waited for.
func (s *Store) Record(h Hop) {
	h.AgentVersion = s.version
	h.Reason = withoutNUL(h.Reason)
	s.burst.mu.Lock()
	s.burst.hops = append(s.burst.hops, h)
	first := len(s.burst.hops) == 1
	s.burst.mu.Unlock()
	if first {
		s.committer.lazy((&hopWrite{s: s}).write())
	}
}

// hopWrite is the write of audit rows: of all that have gathered when its commit
// begins, or of those it has.
type hopWrite struct {
	s    *Store
	hops []Hop
	// perhaps says that they may have been stored by a commit whose end is not known.
	perhaps bool
}

func (w *hopWrite) write() *write {
	return &write{take: w.take, do: w.do, done: w.done, evidence: w.stored}
}

func (w *hopWrite) take() {
	if w.hops != nil {
		return
	}
	w.s.burst.mu.Lock()
	defer w.s.burst.mu.Unlock()
	w.hops, w.s.burst.hops = w.s.burst.hops, nil
}

func (w *hopWrite) do(ctx context.Context, b *batch) error {
	if w.perhaps {
		if err := w.s.fence(ctx, b.tx, []*write{w.write()}); err != nil {
			return err
		}
		if there, err := w.stored(ctx, b.tx); err != nil || there {
			return err
		}
	}
	rest := w.hops
	for len(rest) >= hopsAtOnce {
		var args []any
		for i := range hopsAtOnce {
			args = append(args, rest[i].values()...)
		}
		if _, err := b.tx.StmtContext(ctx, w.s.stmts.hops).ExecContext(ctx, args...); err != nil {
			return err
		}
		rest = rest[hopsAtOnce:]
	}
	for _, h := range rest {
		if err := w.s.insertHop(ctx, b.tx, h); err != nil {
			return err
		}
	}
	return nil
}

// stored tells whether the rows are there. They are written all or none.
func (w *hopWrite) stored(ctx context.Context, tx *sql.Tx) (bool, error) {
	if len(w.hops) == 0 {
		return false, nil
	}
	h := w.hops[0]
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM hops WHERE trace_id = $1 AND task_id = '' AND started_at = $2 AND ended_at = $3
		AND caller = $4 AND skill = $5 AND request_digest = $6`,
		h.TraceID, h.StartedAt.UnixNano(), h.EndedAt.UnixNano(), h.Caller, h.Skill, h.RequestDigest).Scan(&n)
	return n > 0, err
}

func (w *hopWrite) done(err error) {
	switch {
	case err == nil:
	case Interrupted(err):
		w.perhaps = w.perhaps || unknown(err)
		w.keep(err)
	case len(w.hops) == 1:
		h := w.hops[0]
		w.s.log.Error("the audit row of a direct answer was not written", "agent", h.Agent, "skill", h.Skill, "trace_id", h.TraceID, "error", err)
	default: // each alone: a row that cannot be written costs only itself
		for _, h := range w.hops {
			w.s.committer.enqueue((&hopWrite{s: w.s, hops: []Hop{h}}).write())
		}
	}
}

// keep tries again when the database may be back, unless too many rows wait already.
func (w *hopWrite) keep(err error) {
	kept := &w.s.burst.kept
	w.s.burst.mu.Lock()
	defer w.s.burst.mu.Unlock()
	if *kept+len(w.hops) > maxKept {
		w.s.log.Error("audit rows of direct answers are lost: too many wait for the database", "rows", len(w.hops), "error", err)
		return
	}
	*kept += len(w.hops)
	time.AfterFunc(keepAgain, func() {
		w.s.burst.mu.Lock()
		*kept -= len(w.hops)
		w.s.burst.mu.Unlock()
		w.s.committer.enqueue(w.write())
	})
}
