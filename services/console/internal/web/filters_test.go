package web_test

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/console/internal/request"
	"sabha.dev/services/console/internal/sqlstore"
	"sabha.dev/services/console/migrations"
)

// store is a database of the console.
func store(t *testing.T) *sqlstore.Store {
	t.Helper()
	schema := sqldb.Schema{Service: "console", Components: []sqldb.Component{{Name: "console", Files: migrations.Files}}}
	db, err := service.OpenDatabase(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "console.db"), schema, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return sqlstore.New(db)
}

func TestSearchesAreSavedSharedAndDeleted(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Failed, "alpha"))
	for _, c := range []struct {
		form   url.Values
		status int
		want   string
	}{
		{url.Values{"q": {"state:failed"}, "name": {"Broken <b>"}, "shared": {"1"}}, 200, "Saved as Broken"},
		{url.Values{"q": {"retrying"}, "name": {"Again"}}, 200, "Saved as Again."},
		{url.Values{"q": {"state:failed"}, "name": {" "}}, 422, "give it a name"},
		{url.Values{"q": {"state:nothing"}, "name": {"x"}}, 422, "what cannot be read cannot be saved"},
		{url.Values{"q": {""}, "name": {"x"}}, 422, "Search for something first"},
	} {
		if status, body := r.post(t, "/tasks/filters", c.form); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%v: %d %s", c.form, status, body)
		}
	}
	_, body, _ := r.get(t, "/tasks?q=state:failed")
	for _, want := range []string{`href="/tasks?q=state%3Afailed" dir="auto"><span>Broken &lt;b&gt;</span>`, `<small>shared</small>`, `href="/tasks?q=retrying" dir="auto"><span>Again</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	ids := regexp.MustCompile(`formaction="(/tasks/filters/[A-Z0-9]+/delete)"`).FindAllStringSubmatch(body, -1)
	if len(ids) != 2 {
		t.Fatalf("%d filters can be deleted, want 2", len(ids))
	}
	if status, answer := r.post(t, ids[0][1], nil); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := r.post(t, ids[0][1], nil); status != 422 || !strings.Contains(answer, "no such filter any more") {
		t.Errorf("%d %s", status, answer)
	}
	if _, body, _ := r.get(t, "/tasks"); strings.Contains(body, "Again") || !strings.Contains(body, "Broken") {
		t.Errorf("the wrong one was deleted: %s", body)
	}
}
