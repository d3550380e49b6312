package crossing

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/outage"
)

// Record is a crossing that is to be written.
type Record struct {
	ledger   *Ledger
	crossing Crossing
}

// Record makes the record of a crossing, which one of its methods writes.
func (l *Ledger) Record(c Crossing) *Record { return &Record{l, c.bounded()} }

// Rows writes it in a transaction. It may be called again, and then writes nothing new.
func (r *Record) Rows(ctx context.Context, tx *sql.Tx) error {
	return r.ledger.write(ctx, tx, []Crossing{r.crossing})
}

// maxWaiting bounds the records that wait for a commit, which are many only while the
// database is away. Those of what came in are as few as those of what left.
const maxWaiting = 16 << 10

// Later has it written with the next commit, together with all that come until then, and
// does not wait for it. Where too many wait already it is not written, and the error says
// so: what it is the record of must not leave.
func (r *Record) Later() error {
	l := r.ledger
	l.mu.Lock()
	if r.crossing.Direction == Out && len(l.waiting) >= maxWaiting {
		l.mu.Unlock()
		return fault.New(fault.Unavailable, "too many records of calls wait for the database; send it again later")
	}
	l.waiting = append(l.waiting, r.crossing)
	first := len(l.waiting) == 1
	l.mu.Unlock()
	if first {
		l.later("crossings", (&burst{ledger: l}).rows)
	}
	return nil
}

// burst is the write of all that have gathered when its commit begins.
type burst struct {
	ledger *Ledger
	taken  []Crossing
	// broken says that the database has not taken one of them.
	broken bool
}

func (b *burst) rows(ctx context.Context, tx *sql.Tx) error {
	if b.taken == nil {
		b.ledger.mu.Lock()
		b.taken, b.ledger.waiting = b.ledger.waiting, nil
		b.ledger.mu.Unlock()
	}
	if b.broken && len(b.taken) > 1 {
		// Each alone: one that cannot be written costs only itself.
		for _, c := range b.taken[1:] {
			b.ledger.later("crossing "+c.ID, (&burst{ledger: b.ledger, taken: []Crossing{c}}).rows)
		}
		b.taken = b.taken[:1]
	}
	err := b.ledger.write(ctx, tx, b.taken)
	b.broken = err != nil && !outage.Of(err)
	return err
}

const columns = "id, at, task_id, partner, skill, direction, bytes, digest, policy, refused, classes, findings, more, purpose, consent"

// atOnce is how many rows one statement inserts.
const atOnce = 16

// insert is the statement that inserts n rows.
func insert(n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO crossings (" + columns + ") VALUES ")
	width := strings.Count(columns, ",") + 1
	for i := range n * width {
		sep := ","
		switch {
		case i == 0:
			sep = "("
		case i%width == 0:
			sep = "),("
		}
		fmt.Fprintf(&b, "%s$%d", sep, i+1)
	}
	return b.String() + ") ON CONFLICT (id) DO NOTHING"
}

// prepare parses what is written over and over: SQLite does so anew for each text.
func (l *Ledger) prepare(ctx context.Context) (err error) {
	if l.one, err = l.db.Write.PrepareContext(ctx, insert(1)); err == nil {
		l.many, err = l.db.Write.PrepareContext(ctx, insert(atOnce))
	}
	return err
}

func (l *Ledger) write(ctx context.Context, tx *sql.Tx, list []Crossing) error {
	for len(list) > 0 {
		stmt, n := l.one, 1
		if len(list) >= atOnce {
			stmt, n = l.many, atOnce
		}
		var args []any
		for _, c := range list[:n] {
			values, err := c.values()
			if err != nil {
				return err
			}
			args = append(args, values...)
		}
		if _, err := tx.StmtContext(ctx, stmt).ExecContext(ctx, args...); err != nil {
			return fmt.Errorf("record crossing %s: %w", list[0].ID, err)
		}
		list = list[n:]
	}
	return nil
}

// values in the order of columns.
func (c Crossing) values() ([]any, error) {
	if c.ID == "" {
		return nil, errors.New("a crossing has no id")
	}
	findings, err := json.Marshal(c.Findings)
	if err != nil {
		return nil, fmt.Errorf("findings of crossing %s: %w", c.ID, err)
	}
	refused := 0
	if c.Refused {
		refused = 1
	}
	return []any{
		c.ID, c.At.UnixMicro(), c.Task, c.Partner, c.Skill, string(c.Direction), c.Bytes, c.Digest, c.Policy, refused, c.classes(), string(findings), c.More, c.Purpose.Name, c.Purpose.Consent,
	}, nil
}
