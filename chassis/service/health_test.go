package service_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/health"

	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
)

func TestAServiceIsReadyUntilItStopsOrItsDatabaseIsAway(t *testing.T) {
	open := func() *sqldb.DB {
		db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	gone := open()
	_ = gone.Close()
	stopping := health.NewServer()
	stopping.Shutdown()
	for name, c := range map[string]struct {
		health *health.Server
		db     *sqldb.DB
		want   string
	}{
		"serving":              {health.NewServer(), open(), ""},
		"without a database":   {health.NewServer(), nil, ""},
		"stopping":             {stopping, open(), "stopping"},
		"a database not there": {health.NewServer(), gone, "the database does not answer"},
	} {
		got := ""
		if err := service.Ready(t.Context(), c.health, c.db); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHealthOfAProcess(t *testing.T) {
	var ready error
	s := httptest.NewServer(service.Handler(&service.Base{}, func(context.Context) error { return ready }, nil))
	defer s.Close()
	address := s.Listener.Addr().String()
	if err := service.Health(t.Context(), address); err != nil {
		t.Errorf("of one that is ready: %v", err)
	}
	ready = errors.New("the database does not answer")
	if err := service.Health(t.Context(), address); err == nil || err.Error() != "not ready: the database does not answer" {
		t.Errorf("of one whose database is away: %v", err)
	}
	res, err := http.Get(s.URL + "/healthz") //nolint:noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("it is not alive: %s", res.Status)
	}
	s.Close()
	for address, want := range map[string]string{address: "connection refused", "": "http is missing in the configuration", "x": "missing port"} {
		if err := service.Health(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}
