package ingest

import (
	"context"
	"io/fs"
	"slices"
	"time"

	"sabha.dev/chassis/clock"
)

// settled is how old a file's last change must be before its size and time
// are believed to tell the next one: clocks of file systems are coarse.
const settled = 2 * time.Second

// stamp tells whether a file is as it was when it was read.
type stamp struct {
	size     int64
	modified time.Time
	skipped  string // why it was not ingested, if so
}

// Watch brings a folder into a collection each period, until the context
// ends. Files whose size and time of change are as before are not read. It
// tells what a pass changed or newly skipped, and each pass that failed;
// what was stored stays then.
func (in *Ingester) Watch(ctx context.Context, c clock.Clock, period time.Duration, collection, dir string, told func(Report, error)) {
	seen := map[string]stamp{}
	var skipped []Skip
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.After(period):
		}
		report, err := in.pass(ctx, collection, dir, look{seen, c.Now().Add(-settled)})
		if ctx.Err() != nil {
			return
		}
		if err != nil || len(report.Ingested)+len(report.Removed) > 0 || !slices.Equal(report.Skipped, skipped) {
			told(report, err)
		}
		if err != nil {
			clear(seen) // what was read may not be stored
			continue
		}
		skipped = report.Skipped
	}
}

// look is what a watcher remembers of the files; the zero value remembers
// nothing, and every file is read.
type look struct {
	seen  map[string]stamp
	until time.Time // stamps from then on are not believed
}

// look passes over a file that is as it was, and reads any other.
func (r *run) look(ctx context.Context, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil || r.watched.seen == nil || !info.ModTime().Before(r.watched.until) {
		delete(r.watched.seen, name)
		return r.file(ctx, name)
	}
	old, known := r.watched.seen[name]
	if known && old.size == info.Size() && old.modified.Equal(info.ModTime()) {
		_, stored := r.stored[name]
		if old.skipped != "" && !stored {
			r.skip(name, old.skipped)
			return nil
		}
		if old.skipped == "" && stored {
			r.keep[name] = true
			r.report.Unchanged++
			return nil
		}
	}
	before := len(r.report.Skipped)
	if err := r.file(ctx, name); err != nil {
		return err
	}
	now := stamp{size: info.Size(), modified: info.ModTime()}
	if len(r.report.Skipped) > before {
		if r.keep[name] { // it could not be opened; that may change without a trace
			delete(r.watched.seen, name)
			return nil
		}
		now.skipped = r.report.Skipped[before].Reason
	}
	r.watched.seen[name] = now
	return nil
}
