package sqlstore

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"sabha.dev/chassis/sqldb"

	"sabha.dev/services/security/internal/finding"
	"sabha.dev/services/security/migrations"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// eachEngine runs a test on empty tables of either engine.
func eachEngine(t *testing.T, test func(t *testing.T, s Findings)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, "sqlite:"+filepath.Join(t.TempDir(), "security.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, postgres.URL(t))) })
}

func open(t *testing.T, url string) Findings {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, "security", migrations.Files); err != nil {
		t.Fatal(err)
	}
	return New(db)
}

func TestFindingsComeBackAsTheyWereWritten(t *testing.T) { eachEngine(t, comeBack) }

func comeBack(t *testing.T, s Findings) {
	f := finding.Finding{
		At: time.Date(2026, 3, 1, 10, 0, 0, 123000, time.UTC), TraceID: "0af7651916cd43dd8448eb211c80319c", Digest: "ab12", Caller: "gateway",
		Verdict: "refused", Confidence: 0.93, Rules: []string{"override-instructions", "reveal-prompt"}, PolicyVersion: "builtin-1",
	}
	other := f
	other.TraceID = "other"
	for range 2 { // the second time changes nothing
		if err := s.Add(t.Context(), []finding.Finding{f, other}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.OfTrace(t.Context(), f.TraceID)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, []finding.Finding{f}) {
		t.Errorf("got %+v, want %+v", got, f)
	}
}
