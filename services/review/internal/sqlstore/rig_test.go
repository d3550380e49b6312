package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/sqlstore"
	"sabha.dev/services/review/migrations"
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

// onBothEngines runs a test on SQLite and on PostgreSQL. Each store that it opens
// stands on connections of its own, as those of two replicas do.
func onBothEngines(t *testing.T, test func(t *testing.T, open func() *sqlstore.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, opener(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, opener(t, postgres.URL(t))) })
}

func opener(tb testing.TB, url string) func() *sqlstore.Store {
	return func() *sqlstore.Store {
		tb.Helper()
		db, err := sqldb.Open(tb.Context(), url)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		if err := sqldb.Migrate(tb.Context(), db, "review", migrations.Files); err != nil {
			tb.Fatal(err)
		}
		return sqlstore.New(db)
	}
}

// add stores n items that are due one after the other, a second apart.
func add(tb testing.TB, s *sqlstore.Store, n int, t item.Terms) []string {
	tb.Helper()
	ids := make([]string, n)
	items := make([]*item.Item, n)
	bodies := make([][]byte, n)
	events := make([]item.Event, n)
	for k := range n {
		ids[k] = fmt.Sprintf("item-%06d", k)
		shot := &item.Snapshot{
			Kind: "result", Title: fmt.Sprintf("Answer %d", k), Content: []byte(`{"answer":"yes"}`), Effect: "It is given out.",
			Product: "loans", Risk: "low", Playbook: "answers", Step: "approve",
		}
		body, digest, err := shot.Encode()
		if err != nil {
			tb.Fatal(err)
		}
		terms := t
		terms.DueAt = start.Add(time.Duration(k) * time.Second)
		items[k], events[k] = item.New(item.Origin{ID: ids[k], Requester: "acme/ada", CreatedAt: start}, shot, digest, terms)
		bodies[k] = body
	}
	if err := s.AddAll(tb.Context(), items, bodies, events); err != nil {
		tb.Fatal(err)
	}
	return ids
}

func terms() item.Terms {
	return item.Terms{Queue: "general", Priority: 3, Approvals: 1, ClaimFor: 30 * time.Minute}
}

func person(name string) item.Person {
	return item.PersonOf(identity.Principal{Subject: name, Organisation: "acme", Scopes: []string{"reviewer"}})
}

func reason(err error) string {
	if f := fault.As(err); f != nil {
		return string(f.Reason)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
