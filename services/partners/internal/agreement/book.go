package agreement

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/partner"
)

// checkEvery is how often the folder is looked at, at most.
const checkEvery = 5 * time.Second

// Book is the agreements in force: those of a folder, which may change while the service
// runs. When one of its files has a problem, all that was in force before stays in force,
// since agreements refer to each other. It is safe for concurrent use.
type Book struct {
	folder string // empty: no partner is agreed with
	clock  clock.Clock
	log    *slog.Logger

	mu      sync.Mutex
	checked time.Time
	seen    [sha256.Size]byte
	current set
	refused error
}

// Open reads the agreements of a folder. Files with problems are refused with all of them.
// Without a folder there are none.
func Open(folder string, c clock.Clock, log *slog.Logger) (*Book, error) {
	b := &Book{folder: folder, clock: c, log: log, checked: c.Now()}
	if folder == "" {
		return b, nil
	}
	names, err := files(folder)
	if err != nil {
		return nil, err
	}
	b.seen = fingerprint(names)
	if b.current, err = read(names); err != nil {
		return nil, err
	}
	b.note(nil)
	return b, nil
}

// fingerprint changes when a file does.
func fingerprint(names []string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			fmt.Fprintf(h, "%q %v\n", name, err)
			continue
		}
		fmt.Fprintf(h, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	h.Sum(sum[:0])
	return sum
}

// set gives the agreements in force. A change is noticed within five seconds.
func (b *Book) set() set {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if b.folder == "" || now.Sub(b.checked) < checkEvery {
		return b.current
	}
	b.checked = now
	names, err := files(b.folder)
	seen := fingerprint(names)
	if err == nil && seen == b.seen {
		return b.current
	}
	var changed set
	if err == nil {
		changed, err = read(names)
	}
	if err != nil {
		if b.refused == nil || b.refused.Error() != err.Error() {
			b.log.Error("changed agreements cannot be used; those before stay in force", "folder", b.folder, "error", err)
		}
		b.seen, b.refused = seen, err
		return b.current
	}
	before := b.current
	b.seen, b.current, b.refused = seen, changed, nil
	b.note(before)
	return b.current
}

// note tells what has come into force.
func (b *Book) note(before set) {
	for _, id := range slices.Sorted(maps.Keys(b.current)) {
		a := b.current[id]
		if old := before[id]; old == nil || old.Digest != a.Digest {
			b.log.Info("an agreement is in force", "partner", id, "version", a.Version, "digest", a.Digest, "owner", a.Owner, "skills", len(a.Skills))
		}
		if overdue := a.Overdue(b.clock.Now()); overdue != "" {
			b.log.Warn("an agreement is old", "note", overdue)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if b.current[id] == nil {
			b.log.Info("an agreement is in force no more", "partner", id, "version", before[id].Version)
		}
	}
}

// Of gives the terms of a skill of a partner; nil: it is not allowed.
func (b *Book) Of(id, skill string) *Terms {
	return b.set().of(partner.Address{Partner: id, Skill: skill})
}

// Agreement gives the agreement with a partner, or nil.
func (b *Book) Agreement(id string) *Agreement { return b.set()[id] }

// All gives the agreements in order of the partners' names.
func (b *Book) All() []*Agreement {
	all := b.set()
	list := make([]*Agreement, 0, len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[id])
	}
	return list
}

// Refused is the problem of changed files that are not in force, or nil.
func (b *Book) Refused() error {
	b.set()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Register registers what can be told of the folder, read anew at each scrape.
func (b *Book) Register(r prometheus.Registerer) error {
	refused := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sabha_partner_agreements_refused", Help: "1 while an agreement has a problem and those before are in force.",
	}, func() float64 {
		if b.Refused() != nil {
			return 1
		}
		return 0
	})
	overdue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sabha_partner_agreements_overdue", Help: "Agreements whose day of review is past.",
	}, func() float64 {
		n, now := 0.0, b.clock.Now()
		for _, a := range b.set() {
			if a.Overdue(now) != "" {
				n++
			}
		}
		return n
	})
	if err := r.Register(refused); err != nil {
		return err
	}
	return r.Register(overdue)
}
