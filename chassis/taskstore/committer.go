package taskstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/outage"
	"sabha.dev/chassis/sqldb"
	eventv1 "sabha.dev/gen/sabha/event/v1"
)

// maxBatch bounds how many writes share one commit.
const maxBatch = 256

// refused is the error of a write that changed nothing, so that the others of
// its transaction may stand.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// batch is one transaction that many writes share.
type batch struct {
	tx      *sql.Tx
	bundles []*eventv1.Bundle
	pushed  []Pushed
	// mark asks for a row of the outbox even without events: it tells later whether
	// the transaction was stored.
	mark bool
}

// write is one change waiting for its commit.
type write struct {
	do   func(context.Context, *batch) error
	done func(error)
	err  error
	// of is the task that it writes, if it is the write of one task.
	of *pendingWrite
	// evidence tells, of a transaction that may have been stored, whether it was.
	evidence func(context.Context, *sql.Tx) (bool, error)
	// taken is set, under the handle's lock, when a commit has begun with it: it can
	// take no more changes.
	take func()
}

// committer lets concurrent writes share commits: while one is on its way to the
// disk the next gathers. Writes commit in the order they came.
type committer struct {
	store *Store
	mu    sync.Mutex
	queue []*write
	wake  chan struct{}
	// seq is the newest row of the outbox, and marked tells whether the newest
	// transaction has written it.
	seq    int64
	marked bool
	// due is set when the queue holds something that may not wait for company.
	due bool
	// flushing is set while a timer will make lazy writes due.
	flushing bool
	// away is since when the database has not answered; zero while it does.
	away time.Time
	// stopping is closed when the store is being closed: nothing is waited for then.
	stopping <-chan struct{}
	// ended is closed when nothing commits any more.
	ended chan struct{}
}

// flushAfter bounds how long a write that nobody waits for waits for company. It
// is the machine's time, since it paces the disk and decides nothing.
const flushAfter = 20 * time.Millisecond

func (c *committer) enqueue(w *write) {
	c.mu.Lock()
	c.queue = append(c.queue, w)
	c.due = true
	c.mu.Unlock()
	c.nudge()
}

// lazy enqueues a write that nobody waits for: it joins the next commit, or one of
// its own after flushAfter.
func (c *committer) lazy(w *write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, w)
	if c.flushing {
		return
	}
	c.flushing = true
	time.AfterFunc(flushAfter, func() {
		c.mu.Lock()
		c.flushing = false
		c.mu.Unlock()
		c.hurry()
	})
}

// hurry makes what is in the queue due.
func (c *committer) hurry() {
	c.mu.Lock()
	c.due = len(c.queue) > 0
	c.mu.Unlock()
	c.nudge()
}

func (c *committer) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// do enqueues a write and waits for it; told, if any, is called after the commit
// in the order of commits. A caller who has left already writes nothing; one who
// leaves while it waits is told all the same, because a task that was stored must
// be run by whoever stored it.
func (c *committer) do(ctx context.Context, fn func(context.Context, *batch) error, told ...func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := make(chan error, 1)
	c.enqueue(&write{do: fn, done: func(err error) {
		if err == nil {
			for _, t := range told {
				t()
			}
		}
		result <- err
	}})
	return c.await(result)
}

// await waits for the result of a write, or for the end of the store.
func (c *committer) await(result <-chan error) error {
	select {
	case err := <-result:
		return err
	case <-c.ended:
	}
	select {
	case err := <-result: // it was in the last commit
		return err
	default:
		return errClosed
	}
}

var errClosed = errors.New("task store: closed")

// run commits until ctx ends, then commits what is queued and returns.
func (c *committer) run(ctx context.Context) {
	defer close(c.ended)
	c.stopping = ctx.Done()
	for {
		if ws := c.next(ctx.Err() != nil); len(ws) > 0 {
			c.commit(context.WithoutCancel(ctx), ws)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
	}
}

// next takes the writes of the next commit: none while nothing is due, unless all.
func (c *committer) next(all bool) []*write {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.due && !all {
		return nil
	}
	n := min(len(c.queue), maxBatch)
	ws := c.queue[:n:n]
	c.queue = c.queue[n:]
	c.due = len(c.queue) > 0
	return ws
}

func (c *committer) commit(ctx context.Context, ws []*write) {
	for _, w := range ws {
		if w.take != nil {
			w.take()
		}
	}
	b, err := c.persist(ctx, ws)
	if err != nil && len(ws) > 1 && !Interrupted(err) {
		// One write broke the transaction. Each alone finds out which.
		for _, w := range ws {
			c.commitAlone(ctx, w)
		}
		return
	}
	c.finish(ws, b, err)
}

func (c *committer) commitAlone(ctx context.Context, w *write) {
	b, err := c.persist(ctx, []*write{w})
	c.finish([]*write{w}, b, err)
}

func (c *committer) finish(ws []*write, b *batch, err error) {
	if err != nil {
		c.store.metrics.CommitsFailed.Inc()
	}
	if unknown(err) {
		c.store.outbox.uncertain(c.seq)
	}
	if err == nil {
		if c.marked {
			c.store.outbox.committed(eventlog.Entry{
				Position: eventlog.Position{Replica: c.store.replica, Seq: c.seq}, At: c.store.clock.Now(), Commit: &eventv1.Commit{Bundles: b.bundles},
			})
		}
		for _, p := range b.pushed {
			c.store.pusher.Pushed(p)
		}
	}
	for _, w := range ws {
		result := w.err
		if err != nil && result == nil {
			result = err
		}
		if w.done != nil {
			w.done(result)
		}
	}
}

// answerWithin bounds a transaction on PostgreSQL. It is reached only when the
// server hangs; SQLite waits by itself.
const answerWithin = 30 * time.Second

// try runs the writes in one transaction with one outbox row for all their events.
func (c *committer) try(ctx context.Context, ws []*write) (_ *batch, err error) {
	began := c.store.clock.Now()
	defer func() {
		c.store.metrics.CommitSeconds.Observe(c.store.clock.Now().Sub(began).Seconds())
		c.store.metrics.CommitWrites.Observe(float64(len(ws)))
	}()
	if c.store.db.Dialect == sqldb.Postgres {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
		defer func() {
			if err != nil && ctx.Err() != nil && !unknown(err) {
				err = errors.Join(outage.ErrNoAnswer, err)
			}
		}()
	}
	c.marked = false
	tx, err := c.store.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	b := &batch{tx: tx}
	for _, w := range ws {
		w.err = w.do(ctx, b)
		var r refused
		if errors.As(w.err, &r) {
			if outage.Of(r.error) { // the transaction is broken, not the write
				return nil, r.error
			}
			w.err = r.error
		} else if w.err != nil {
			return nil, w.err
		}
	}
	if c.marked = b.mark || len(b.bundles) > 0; c.marked {
		c.seq++
		body, err := proto.Marshal(&eventv1.Commit{Bundles: b.bundles})
		if err != nil {
			return nil, err
		}
		if _, err := tx.StmtContext(ctx, c.store.stmts.outbox).ExecContext(ctx, c.store.replica, c.seq, body); err != nil {
			return nil, err
		}
	} else if err := c.store.fence(ctx, tx, ws); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(outage.ErrNoAnswer, err)
		}
		return b, &unknownOutcome{err}
	}
	return b, nil
}
