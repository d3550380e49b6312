package sqldb_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"sabha.dev/chassis/sqldb"
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

func onBothEngines(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db")+"?sync=normal") })
	t.Run("postgres", func(t *testing.T) { test(t, postgres.URL(t)) })
}

func open(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// release is what one release brings along: so many migrations, of which the last
// states the oldest that it admits, if it is not negative.
func release(migrations, oldest int) sqldb.Schema {
	files := fstest.MapFS{}
	for n := 1; n <= migrations; n++ {
		text := fmt.Sprintf("-- +goose Up\nCREATE TABLE t%d (a BIGINT NOT NULL);\n", n)
		if n == migrations && oldest >= 0 {
			text = fmt.Sprintf("-- oldest: %d\n", oldest) + text
		}
		files[fmt.Sprintf("%05d_t.sql", n)] = &fstest.MapFile{Data: []byte(text)}
	}
	return schema("librarian", files)
}

func schema(service string, files fs.FS) sqldb.Schema {
	return sqldb.Schema{Service: service, Components: []sqldb.Component{{Name: service, Files: files}}}
}

const additive = -1

func TestWhichReleaseMayServe(t *testing.T) {
	for _, c := range []struct {
		name string
		// the database was brought up to date by these, in order
		by  []sqldb.Schema
		who sqldb.Schema
		// what the check and a migration say
		check, migrate error
	}{
		{"an empty database is behind", nil, release(1, additive), sqldb.ErrBehind, nil},
		{"its own", []sqldb.Schema{release(1, additive)}, release(1, additive), nil, nil},
		{"an older one's is behind", []sqldb.Schema{release(1, additive)}, release(2, additive), sqldb.ErrBehind, nil},
		{"a newer one's that only added", []sqldb.Schema{release(3, additive)}, release(1, additive), nil, nil},
		{"a newer one's that admits it", []sqldb.Schema{release(3, 2)}, release(2, additive), nil, nil},
		{"a newer one's that does not", []sqldb.Schema{release(3, 2)}, release(1, additive), sqldb.ErrNewer, sqldb.ErrNewer},
		{"step by step", []sqldb.Schema{release(1, additive), release(2, additive), release(3, 2)}, release(1, additive), sqldb.ErrNewer, sqldb.ErrNewer},
		{"after an older one's turn", []sqldb.Schema{release(3, 2), release(2, additive)}, release(1, additive), sqldb.ErrNewer, sqldb.ErrNewer},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothEngines(t, func(t *testing.T, url string) {
				db := open(t, url)
				for _, s := range c.by {
					must(t, s.Migrate(t.Context(), db))
				}
				if err := c.who.Check(t.Context(), db); !errors.Is(err, c.check) {
					t.Errorf("the check says %v, want %v", err, c.check)
				}
				if err := c.who.Migrate(t.Context(), db); !errors.Is(err, c.migrate) {
					t.Errorf("the migration says %v, want %v", err, c.migrate)
				}
				if c.migrate == nil {
					must(t, c.who.Check(t.Context(), db))
				}
			})
		})
	}
}

// A version that nobody has stated anything about was made by a release from
// before the rule, or by hand.
func TestAnUnstatedVersionIsRefused(t *testing.T) {
	onBothEngines(t, func(t *testing.T, url string) {
		db := open(t, url)
		must(t, release(1, additive).Migrate(t.Context(), db))
		_, err := db.Write.ExecContext(t.Context(), `INSERT INTO goose_librarian (version_id, is_applied) VALUES (7, true)`)
		must(t, err)
		if err := release(1, additive).Check(t.Context(), db); !errors.Is(err, sqldb.ErrNewer) {
			t.Errorf("the check says %v, want %v", err, sqldb.ErrNewer)
		}
	})
}

func TestManyMayMigrateAtOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, url string) {
		var all sync.WaitGroup
		for range 6 {
			db := open(t, url)
			all.Go(func() {
				if err := release(5, additive).Migrate(t.Context(), db); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		db := open(t, url)
		must(t, release(5, additive).Check(t.Context(), db))
		var applied int
		must(t, db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM goose_librarian WHERE version_id > 0`).Scan(&applied))
		if applied != 5 {
			t.Errorf("%d migrations were recorded, want 5", applied)
		}
	})
}

func TestTwoServicesDoNotShareASchema(t *testing.T) {
	onBothEngines(t, func(t *testing.T, url string) {
		db := open(t, url)
		must(t, release(1, additive).Migrate(t.Context(), db))
		other := schema("porter", release(1, additive).Components[0].Files)
		err := other.Migrate(t.Context(), db)
		if err == nil || !strings.HasPrefix(err.Error(), "the database of porter holds the tables of librarian; give each service a schema of its own") {
			t.Errorf("the second service is told %v", err)
		}
		if err := other.Check(t.Context(), db); !errors.Is(err, sqldb.ErrBehind) {
			t.Errorf("the check says %v, want %v", err, sqldb.ErrBehind)
		}
	})
}

func TestAMissingSchemaIsMadeWhereThatIsAllowed(t *testing.T) {
	url := postgres.URL(t)
	db := open(t, url+"&search_path=librarian")
	if err := release(1, additive).Check(t.Context(), db); !errors.Is(err, sqldb.ErrBehind) {
		t.Errorf("before it exists the check says %v, want %v", err, sqldb.ErrBehind)
	}
	must(t, release(1, additive).Migrate(t.Context(), db))
	var where string
	must(t, db.Read.QueryRowContext(t.Context(), `SELECT schemaname FROM pg_tables WHERE tablename = 't1'`).Scan(&where))
	if where != "librarian" {
		t.Errorf("the tables are in schema %s", where)
	}
	// The same database, another schema: nothing of the first is seen.
	must(t, schema("porter", release(1, additive).Components[0].Files).Migrate(t.Context(), open(t, url+"&search_path=porter")))

	_, err := db.Write.ExecContext(t.Context(), `CREATE ROLE guest LOGIN`)
	must(t, err)
	guest := open(t, strings.Replace(url, "postgres@", "guest@", 1)+"&search_path=visitors")
	err = release(1, additive).Migrate(t.Context(), guest)
	want := `the schema visitors does not exist and the role guest may not make it; let an administrator of the database run: CREATE SCHEMA "visitors" AUTHORIZATION "guest"`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("a role without the right is told\n%v, want\n%s", err, want)
	}
	_, err = db.Write.ExecContext(t.Context(), `CREATE SCHEMA "visitors" AUTHORIZATION "guest"`)
	must(t, err)
	must(t, release(1, additive).Migrate(t.Context(), guest))
}

func TestAStatementThatIsNoNumberIsRefused(t *testing.T) {
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	files := fstest.MapFS{"00001_t.sql": {Data: []byte("-- oldest: first\n-- +goose Up\nSELECT 1;\n")}}
	err := schema("librarian", files).Migrate(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), `00001_t.sql: "-- oldest: first" does not state the number of a migration`) {
		t.Errorf("got %v", err)
	}
}
