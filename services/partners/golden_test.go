package partners

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/border"
	"sabha.dev/services/partners/internal/crossing"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/migrations"
)

// Golden tasks leave by the agreement too, and leave a record.
func TestGoldenTasksCrossTheBorder(t *testing.T) {
	var heard string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ ID, Params json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		heard = string(req.Params)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"fine"}]}}}`))
	}))
	defer site.Close()
	dir := t.TempDir()
	text := "partner: foreign\nversion: 1\nowner: a@b.example\nreview_date: 2099-01-01\norganisation: F\nnetworks: [127.0.0.0/8]\n" +
		"disclosure:\n  rules: [{name: hidden, classes: [email], action: mask}]\nskills: {say: {}}\n"
	if err := os.WriteFile(filepath.Join(dir, "foreign.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	book, err := agreement.Open(dir, clock.System{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(dir, "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := sqldb.Migrate(t.Context(), db, Name, migrations.Files); err != nil {
		t.Fatal(err)
	}
	e := &edge{book: book}
	client := remote.New(remote.Config{Clock: clock.System{}, Settings: e.settings(nil)})
	defer client.Close()
	crossings, err := crossing.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{book, border.New(clock.System{}, crossings), client, db}
	p := &partner.Partner{
		ID: "foreign", Protocol: partner.A2A1, State: partner.Approved, Callable: true,
		Card: json.RawMessage(`{"supportedInterfaces":[{"url":"` + site.URL + `","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`),
	}
	answer, err := g.Ask(t.Context(), p, "say", []*a2apb.Part{agent.Text("Is ada@example.org known?")})
	if err != nil || agent.TextOf(answer.Parts) != "fine" {
		t.Fatalf("%v, %v", answer, err)
	}
	if strings.Contains(heard, "ada@example.org") || !strings.Contains(heard, "known?") {
		t.Errorf("the partner was sent %s", heard)
	}
	list, err := crossings.List(t.Context(), crossing.Filter{Partner: "foreign", Limit: 10})
	if err != nil || len(list) != 2 {
		t.Errorf("%d crossings, %v", len(list), err)
	}
	if _, err := g.Ask(t.Context(), p, "do", []*a2apb.Part{agent.Text("x")}); err == nil || !strings.Contains(err.Error(), "no agreement allows foreign/do") {
		t.Errorf("%v", err)
	}
}
