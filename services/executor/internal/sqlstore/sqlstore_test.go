package sqlstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/executor/internal/sqlstore"
	"sabha.dev/services/executor/internal/toolhost"
	"sabha.dev/services/executor/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, f func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			url := "sqlite:" + filepath.Join(t.TempDir(), "executor.db")
			if engine == "postgres" {
				url = postgres.URL(t)
			}
			db, err := sqldb.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := sqldb.Migrate(t.Context(), db, "executor", migrations.Files); err != nil {
				t.Fatal(err)
			}
			f(t, db)
		})
	}
}

func definitions(of ...string) []toolhost.Definition {
	var all []toolhost.Definition
	for _, d := range of {
		name, version, _ := strings.Cut(d, "@")
		all = append(all, toolhost.Definition{Name: name, Digest: "digest" + version, JSON: []byte(`{"description": "` + version + `"}`)})
	}
	return all
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestToolsAreHeldUntilAPersonApproves(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		clk := clocktest.New(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
		s, ctx := sqlstore.New(db, clk), t.Context()
		var told []string
		s.Told = func(e sqlstore.Entry) { told = append(told, e.What+" "+e.Server+"/"+e.Tool+" by "+e.By) }
		standing := func(tool, digest string) toolhost.Standing {
			t.Helper()
			return must[toolhost.Standing](t)(s.Standing(ctx, "ledger", tool, digest))
		}
		if err := s.Offer(ctx, "ledger", definitions("pay@1", "read@1"), false); err != nil {
			t.Fatal(err)
		}
		if got := standing("pay", "digest1"); got != toolhost.Held {
			t.Errorf("a new tool is %v", got)
		}
		if _, err := s.Decide(ctx, "ledger/pay", "digest0", "acme/alice", "", true); !fault.Is(err, fault.ToolChanged) {
			t.Errorf("another digest: %v", err)
		}
		if _, err := s.Decide(ctx, "ledger/nosuch", "digest1", "acme/alice", "", true); !fault.Is(err, fault.ToolNotFound) {
			t.Errorf("no such tool: %v", err)
		}
		got := must[sqlstore.Tool](t)(s.Decide(ctx, "ledger/pay", "digest1", "acme/alice", "looks well", true))
		if got.Approved != "digest1" || got.Standing() != toolhost.Approved || standing("pay", "digest1") != toolhost.Approved {
			t.Errorf("approved tool %+v", got)
		}
		// It says something else: held, and the approved one is still known for the comparison.
		if err := s.Offer(ctx, "ledger", definitions("pay@2", "read@1"), false); err != nil {
			t.Fatal(err)
		}
		got = must[sqlstore.Tool](t)(s.Tool(ctx, "ledger/pay"))
		if got.Standing() != toolhost.Held || string(got.ApprovedDefinition) != `{"description": "1"}` || string(got.Definition) != `{"description": "2"}` || !got.ChangedAt.Equal(clk.Now()) {
			t.Errorf("changed tool %+v", got)
		}
		if standing("pay", "digest2") != toolhost.Held || standing("pay", "digest1") != toolhost.Approved {
			t.Error("the approval is of a digest")
		}
		must[sqlstore.Tool](t)(s.Decide(ctx, "ledger/pay", "digest2", "acme/alice", "no", false))
		if standing("pay", "digest2") != toolhost.Refused {
			t.Error("a refused tool may be called")
		}
		// It goes back to what was approved.
		if err := s.Offer(ctx, "ledger", definitions("pay@1"), false); err != nil {
			t.Fatal(err)
		}
		if got := must[sqlstore.Tool](t)(s.Tool(ctx, "ledger/pay")); got.Standing() != toolhost.Approved {
			t.Errorf("%+v", got)
		}
		// An approval is taken back.
		must[sqlstore.Tool](t)(s.Decide(ctx, "ledger/pay", "digest1", "acme/bob", "", false))
		if standing("pay", "digest1") != toolhost.Refused {
			t.Error("an approval is not taken back")
		}
		want := "listed ledger/pay by configuration, listed ledger/read by configuration, approved ledger/pay by acme/alice, changed ledger/pay by configuration, " +
			"refused ledger/pay by acme/alice, changed ledger/pay by configuration, refused ledger/pay by acme/bob"
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("told %s\nwant %s", got, want)
		}
		history := must[[]sqlstore.Entry](t)(s.History(ctx, "ledger", "pay", 3))
		if len(history) != 3 || history[0].Seq != 6 || history[0].What != sqlstore.Refused || history[0].By != "acme/bob" || history[2].Note != "no" {
			t.Errorf("history %+v", history)
		}
		all := must[[]sqlstore.Tool](t)(s.Tools(ctx))
		known := must[map[string][]string](t)(s.Known(ctx))
		if len(all) != 2 || all[0].Name != "pay" || all[1].Name != "read" || strings.Join(known["ledger"], " ") != "pay read" {
			t.Errorf("tools %+v, known %v", all, known)
		}
	})
}

func TestFirstUseApprovesWhatIsListedFirstOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		clk := clocktest.New(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
		s, ctx := sqlstore.New(db, clk), t.Context()
		for _, list := range [][]toolhost.Definition{definitions("a@1", "b@1"), definitions("a@1", "b@2", "c@1")} {
			if err := s.Offer(ctx, "files", list, true); err != nil {
				t.Fatal(err)
			}
		}
		for tool, want := range map[string]toolhost.Standing{"a": toolhost.Approved, "b": toolhost.Held, "c": toolhost.Held} {
			if got := must[sqlstore.Tool](t)(s.Tool(ctx, "files/"+tool)).Standing(); got != want {
				t.Errorf("%s is %v, want %v", tool, got, want)
			}
		}
	})
}

// A decision at one replica counts at another within a second.
func TestDecisionsReachOtherReplicas(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		clk := clocktest.New(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
		one, other, ctx := sqlstore.New(db, clk), sqlstore.New(db, clk), t.Context()
		// Both see the server at the same time.
		var both sync.WaitGroup
		for _, s := range []*sqlstore.Store{one, other} {
			both.Go(func() {
				if err := s.Offer(ctx, "ledger", definitions("pay@1"), true); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if got := must[toolhost.Standing](t)(other.Standing(ctx, "ledger", "pay", "digest1")); got != toolhost.Approved {
			t.Fatalf("first use: %v", got)
		}
		must[sqlstore.Tool](t)(one.Decide(ctx, "ledger/pay", "digest1", "acme/alice", "", false))
		clk.Advance(time.Second)
		if got := must[toolhost.Standing](t)(other.Standing(ctx, "ledger", "pay", "digest1")); got != toolhost.Refused {
			t.Errorf("after the decision: %v", got)
		}
	})
}
