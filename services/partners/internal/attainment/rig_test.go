package attainment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// start is a Monday.
var start = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// rig is the replicas of a service over one database.
type rig struct {
	*testing.T
	clock    *clocktest.Clock
	url      string
	replicas int
}

// onBothEngines runs a test on SQLite and on PostgreSQL.
func onBothEngines(t *testing.T, test func(*rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(&rig{t, clocktest.New(start), "sqlite:" + filepath.Join(t.TempDir(), "partners.db") + "?sync=normal", 0})
	})
	t.Run("postgres", func(t *testing.T) { test(&rig{t, clocktest.New(start), postgres.URL(t), 0}) })
}

// db opens connections of a replica's own.
func (r *rig) db() *sqldb.DB {
	r.Helper()
	db, err := sqldb.Open(r.Context(), r.url)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(r.Context(), db, "partners", migrations.Files); err != nil {
		r.Fatal(err)
	}
	if err := taskstore.Migrate(r.Context(), db); err != nil { // it has the replicas
		r.Fatal(err)
	}
	return db
}

// lives says that a replica lives for an hour.
func (r *rig) lives(id string) {
	r.Helper()
	if _, err := r.db().Write.ExecContext(r.Context(), `INSERT INTO replicas (id, started_at, expires_at) VALUES ($1, $2, $3)`,
		id, r.clock.Now().UnixNano(), r.clock.Now().Add(time.Hour).UnixNano()); err != nil {
		r.Fatal(err)
	}
}

// ledger is that of another replica.
func (r *rig) ledger() *attainment.Ledger {
	r.Helper()
	r.replicas++
	return attainment.NewLedger(attainment.NewStore(r.db(), r.clock), fmt.Sprintf("r%d", r.replicas))
}

var underwrite = partner.Address{Partner: "underwriter", Skill: "underwrite"}

// call is one that ends now.
func (r *rig) call(result gate.Result, took time.Duration) gate.Call {
	now := r.clock.Now()
	return gate.Call{Address: underwrite, Began: now.Add(-took), Ended: now, Result: result}
}

func (r *rig) figures(l *attainment.Ledger, from, to time.Time) *attainment.Figures {
	r.Helper()
	if err := l.Flush(r.Context()); err != nil {
		r.Fatal(err)
	}
	f, err := l.Figures(r.Context(), "underwriter", "underwrite", from, to)
	if err != nil {
		r.Fatal(err)
	}
	return f
}

// terms of the skill, written in braces.
func terms(tb testing.TB, skill string) *agreement.Terms {
	tb.Helper()
	a, err := agreement.Parse("u.yaml", []byte(`partner: underwriter
version: 1
owner: tests
review_date: 2099-01-31
organisation: Underwriter plc
skills:
  underwrite: `+skill+"\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return a.Terms("underwrite")
}

// book is one with the agreements of some terms.
type book []*agreement.Agreement

func (b book) All() []*agreement.Agreement { return b }

func (b book) Agreement(id string) *agreement.Agreement {
	for _, a := range b {
		if a.Partner == id {
			return a
		}
	}
	return nil
}

func (r *rig) desk(l *attainment.Ledger, skill string) *attainment.Desk {
	return &attainment.Desk{Ledger: l, Book: book{terms(r, skill).Agreement}}
}
