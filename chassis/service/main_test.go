package service_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/natstest"
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

func onBothEngines(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "echo.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, postgres.URL(t)+"&search_path=echo") })
}

type config struct {
	service.Config `yaml:",inline"`
}

func define(c config) service.Definition {
	return service.Definition{Name: "echo", Config: c.Config, Build: echo}
}

func TestServeWaitsForMigrate(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		dir := t.TempDir()
		keys := t.TempDir()
		if err := identity.MakeKeys(keys, "echo"); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("grpc: 127.0.0.1:0\ndatabase: %s\nnats: %s\nkeys: %s\n", database, natstest.New(t).URL(), keys)
		file := filepath.Join(dir, "echo.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, said := service.RunForTest(t.Context(), []string{"echo", "serve", "-config", file}, define)
		if code != 1 || !strings.HasSuffix(said, "the database is not up to date; run echo migrate -config FILE first\n") {
			t.Fatalf("serve before migrate: exit code %d, %s", code, said)
		}
		for range 2 {
			if code, said := service.RunForTest(t.Context(), []string{"echo", "migrate", "-config", file}, define); code != 0 {
				t.Fatalf("migrate: exit code %d, %s", code, said)
			}
		}
		db, err := sqldb.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		epoch := func() int64 {
			t.Helper()
			s, err := taskstore.Open(t.Context(), db, taskstore.Options{Replica: rand.Text(), Clock: clock.System{}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close(t.Context()) }()
			return s.Epoch()
		}
		if n := epoch(); n != 1 {
			t.Fatalf("a new database has epoch %d", n)
		}
		if code, said := service.RunForTest(t.Context(), []string{"echo", "restored", "-config", file}, define); code != 0 || said != "the restore is recorded: readers begin with a snapshot\n" {
			t.Errorf("restored: exit code %d, %s", code, said)
		}
		if n := epoch(); n != 2 {
			t.Errorf("after a restore the epoch is %d, want 2", n)
		}
	})
}
