package engine

import (
	"context"
	"time"

	"sabha.dev/chassis/taskstore"
)

// Resume lets a task of this agent go on because of what its service has learnt: rows
// say it, and they and the wake-up are one transaction. A task that nobody runs runs
// here at once; one that runs is told. An error of rows, which must then have written
// nothing, refuses the whole. The error is taskstore.ErrNotFound for a task that does
// not exist, ErrEnded for one that has ended and ErrCanceling for one that is being canceled.
func (e *Engine) Resume(ctx context.Context, taskID string, rows taskstore.Rows) error {
	claimed := false
	rec, err := e.Store.Update(ctx, taskID, func(rec *taskstore.Record) (taskstore.Change, error) {
		claimed = false
		switch {
		case rec.Agent != e.Agent.Tenant:
			return taskstore.Change{}, taskstore.ErrNotFound
		case rec.Ended():
			return taskstore.Change{}, taskstore.ErrEnded
		case rec.CancelRequested:
			return taskstore.Change{}, taskstore.ErrCanceling
		}
		if rec.RunOwner != "" {
			rec.WakeAt = e.Clock.Now() // should its run end without having seen the rows
			return taskstore.Change{First: rows}, nil
		}
		if interrupted(rec.Task.GetStatus().GetState()) {
			// The clock stood while the client was awaited.
			rec.Deadline = e.Clock.Now().Add(rec.Info.Left)
		}
		rec.RunOwner, rec.RunEpoch, rec.WakeAt = e.Store.Replica(), rec.RunEpoch+1, time.Time{}
		claimed = true
		return taskstore.Change{First: rows}, nil
	})
	if err != nil {
		return err
	}
	if claimed {
		e.launch(e.Store.Adopt(rec))
		return nil
	}
	e.look(taskID)
	e.wake(e.Agent.Tenant, taskID, changed)
	return nil
}
