package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/taskstore"
)

// renew extends the lease of this replica. When that comes too late (the process was
// stalled, or its database was away) others may have taken its tasks over. Whatever
// it still writes to them is refused; its runs are told, so that they do not go on
// with work that is another's.
func (e *Engine) renew(ctx context.Context) {
	renewed := e.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.Clock.After(e.Lease / 3):
		}
		began := e.Clock.Now()
		err := e.Store.Renew(ctx)
		if errors.Is(err, taskstore.ErrFenced) {
			e.Logger.Warn("this replica was taken for dead; it registers anew")
			err = e.Store.Rejoin(ctx)
		}
		if err != nil {
			if ctx.Err() == nil {
				e.Metrics.RenewalsFailed.Inc()
				e.Logger.Error("the lease was not renewed", "error", err)
			}
			continue
		}
		if late := began.Sub(renewed); late > e.Lease {
			e.Metrics.LeasesLost.Inc()
			e.Logger.Warn("the lease was renewed too late; tasks may have been taken over", "after", late)
			e.lookAll()
		}
		renewed = began
	}
}

// lookAll lets every run see whether its task is still this replica's.
func (e *Engine) lookAll() {
	e.mu.Lock()
	ids := slices.Collect(maps.Keys(e.running))
	e.mu.Unlock()
	for _, id := range ids {
		e.look(id)
	}
}

// sweepBatch bounds how many tasks one sweep claims.
const sweepBatch = 64

// sweep claims tasks of dead replicas and tasks that are due.
func (e *Engine) sweep(ctx context.Context) {
	idle := map[string]bool{}
	for {
		e.sweepOnce(ctx)
		idle = e.reclaim(ctx, idle)
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

// reclaim takes up tasks that this replica owns but has not run for a whole sweep:
// their outcome, or the news that they were stored, got lost with the connection
// to the database. It returns those it will take up next time. Runs whose task was
// canceled, or is no longer owned, look at it: they are told at once, but a message of
// core NATS may be lost.
func (e *Engine) reclaim(ctx context.Context, before map[string]bool) map[string]bool {
	if e.stopping() {
		return nil
	}
	e.mu.Lock()
	running := maps.Clone(e.running)
	e.mu.Unlock()
	owned, err := e.Store.Owned(ctx)
	if err != nil {
		return before // the sweep has said that the database cannot be read
	}
	for id, r := range running {
		if canceling, ours := owned[id]; !ours || (canceling && !r.hasHeard()) {
			e.look(id)
		}
	}
	idle := map[string]bool{}
	for id := range owned {
		if e.runOf(id) != nil {
			continue
		}
		if !before[id] {
			idle[id] = true
			continue
		}
		rec, err := e.Store.Reclaim(ctx, id)
		switch {
		case err == nil:
			e.Logger.Warn("a task that nobody ran is taken up again", "task_id", id)
			e.launch(e.Store.Adopt(rec))
		case errors.Is(err, taskstore.ErrFenced), errors.Is(err, taskstore.ErrEnded):
		case ctx.Err() == nil:
			e.Logger.Error("a task could not be taken up again", "task_id", id, "error", err)
		}
	}
	return idle
}

func (e *Engine) stopping() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

// claim takes a task over and runs it, unless another replica was faster.
func (e *Engine) claim(ctx context.Context, id string) {
	if e.stopping() {
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
	if len(msg.Data) < 2 {
		return
	}
	why, id := msg.Data[0], string(msg.Data[1:])
	if why == changed && e.runOf(id) != nil {
		e.look(id)
		return
	}
	e.Nudge(id)
}

// Nudge tells a task that something happened which it may wait for: it is taken up if
// it is parked.
func (e *Engine) Nudge(id string) {
	if r := e.runOf(id); r != nil {
		r.nudge()
		return
	}
	e.takeUp(id)
}

// takeUp claims a parked task now rather than at its time.
func (e *Engine) takeUp(id string) {
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
	r.nudge()
}

// nudge tells the skill that something happened which it may wait for.
func (r *run) nudge() {
	r.e.mu.Lock()
	running := r.e.running[r.id] == r
	if running {
		select {
		case r.nudged <- struct{}{}:
		default:
		}
	}
	r.e.mu.Unlock()
	if !running { // it has let go of the task in this moment
		r.e.takeUp(r.id)
	}
}
