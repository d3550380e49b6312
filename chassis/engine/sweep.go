package engine

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/taskstore"
)

// renew extends the lease of this replica. A replica that finds its lease gone
// was stalled for longer; its commits are fenced, so its runs end by themselves.
func (e *Engine) renew(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.Clock.After(e.Lease / 3):
		}
		err := e.Store.Renew(ctx)
		switch {
		case errors.Is(err, taskstore.ErrFenced):
			e.Logger.Warn("this replica lost its lease; it registers anew")
			if err := e.Store.Rejoin(ctx); err != nil {
				e.Logger.Error("the replica cannot register", "error", err)
			}
		case err != nil && ctx.Err() == nil:
			e.Logger.Error("the lease was not renewed", "error", err)
		}
	}
}

// sweepBatch bounds how many tasks one sweep claims.
const sweepBatch = 64

// sweep claims tasks of dead replicas and tasks that are due.
func (e *Engine) sweep(ctx context.Context) {
	for {
		e.sweepOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-e.Clock.After(e.Sweep):
		}
	}
}

func (e *Engine) sweepOnce(ctx context.Context) {
	ids, err := e.Store.Due(ctx, sweepBatch)
	if err != nil {
		if ctx.Err() == nil {
			e.Logger.Error("sweep failed", "error", err)
		}
		return
	}
	for _, id := range ids {
		e.claim(ctx, id)
	}
	if len(ids) == 0 {
		if err := e.Store.Bury(ctx); err != nil && ctx.Err() == nil {
			e.Logger.Warn("dead replicas were not removed", "error", err)
		}
	}
}

// claim takes a task over and runs it, unless another replica was faster.
func (e *Engine) claim(ctx context.Context, id string) {
	e.mu.Lock()
	busy := e.draining
	e.mu.Unlock()
	if busy {
		return
	}
	rec, err := e.Store.Claim(ctx, id)
	switch {
	case err == nil:
		e.launch(e.Store.Adopt(rec))
	case errors.Is(err, taskstore.ErrFenced), errors.Is(err, taskstore.ErrEnded), errors.Is(err, taskstore.ErrNotFound):
	case ctx.Err() == nil:
		e.Logger.Error("a task could not be claimed", "task_id", id, "error", err)
	}
}

// woken is the hint that a task deserves a look now.
func (e *Engine) woken(msg *nats.Msg) {
	id := string(msg.Data)
	if e.runOf(id) != nil {
		e.look(id)
		return
	}
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		rec, err := e.Store.Get(e.base, id)
		if err != nil || rec.Ended() || rec.RunOwner != "" || rec.WakeAt.IsZero() {
			return
		}
		e.claim(e.base, id)
	}()
}

// look lets the run of a task see what others wrote about it.
func (e *Engine) look(id string) {
	r := e.runOf(id)
	if r == nil {
		return
	}
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		r.look(e.base)
	}()
}

func (r *run) look(ctx context.Context) {
	err := r.h.Refresh(ctx)
	if errors.Is(err, taskstore.ErrEnded) || errors.Is(err, taskstore.ErrFenced) {
		r.cancel(errCanceled)
		return
	}
	r.h.View(func(rec *taskstore.Record) {
		if rec.CancelRequested {
			r.closeCanceling()
		}
	})
	select {
	case r.nudged <- struct{}{}:
	default:
	}
}
