package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/session"
	"sabha.dev/services/console/internal/sqlstore"
	"sabha.dev/services/console/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// rig is the directory and the sessions over one database.
type rig struct {
	store    *sqlstore.Store
	clock    *clocktest.Clock
	people   *account.Directory
	sessions *session.Keeper
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(*testing.T, rig)) {
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "console.db") },
		"postgres": func(t *testing.T) string { return postgres.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), url(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := sqldb.Migrate(t.Context(), db, "console", migrations.Files); err != nil {
				t.Fatal(err)
			}
			r := rig{store: sqlstore.New(db), clock: clocktest.New(morning)}
			r.people = account.New(r.store, r.clock)
			r.sessions = session.New(r.store, session.Limits{Idle: time.Hour, Whole: 10 * time.Hour}, r.clock)
			test(t, r)
		})
	}
}

const password = "correct horse battery"

// add makes an account with the password.
func (r rig) add(t *testing.T, a account.Account) account.Account {
	t.Helper()
	if _, err := r.people.Add(t.Context(), a, password); err != nil {
		t.Fatal(err)
	}
	a, err := r.store.Account(t.Context(), a.Organisation, a.Subject)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
