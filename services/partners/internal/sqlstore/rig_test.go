package sqlstore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/services/partners/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var (
	postgres postgrestest.Shared
	start    = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// onBothEngines runs a test on SQLite and on PostgreSQL.
func onBothEngines(t *testing.T, test func(*testing.T, *sqlstore.Store, *clocktest.Clock)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			clock := clocktest.New(start)
			test(t, sqlstore.New(database(t, engine), clock), clock)
		})
	}
}

func database(tb testing.TB, engine string) *sqldb.DB {
	tb.Helper()
	url := "sqlite:" + filepath.Join(tb.TempDir(), "partners.db")
	if engine == "postgres" {
		url = postgres.URL(tb)
	}
	db, err := sqldb.Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(tb.Context(), db, "partners", migrations.Files); err != nil {
		tb.Fatal(err)
	}
	return db
}

// record is a partner that is approved, discoverable and callable.
func record(id string) *registry.Record {
	return &registry.Record{
		Partner: partner.Partner{
			ID: id, Organisation: "Underwriter plc", Name: "Underwriter", Description: "Decides on mortgages.", Version: "1.0", Tags: []string{"Mortgage"},
			CardURL: "https://" + id + ".example/.well-known/agent-card.json", Protocol: partner.A2A1, Card: []byte(`{"name":"Underwriter"}`),
			Skills: []partner.Skill{{ID: "underwrite-loan", Name: "Underwrite", Description: "Says yes or no.", Tags: []string{"loans"}, Input: []byte(`{"type":"object"}`)}, {ID: "explain", Confirm: true}},
			State:  partner.Approved, Discoverable: true, Callable: true, Trust: 0.5,
		},
		Digest: "d1", Signature: cardtrust.Unsigned, RegisteredBy: "acme/olga",
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func reason(err error) fault.Reason {
	if f := fault.As(err); f != nil {
		return f.Reason
	}
	return ""
}
