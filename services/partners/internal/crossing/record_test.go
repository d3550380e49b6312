package crossing_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/crossing"
)

// commits is what has rows written with the next commit, as a service's store does: a
// commit that fails is tried again with each of its writes alone.
type commits struct {
	*testing.T
	db     *sqldb.DB
	queued []func(context.Context, *sql.Tx) error
	names  []string
	failed int
}

func (c *commits) later(what string, rows func(context.Context, *sql.Tx) error) {
	c.queued, c.names = append(c.queued, rows), append(c.names, what)
}

// commit writes what is queued until nothing is.
func (c *commits) commit() {
	for len(c.queued) > 0 {
		rows := c.queued
		c.queued = nil
		for _, r := range rows {
			for range 2 {
				if c.try(r) == nil {
					break
				}
			}
		}
	}
}

func (c *commits) try(rows func(context.Context, *sql.Tx) error) error {
	tx, err := c.db.Write.BeginTx(c.Context(), nil)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := rows(c.Context(), tx); err != nil {
		c.failed++
		return err
	}
	if err := tx.Commit(); err != nil {
		c.Fatal(err)
	}
	return nil
}

func ids(t *testing.T, db *sqldb.DB) string {
	t.Helper()
	list, err := ledger(t, db, nil).List(t.Context(), crossing.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range list {
		all = append(all, c.ID)
	}
	return strings.Join(all, " ")
}

func TestRecordsThatNobodyWaitsForShareAWrite(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		c := &commits{T: t, db: db}
		l := ledger(t, db, c.later)
		want := ""
		for i := range 20 {
			id := fmt.Sprintf("m%02d", i)
			want = strings.TrimSpace(id + " " + want)
			if err := l.Record(left(t, id, "t", "p", start.Add(time.Duration(i)*time.Second), "x")).Later(); err != nil {
				t.Fatal(err)
			}
		}
		if len(c.queued) != 1 {
			t.Errorf("%d writes are queued, want 1", len(c.queued))
		}
		again := c.queued[0]
		c.commit()
		if err := c.try(again); err != nil { // whether it was stored was not known
			t.Error(err)
		}
		if got := ids(t, db); got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		if err := l.Record(left(t, "next", "t", "p", start.Add(time.Minute), "x")).Later(); err != nil || len(c.queued) != 1 {
			t.Errorf("the next one makes %d writes (%v)", len(c.queued), err)
		}
	})
}

func TestARecordThatCannotBeWrittenCostsOnlyItself(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		c := &commits{T: t, db: db}
		l := ledger(t, db, c.later)
		for i, id := range []string{"a", "b", "", "d"} {
			if err := l.Record(left(t, id, "t", "p", start.Add(time.Duration(i)*time.Second), "x")).Later(); err != nil {
				t.Fatal(err)
			}
		}
		c.commit()
		if got := ids(t, db); got != "d b a" {
			t.Errorf("there are %q", got)
		}
		if c.failed != 3 { // all together, then the one alone, twice
			t.Errorf("%d writes failed", c.failed)
		}
	})
}

func TestNothingLeavesWhereItsRecordCannotWait(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		c := &commits{T: t, db: db}
		l := ledger(t, db, c.later)
		x := left(t, "m", "t", "p", start, "x")
		var err error
		n := 0
		for ; err == nil && n < 100_000; n++ {
			err = l.Record(x).Later()
		}
		if f := fault.As(err); f == nil || f.Reason != fault.Unavailable || n != 16<<10+1 {
			t.Errorf("after %d the error is %v", n, err)
		}
		x.Direction = crossing.In
		if err := l.Record(x).Later(); err != nil {
			t.Errorf("what came cannot be noted: %v", err)
		}
	})
}
