package attainment

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"sabha.dev/services/partners/internal/agreement"
)

// measureEvery is how often it is read anew how skills stand.
const measureEvery = 5 * time.Minute

// Work is what goes on beside calls: counts are written, old ones rolled up, the replicas
// counted that share what was agreed on, figures measured, and reports of months written.
type Work struct {
	*Desk
	Log *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Folder of the reports of months; empty: none are written.
	Folder string

	replicas atomic.Int64
}

// Replicas is how many of the service live, as it was known a few seconds ago.
func (w *Work) Replicas() int { return max(1, int(w.replicas.Load())) }

// Run works until the context ends; then it writes the last counts.
func (w *Work) Run(ctx context.Context) {
	l := w.Ledger
	due := map[string]time.Time{}
	every := func(what string, period time.Duration, do func(context.Context) error) {
		now := l.clock.Now()
		if ctx.Err() != nil || now.Before(due[what]) {
			return
		}
		due[what] = now.Add(period)
		if err := do(ctx); err != nil && ctx.Err() == nil {
			w.Log.ErrorContext(ctx, "figures of partners: "+what+" is tried again later", "error", err)
		}
	}
	next := l.clock.After(0)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.wake:
			every("telling of breakers", 0, l.Flush)
		case <-next:
			every("writing counts", 0, l.Flush)
			every("counting replicas", 0, w.count)
			every("rolling up", rollEvery, w.rollUp)
			if w.Metrics != nil {
				every("measuring", measureEvery, func(ctx context.Context) error { return w.Metrics.Measure(ctx, w.Desk) })
			}
			if w.Folder != "" {
				every("reporting the month", time.Minute, w.month)
			}
			next = l.clock.After(writeEvery)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	if err := l.Flush(last); err != nil {
		w.Log.ErrorContext(last, "the last counts of calls of partners are lost", "error", err)
	}
}

func (w *Work) count(ctx context.Context) error {
	n, err := w.Ledger.living(ctx)
	if err == nil {
		w.replicas.Store(int64(n))
	}
	return err
}

func (w *Work) rollUp(ctx context.Context) error {
	kept := map[string]time.Duration{}
	for _, a := range w.Book.All() {
		kept[a.Partner] = a.Records.Figures
	}
	return w.Ledger.RollUp(ctx, kept, agreement.DefaultFigures)
}

func (w *Work) month(ctx context.Context) error {
	wrote, err := (&Writer{w.Folder, w.Desk}).Write(ctx)
	if wrote {
		w.Log.InfoContext(ctx, "the reports of the month before are written", "folder", w.Folder)
	}
	return err
}
