package attainment

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
)

// What is counted, beside the results of calls by their names.
const (
	slow        = "slow"
	maintenance = "maintenance"
	held        = "held-" // and why
	probe       = "probe"
	answered    = "answered"
	peak        = "peak"
	answerTime  = "#"   // and the slot
	byCaller    = "by:" // and the result, a colon, and the caller
)

// maxCallers is how many callers of a skill a replica tells apart on one day; the others
// are counted together, without a name.
const maxCallers = 100

// writeEvery is how long counts are gathered before they are written: what a process that
// is killed loses.
const writeEvery = 5 * time.Second

// row is one count of one minute.
type row struct {
	partner, skill string
	at             int64 // where the span begins, seconds
	what           string
}

// batch is counts and changes that are written together, once.
type batch struct {
	id      string
	rows    map[row]int64
	changes []gate.Change
}

// Ledger gathers what the gate and the prober tell and writes it in batches. It is safe for
// concurrent use.
type Ledger struct {
	*Store
	// Tell, when set, is told of which partner something was written, after it was.
	Tell func(partner string)

	replica string
	wake    chan struct{} // something should be written at once

	mu      sync.Mutex
	current map[row]int64
	changes []gate.Change
	callers map[row]struct{} // told apart today, as rows of which what is the caller

	writing sync.Mutex
	failed  *batch // was not written, or its answer was lost
}

// NewLedger makes the ledger of a replica over a store. Flush writes what it gathers; see
// [Work].
func NewLedger(s *Store, replica string) *Ledger {
	return &Ledger{Store: s, replica: replica, wake: make(chan struct{}, 1), current: map[row]int64{}, callers: map[row]struct{}{}}
}

// Called counts a call at the time when it ended.
func (l *Ledger) Called(c gate.Call) {
	r := row{c.Address.Partner, c.Address.Skill, minute(c.Ended), ""}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Maintenance {
		l.add(r, maintenance)
		return
	}
	l.add(r, c.Result.String())
	caller := l.told(r, c.Caller)
	l.add(r, byCaller+c.Result.String()+":"+caller)
	if c.Slow {
		l.add(r, slow)
		l.add(r, byCaller+slow+":"+caller)
	}
	if c.Result == gate.OK || c.Result == gate.Invalid {
		l.add(r, answerTime+strconv.Itoa(slot(c.Ended.Sub(c.Began))))
	}
}

// told is a caller, or empty when too many have called the skill that day.
func (l *Ledger) told(r row, caller string) string {
	const day = 24 * 3600
	today := row{r.partner, r.skill, r.at / day * day, caller}
	if _, known := l.callers[today]; known || caller == "" {
		return caller
	}
	n := 0
	for k := range l.callers {
		switch {
		case k.at < today.at:
			delete(l.callers, k)
		case k.partner == r.partner && k.skill == r.skill && k.at == today.at:
			n++
		}
	}
	if n >= maxCallers {
		return ""
	}
	l.callers[today] = struct{}{}
	return caller
}

// Refused counts a call that was not made.
func (l *Ledger) Refused(a partner.Address, why gate.Why, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(row{a.Partner, a.Skill, minute(at), ""}, held+string(why))
}

// Probed counts a probe of the registry.
func (l *Ledger) Probed(_ context.Context, id string, ok bool) {
	r := row{id, "", minute(l.clock.Now()), ""}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(r, probe)
	if ok {
		l.add(r, answered)
	}
}

func (l *Ledger) add(r row, what string) {
	r.what = what
	l.current[r]++
}

func minute(t time.Time) int64 { return t.Unix() / 60 * 60 }

// Flush writes what was gathered. What could not be written is written with the next; a
// batch whose answer was lost is not added twice.
func (l *Ledger) Flush(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		if l.failed == nil {
			l.mu.Lock()
			if len(l.current) > 0 || len(l.changes) > 0 {
				l.failed = &batch{uuid.NewString(), l.current, l.changes}
				l.current, l.changes = map[row]int64{}, nil
			}
			l.mu.Unlock()
			if l.failed == nil {
				return nil
			}
		}
		if err := l.write(ctx, l.replica, l.failed); err != nil {
			return err
		}
		l.tell(l.failed)
		l.failed = nil
	}
}

// tell tells of each partner of a batch once.
func (l *Ledger) tell(b *batch) {
	if l.Tell == nil {
		return
	}
	partners := map[string]bool{}
	for r := range b.rows {
		partners[r.partner] = true
	}
	for _, c := range b.changes {
		partners[c.Address.Partner] = true
	}
	for p := range partners {
		l.Tell(p)
	}
}

// lastWrite bounds how long a stop waits for the database.
const lastWrite = 5 * time.Second

var _ gate.Ledger = (*Ledger)(nil)
