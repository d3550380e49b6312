package crossing

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/sensitive"
	"sabha.dev/chassis/sqldb"
)

// Ledger of crossings in SQLite or PostgreSQL. It is safe for concurrent use.
type Ledger struct {
	db        *sqldb.DB
	later     Later
	one, many *sql.Stmt

	mu      sync.Mutex
	waiting []Crossing // for a commit
}

// Later has rows written with the next commit, without being waited for. They may be
// written again.
type Later func(what string, rows func(context.Context, *sql.Tx) error)

// Open opens the ledger of a migrated database. later is what [Record.Later] asks.
func Open(ctx context.Context, db *sqldb.DB, later Later) (*Ledger, error) {
	l := &Ledger{db: db, later: later}
	return l, l.prepare(ctx)
}

// Key is a place in the list.
type Key struct {
	At int64 // microseconds since 1970
	ID string
}

// Filter of a list. What is empty does not filter.
type Filter struct {
	Partner, Task string
	Class         sensitive.Class
	Since         time.Time
	// After is the last crossing of the page before.
	After Key
	Limit int
}

// List gives crossings, the newest first.
func (l *Ledger) List(ctx context.Context, f Filter) ([]Crossing, error) {
	where, args := []string{"1 = 1"}, []any{}
	add := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		where = append(where, condition)
	}
	if f.Partner != "" {
		add("partner = ?", f.Partner)
	}
	if f.Task != "" {
		add("task_id = ?", f.Task)
	}
	if f.Class != "" {
		add("classes LIKE ?", "% "+string(f.Class)+" %")
	}
	if !f.Since.IsZero() {
		add("at >= ?", f.Since.UnixMicro())
	}
	if f.After != (Key{}) {
		add("(at < ? OR at = ? AND id < ?)", f.After.At, f.After.At, f.After.ID)
	}
	args = append(args, f.Limit)
	rows, err := l.db.Read.QueryContext(ctx, fmt.Sprintf(`SELECT id, at, task_id, partner, skill, direction, bytes, digest, policy, refused, findings, more, purpose, consent
		FROM crossings WHERE %s ORDER BY at DESC, id DESC LIMIT $%d`, strings.Join(where, " AND "), len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("list crossings: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []Crossing
	for rows.Next() {
		var (
			c        Crossing
			at       int64
			refused  int
			findings string
		)
		if err := rows.Scan(&c.ID, &at, &c.Task, &c.Partner, &c.Skill, &c.Direction, &c.Bytes, &c.Digest, &c.Policy, &refused, &findings, &c.More, &c.Purpose.Name, &c.Purpose.Consent); err != nil {
			return nil, fmt.Errorf("list crossings: %w", err)
		}
		if err := json.Unmarshal([]byte(findings), &c.Findings); err != nil {
			return nil, fmt.Errorf("findings of crossing %s: %w", c.ID, err)
		}
		c.At, c.Refused = time.UnixMicro(at).UTC(), refused != 0
		list = append(list, c)
	}
	return list, rows.Err()
}

// Forget deletes at most limit crossings with a partner from before a time, the oldest
// first, and tells how many there were. It is what an agreement's retention asks for.
func (l *Ledger) Forget(ctx context.Context, partner string, before time.Time, limit int) (int64, error) {
	done, err := l.db.Write.ExecContext(ctx, `DELETE FROM crossings WHERE id IN
		(SELECT id FROM crossings WHERE partner = $1 AND at < $2 ORDER BY at, id LIMIT $3)`, partner, before.UnixMicro(), limit)
	if err != nil {
		return 0, fmt.Errorf("forget crossings with %s: %w", partner, err)
	}
	return done.RowsAffected()
}
