package contract

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
)

// Book is the folder of golden tasks: each *.yaml is the suite of one partner. It may
// change while the service runs; a changed folder with a problem leaves the suites of
// before in force. It is safe for concurrent use.
type Book struct {
	folder string
	clock  clock.Clock
	log    *slog.Logger

	mu      sync.Mutex
	checked time.Time
	seen    string
	suites  []*Suite
}

// OpenBook reads a folder; an empty path means no golden tasks. A file with a problem is
// refused with all of them.
func OpenBook(folder string, c clock.Clock, log *slog.Logger) (*Book, error) {
	b := &Book{folder: folder, clock: c, log: log, checked: c.Now()}
	if folder == "" {
		return b, nil
	}
	var err error
	if b.seen, b.suites, err = ReadFolder(folder); err != nil {
		return nil, err
	}
	b.note()
	return b, nil
}

// ReadFolder reads all suites of a folder, by partner. seen is what the folder holds,
// whether it has a problem or not.
func ReadFolder(folder string) (seen string, suites []*Suite, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err == nil {
		_, err = os.Stat(folder)
	}
	if err != nil {
		return err.Error(), nil, fmt.Errorf("golden tasks: %w", err)
	}
	sum := sha256.New()
	var problems []error
	at := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file) //nolint:gosec // the operator's folder
		if err != nil {
			problems = append(problems, fmt.Errorf("golden tasks: %w", err))
			continue
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", file, len(raw), raw)
		s, err := Parse(file, raw)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if first, twice := at[s.Partner]; twice {
			problems = append(problems, fmt.Errorf("%s: the partner %s has golden tasks in %s already; put them in one file", file, s.Partner, first))
		}
		at[s.Partner] = file
		suites = append(suites, s)
	}
	slices.SortFunc(suites, func(a, b *Suite) int { return strings.Compare(a.Partner, b.Partner) })
	return string(sum.Sum(nil)), suites, errors.Join(problems...)
}

// Suites lists those in force by partner. A change of the folder is noticed within five
// seconds.
func (b *Book) Suites() []*Suite {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if b.folder == "" || now.Sub(b.checked) < lookEvery {
		return b.suites
	}
	b.checked = now
	seen, suites, err := ReadFolder(b.folder)
	if seen == b.seen {
		return b.suites
	}
	b.seen = seen
	if err != nil {
		b.log.Error("changed golden tasks cannot be used; those before stay in force", "folder", b.folder, "error", err)
		return b.suites
	}
	b.suites = suites
	b.note()
	return suites
}

func (b *Book) note() {
	for _, s := range b.suites {
		b.log.Info("golden tasks are in force", "file", s.File, "partner", s.Partner, "owner", s.Owner, "tasks", len(s.Tasks), "calls", s.Calls())
		for _, n := range s.Notes {
			b.log.Warn("golden tasks are fewer than they should be", "file", s.File, "note", n)
		}
	}
}

// Suite of a partner, or nil.
func (b *Book) Suite(partner string) *Suite {
	for _, s := range b.Suites() {
		if s.Partner == partner {
			return s
		}
	}
	return nil
}
