package platform_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/cmd/sabha/platform"
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

// ask asks a question over REST and gives the answer's body.
func ask(t *testing.T, p *platform.Platform, key, id string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.HTTPAddr()+"/message:send",
		strings.NewReader(`{"message":{"messageId":"`+id+`","role":"ROLE_USER","parts":[{"text":"How often are backups taken?"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}, "X-Api-Key": {key}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestStoresAreTakenByURL(t *testing.T) {
	o := platform.Options{
		Data: t.TempDir(), Docs: "testdata/docs", HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		Database: postgres.URL(t), NATS: natstest.NewCluster(t).URL(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	key, first := "", ""
	for range 2 { // the second start finds the schemas, and the task
		p, err := platform.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if p.FirstKey != "" {
			key = p.FirstKey
		}
		body := ask(t, p, key, "m1")
		if !strings.Contains(body, `"TASK_STATE_COMPLETED"`) || !strings.Contains(body, "every six hours") {
			t.Errorf("the answer is %s", body)
		}
		_, id, _ := strings.Cut(body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		if first != "" && id != first {
			t.Errorf("after a restart the same message gives task %s, not %s", id, first)
		}
		first = id
		db, err := sqldb.Open(t.Context(), p.Database("planner"))
		if err != nil {
			t.Fatal(err)
		}
		var tasks int
		if err := db.Read.QueryRowContext(t.Context(), "SELECT count(*) FROM planner.tasks").Scan(&tasks); err != nil || tasks != 1 {
			t.Errorf("the planner's schema has %d tasks, %v", tasks, err)
		}
		_ = db.Close()
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(o.Data)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range left {
		names = append(names, f.Name())
	}
	if !slices.Equal(names, []string{"keys", "lock"}) {
		t.Errorf("the data folder has %v, want keys and lock only", names)
	}
}

func TestDatabasesThatCannotBeMeant(t *testing.T) {
	for database, want := range map[string]string{
		"sqlite:data/all.db":                     "the database must be postgres://user@host/database, not sqlite:",
		"postgres://h/sabha?search_path=planner": "leave it out: each service has a schema of its own name",
		"postgres://user:se%cret@h/d":            "the database is no URL; want postgres://user@host/database",
	} {
		_, err := platform.Start(t.Context(), platform.Options{Data: t.TempDir(), Database: database, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: got %v, want %q", database, err, want)
		}
	}
}
