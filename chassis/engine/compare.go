package engine

import (
	"context"
	"sync"
	"time"

	"sabha.dev/chassis/eventlog"
)

// recheck is how often what readers were sent is compared with the store, in case
// the news was lost on its way; recheckAway is how often while NATS is away.
const (
	recheck     = 5 * time.Second
	recheckAway = time.Second
)

// compare tells readers how far the store is. It reads the versions of the tasks
// that are watched here, however many watch them.
func (e *Engine) compare(ctx context.Context) {
	for {
		every := recheck
		if !e.NATS.IsConnected() {
			every = recheckAway
		}
		select {
		case <-ctx.Done():
			return
		case <-e.Clock.After(every):
		}
		watched := e.hub.Watched()
		if len(watched) == 0 {
			continue
		}
		versions, err := e.Store.Versions(ctx, watched)
		if err != nil {
			if ctx.Err() == nil {
				e.Logger.Warn("readers cannot be compared with the store", "error", err)
			}
			continue
		}
		for id, version := range versions {
			e.hub.Stored(id, e.Store.Epoch(), version)
		}
	}
}

// Bounds of the backlog.
const (
	maxBacklog = 2048
	// backlogFor is how long one reading serves, by the machine's time.
	backlogFor = 500 * time.Millisecond
)

// backlog is what is committed and the log does not hold yet, read once for all
// readers that miss something.
type backlog struct {
	mu    sync.Mutex
	until time.Time
	tasks map[string][]eventlog.Update
}

// of gives the events of a task in the backlog, oldest first.
func (b *backlog) of(ctx context.Context, e *Engine, taskID string) []eventlog.Update {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.After(b.until) {
		b.until, b.tasks = now.Add(backlogFor), map[string][]eventlog.Update{}
		entries, err := e.Store.Backlog(ctx, maxBacklog)
		if err != nil {
			b.until = time.Time{} // the next reader tries again
			return nil
		}
		for _, entry := range entries {
			for _, bundle := range entry.Commit.GetBundles() {
				id := bundle.GetTaskId()
				b.tasks[id] = append(b.tasks[id], eventlog.Decode(bundle)...)
			}
		}
	}
	return b.tasks[taskID]
}
