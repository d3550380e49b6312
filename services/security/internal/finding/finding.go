// Package finding keeps what screening refused: when, in which trace, by which
// rules. It never keeps the text.
package finding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
)

// Finding is one refusal.
type Finding struct {
	At time.Time
	// TraceID is the W3C trace id of the request, 32 hex digits, or empty.
	TraceID string
	// Digest is the SHA-256 of the judged text, 64 hex digits.
	Digest string
	// Caller is the service that asked.
	Caller string
	// Verdict is "refused".
	Verdict string
	// Confidence in [0,1] of the verdict.
	Confidence float64
	// Rules are the ids of the rules that spoke, the weightiest first.
	Rules []string
	// PolicyVersion names the policy that was applied.
	PolicyVersion string
}

// Store writes findings durably, all of them or none. A finding that is there
// already is left as it is.
type Store interface {
	Add(ctx context.Context, findings []Finding) error
}

// Bounds of the journal.
const (
	// capacity is how many findings may wait to be written.
	capacity = 4096
	batch    = 256
	pause    = time.Second
	// flushWithin bounds the last write when the journal is closed.
	flushWithin = 5 * time.Second
)

// Journal writes findings behind the answers: Note never waits. What waits is
// written when the journal is closed. Safe for concurrent use.
type Journal struct {
	store  Store
	clock  clock.Clock
	log    *slog.Logger
	queue  chan Finding
	closed chan struct{}
	done   chan error
	once   sync.Once

	mu   sync.Mutex
	lost int
}

// ErrLost says that findings could not be written before the journal was closed.
var ErrLost = errors.New("findings were not written")

// NewJournal starts a journal over a store.
func NewJournal(store Store, c clock.Clock, log *slog.Logger) *Journal {
	j := &Journal{store: store, clock: c, log: log, queue: make(chan Finding, capacity), closed: make(chan struct{}), done: make(chan error, 1)}
	go j.run()
	return j
}

// Note takes a finding to be written soon. When more wait than the journal
// holds, the finding is counted as lost and the loss is logged; the answer is
// never held up.
func (j *Journal) Note(f Finding) {
	select {
	case j.queue <- f:
	default:
		j.mu.Lock()
		j.lost++
		lost := j.lost
		j.mu.Unlock()
		j.log.Error("finding lost: too many wait to be written", "digest", f.Digest, "lost", lost)
	}
}

// Close writes what waits and stops the journal. Notes must have ended. It
// gives ErrLost with the cause when something could not be written.
func (j *Journal) Close() error {
	j.once.Do(func() { close(j.closed) })
	err := <-j.done
	j.done <- err
	return err
}

func (j *Journal) run() {
	for {
		select {
		case f := <-j.queue:
			if ended, err := j.write(j.collect(f)); ended {
				j.done <- err
				return
			}
		case <-j.closed:
			j.done <- j.flush(j.collect())
			return
		}
	}
}

// collect adds what waits, up to one batch.
func (j *Journal) collect(first ...Finding) []Finding {
	for len(first) < batch {
		select {
		case f := <-j.queue:
			first = append(first, f)
		default:
			return first
		}
	}
	return first
}

// write tries until the batch is stored. When the journal is closed meanwhile it
// flushes and tells that this was the end.
func (j *Journal) write(findings []Finding) (ended bool, err error) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
		err := j.store.Add(ctx, findings)
		cancel()
		if err == nil {
			return false, nil
		}
		j.log.Warn("findings could not be written, trying again", "count", len(findings), "error", err)
		select {
		case <-j.clock.After(pause):
		case <-j.closed:
			return true, j.flush(findings)
		}
	}
}

// flush writes a batch and everything behind it once.
func (j *Journal) flush(findings []Finding) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	for len(findings) > 0 {
		if err := j.store.Add(ctx, findings); err != nil {
			return fmt.Errorf("%w: %d of them: %w", ErrLost, len(findings)+len(j.queue), err)
		}
		findings = j.collect()
	}
	return nil
}
