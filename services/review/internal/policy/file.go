package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"

	"sabha.dev/services/review/internal/item"
)

// checkEvery is how often a file is looked at, at most.
const checkEvery = 5 * time.Second

// File is the policy in force: that of a file, which may change while the service
// runs. A changed file that has a problem leaves the policy of before in force. It is
// safe for concurrent use.
type File struct {
	path  string // empty: the policy that is shipped
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	seen    string
	current *Policy
	refused error
}

// Open reads a policy file; an empty path means the policy that is shipped. A file
// with a problem is refused with all of them.
func Open(path string, c clock.Clock, log *slog.Logger) (*File, error) {
	f := &File{path: path, clock: c, log: log, checked: c.Now()}
	var err error
	if path == "" {
		f.current, err = Default()
		return f, err
	}
	f.seen, f.current, err = load(path)
	if err != nil {
		return nil, err
	}
	f.note(f.current)
	return f, nil
}

// load reads a file; seen is what it holds, whether it has a problem or not.
func load(path string) (seen string, p *Policy, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error(), nil, fmt.Errorf("review policy: %w", err)
	}
	sum := sha256.Sum256(raw)
	p, err = Parse(path, raw)
	return hex.EncodeToString(sum[:]), p, err
}

// Current is the policy in force. A change of the file is noticed within five seconds.
func (f *File) Current() *Policy {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if f.path == "" || now.Sub(f.checked) < checkEvery {
		return f.current
	}
	f.checked = now
	seen, p, err := load(f.path)
	if seen == f.seen {
		return f.current
	}
	f.seen, f.refused = seen, err
	if err != nil {
		f.log.Error("a changed review policy cannot be used; the one before stays in force", "file", f.path, "version", f.current.Version, "error", err)
		return f.current
	}
	f.current = p
	f.note(p)
	return p
}

func (f *File) note(p *Policy) {
	f.log.Info("the review policy is in force", "file", f.path, "version", p.Version, "digest", p.Digest, "owner", p.Owner)
	if overdue := p.Overdue(f.clock.Now()); overdue != "" {
		f.log.Warn("the review policy is old", "note", overdue)
	}
}

// Refused is the problem of a changed file that is not in force, or nil.
func (f *File) Refused() error {
	f.Current()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// Terms of a new item, by the policy in force.
func (f *File) Terms(s item.Subject, created time.Time) item.Terms {
	return f.Current().Terms(s, created)
}

// Next is what happens to an item at a time, by the terms that are stored with it.
func (f *File) Next(i *item.Item, now time.Time) item.Step { return Next(i, now) }

// Register registers what can be told of the file, read anew at each scrape.
func (f *File) Register(r prometheus.Registerer) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sabha_review_policy_refused", Help: "1 while the policy file has a problem and the policy before it is in force.",
	}, func() float64 {
		if f.Refused() != nil {
			return 1
		}
		return 0
	}))
}
