package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/tool"
	"sabha.dev/services/executor/internal/sqlstore"
	"sabha.dev/services/executor/internal/toolhost"
	"sabha.dev/services/executor/migrations"
	"sabha.dev/testrig/natstest"
)

func store(t *testing.T) *sqlstore.Store {
	t.Helper()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "executor.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, Name, migrations.Files); err != nil {
		t.Fatal(err)
	}
	return sqlstore.New(db, clock.System{})
}

func TestFiguresOfServersAndTools(t *testing.T) {
	s := store(t)
	if err := s.Offer(t.Context(), "ledger", []toolhost.Definition{{Name: "pay", Digest: "a", JSON: []byte("{}")}, {Name: "read", Digest: "b", JSON: []byte("{}")}}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(t.Context(), "ledger/read", "b", "olga", "", true); err != nil {
		t.Fatal(err)
	}
	f := newFigures(s)
	f.servers = func() map[string]toolhost.Status {
		return map[string]toolhost.Status{"ledger": {State: toolhost.Ready}, "crm": {State: toolhost.Away}, "slow": {State: toolhost.Connecting}}
	}
	for _, err := range []error{
		nil, nil, &toolhost.ToolFailed{}, fmt.Errorf("x: %w", &tool.InvalidInput{}), &tool.InvalidOutput{}, &toolhost.HeldTool{}, &toolhost.Changed{},
		toolhost.ErrTimeout, context.Canceled, &toolhost.Unavailable{}, errors.New("else"),
	} {
		f.called("ledger", time.Millisecond, err)
	}
	r := prometheus.NewRegistry()
	if err := f.register(r); err != nil {
		t.Fatal(err)
	}
	want := `# HELP sabha_mcp_server_up 1 while the MCP server can be called, by server.
# TYPE sabha_mcp_server_up gauge
sabha_mcp_server_up{server="crm"} 0
sabha_mcp_server_up{server="ledger"} 1
sabha_mcp_server_up{server="slow"} 0
# HELP sabha_mcp_tools Tools by server and standing: held, approved, refused. Every replica says the same.
# TYPE sabha_mcp_tools gauge
sabha_mcp_tools{server="ledger",standing="approved"} 1
sabha_mcp_tools{server="ledger",standing="held"} 1
sabha_mcp_tools{server="ledger",standing="refused"} 0
# HELP sabha_mcp_calls_total Calls of tools by server and outcome: ok, failed (the tool says so), invalid (arguments or answer), unavailable, timeout, canceled, held.
# TYPE sabha_mcp_calls_total counter
sabha_mcp_calls_total{outcome="canceled",server="ledger"} 1
sabha_mcp_calls_total{outcome="failed",server="ledger"} 1
sabha_mcp_calls_total{outcome="held",server="ledger"} 2
sabha_mcp_calls_total{outcome="invalid",server="ledger"} 2
sabha_mcp_calls_total{outcome="ok",server="ledger"} 2
sabha_mcp_calls_total{outcome="timeout",server="ledger"} 1
sabha_mcp_calls_total{outcome="unavailable",server="ledger"} 2
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "sabha_mcp_server_up", "sabha_mcp_tools", "sabha_mcp_calls_total"); err != nil {
		t.Error(err)
	}
}

func TestWhatHappensToAToolIsTold(t *testing.T) {
	b := base()
	b.NATS = natstest.New(t).Connect(t)
	told, err := b.NATS.SubscribeSync("sabha.tools.ledger.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.NATS.Flush(); err != nil { // the subscription is there
		t.Fatal(err)
	}
	s := store(t)
	s.Told = tell(b)
	if err := s.Offer(t.Context(), "ledger", []toolhost.Definition{{Name: "pay", Digest: "a", JSON: []byte("{}")}}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(t.Context(), "ledger/pay", "a", "acme/olga", "seen", true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []notice{{Server: "ledger", Tool: "pay", What: "listed", By: "configuration", Digest: "a"}, {Server: "ledger", Tool: "pay", What: "approved", By: "acme/olga", Digest: "a", Note: "seen"}} {
		m, err := told.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got notice
		if err := json.Unmarshal(m.Data, &got); err != nil || got.At.IsZero() || m.Subject != "sabha.tools.ledger."+want.What {
			t.Errorf("%s %s: %v", m.Subject, m.Data, err)
		}
		got.At = time.Time{}
		if got != want {
			t.Errorf("told %+v, want %+v", got, want)
		}
	}
}
